"""A view's rows as the options of an ECharts chart: values only. Series differ by mark and name too, not by colour alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from penstock.web.console.shape import Shape

Row = dict[str, Any]
_COLOURS = ("#2f7fc1", "#d9822b", "#2e9e6b", "#9a6bd1", "#c94f5d", "#1fa3a3", "#a98a1d", "#7b8794")
_MARKS = ("circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect", "emptyCircle")
_POINTS_MAX = 400
_BARS_MAX = 30
_GREY = "#7b8794"
_FAINT = "rgba(123, 135, 148, 0.25)"


def options(shape: Shape, kind: str, measure: str, rows: Sequence[Row]) -> dict[str, Any]:
    """`kind` is line or bars; `measure` is the column that is drawn."""
    return _line(shape, measure, rows) if kind == "line" else _bars(shape, measure, rows)


def number(value: Any) -> float | None:
    """Decimals are text in rows; what is no number is left out of a chart."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) != float("inf") and found == found else None


def _line(shape: Shape, measure: str, rows: Sequence[Row]) -> dict[str, Any]:
    split = shape.texts[0] if shape.texts else None
    points: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        moment, value = _moment(row.get(shape.times[0])), number(row.get(measure))
        if moment is not None and value is not None:
            points[measure if split is None else str(row.get(split))].append((moment, value))
    largest = sorted(points, key=lambda name: (-sum(value for _, value in points[name]), name))[: len(_COLOURS)]
    series = [
        {
            "type": "line",
            "name": name,
            "data": [list(point) for point in sorted(points[name])[-_POINTS_MAX:]],
            "symbol": mark,
            "symbolSize": 6,
            "showSymbol": len(points[name]) <= 60,
            "smooth": 0.15,
            "lineStyle": {"width": 2},
            **({"areaStyle": {"opacity": 0.12}} if split is None else {}),
        }
        for name, mark in zip(sorted(largest), _MARKS, strict=False)
    ]
    return {
        **_common(legend=split is not None),
        "xAxis": {"type": "time", **_axis(False)},
        "yAxis": {"type": "value", "scale": True, **_axis(True)},
        "series": series,
    }


def _bars(shape: Shape, measure: str, rows: Sequence[Row]) -> dict[str, Any]:
    found = [(" · ".join(str(row.get(name)) for name in shape.texts), value) for row in rows if (value := number(row.get(measure))) is not None]
    shown = sorted(found, key=lambda bar: (-bar[1], bar[0]))[:_BARS_MAX]
    return {
        **_common(legend=False),
        "xAxis": {"type": "value", **_axis(True)},
        "yAxis": {"type": "category", "inverse": True, "data": [name for name, _ in shown], **_axis(False)},
        "series": [
            {
                "type": "bar",
                "name": measure,
                "data": [value for _, value in shown],
                "barMaxWidth": 26,
                "itemStyle": {"borderRadius": [0, 4, 4, 0]},
                "label": {"show": True, "position": "right", "color": _GREY},
            }
        ],
    }


def _common(legend: bool) -> dict[str, Any]:
    return {
        "color": list(_COLOURS),
        "animationDuration": 300,
        "animationDurationUpdate": 400,
        "aria": {"enabled": True},
        # Drawn on the canvas: no text of the data is ever read as markup.
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "legend": {"show": legend, "type": "scroll", "top": 0, "textStyle": {"color": _GREY}},
        "grid": {"left": 12, "right": 64, "top": 36 if legend else 16, "bottom": 12, "containLabel": True},
    }


def _axis(lines: bool) -> dict[str, Any]:
    return {
        "axisLabel": {"color": _GREY, "hideOverlap": True, "width": 130, "overflow": "truncate"},
        "axisLine": {"lineStyle": {"color": _FAINT}},
        "splitLine": {"show": lines, "lineStyle": {"color": _FAINT}},
    }


def _moment(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("start")
    return None if value is None else str(value)

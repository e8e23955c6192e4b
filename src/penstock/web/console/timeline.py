"""Epochs, restarts and recoveries of every job on one time axis, as the options of an ECharts chart; kinds differ by mark, not by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.observe.timeline import EpochDone, Event

COLUMNS = ["time", "job", "what", "detail"]
_SERVER = "server"
_SPAN_S = 900.0
_MARKS = {
    "start": ("arrow", "#2f7fc1", 14),
    "restart": ("triangle", "#d9822b", 14),
    "outage": ("rect", "#a98a1d", 12),
    "failure": ("path://M2 0L0 2L4 6L0 10L2 12L6 8L10 12L12 10L8 6L12 2L10 0L6 4z", "#c94f5d", 14),
    "recovery": ("diamond", "#2e9e6b", 15),
    "stop": ("roundRect", "#7b8794", 10),
}
_GREY = "#7b8794"


def options(epochs: Sequence[EpochDone], events: Sequence[Event], now: float) -> dict[str, Any]:
    """The last quarter of an hour; what is older is in the table."""
    since = now - _SPAN_S
    recent = [done for done in epochs if done.at >= since]
    rare = [event for event in events if event.at >= since]
    jobs = sorted({done.job for done in recent} | {event.job for event in rare if event.job})
    begin = min([done.at for done in recent] + [event.at for event in rare], default=now - 60)
    done_ones = [(done.at, done.job, f"epoch {done.epoch}, {done.rows:,} rows") for done in recent]
    series = [_series("epoch", "circle", _GREY, 5, done_ones)]
    for kind, (mark, colour, size) in _MARKS.items():
        found = [(event.at, event.job or _SERVER, f"{kind}: {event.detail}" if event.detail else kind) for event in rare if event.kind == kind]
        series.append(_series(kind, mark, colour, size, found))
    return {
        "animation": False,
        "aria": {"enabled": True},
        "tooltip": {"trigger": "item", "renderMode": "richText", "confine": True, ":formatter": "found => found.value[2]"},
        "legend": {"type": "scroll", "top": 0, "textStyle": {"color": _GREY}},
        "grid": {"left": 12, "right": 24, "top": 40, "bottom": 12, "containLabel": True},
        "xAxis": {"type": "time", "min": int(1000 * begin) - 1000, "max": int(1000 * now), "axisLabel": {"color": _GREY, "hideOverlap": True}},
        "yAxis": {
            "type": "category",
            "data": [_SERVER, *jobs],
            "inverse": True,
            "axisLabel": {"color": _GREY, "width": 130, "overflow": "truncate"},
            "splitLine": {"show": True, "lineStyle": {"color": "rgba(123, 135, 148, 0.25)"}},
        },
        "series": series,
    }


def lines(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The same as text, the newest first."""
    return [
        {"time": _moment(event.at), "job": event.job or _SERVER, "what": event.kind, "detail": event.detail}
        for event in sorted(events, key=lambda event: event.at, reverse=True)
    ]


def _series(name: str, mark: str, colour: str, size: int, points: list[tuple[float, str, str]]) -> dict[str, Any]:
    data = [[int(1000 * at), job, text] for at, job, text in points]
    return {"type": "scatter", "name": name, "symbol": mark, "symbolSize": size, "itemStyle": {"color": colour}, "data": data}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")[:19]

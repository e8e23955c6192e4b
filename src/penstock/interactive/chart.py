"""A small chart of a result, as an SVG that draws itself in a notebook: lines or bars, no library and nothing from outside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from penstock.errors import OptionFault

if TYPE_CHECKING:
    from penstock.interactive.result import Result

KINDS = ("line", "bar")
_COLOURS = ("#3d84c6", "#c98a2b", "#3f9a5b", "#8a63c9", "#c0504d", "#5b6675")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 720, 300, 70, 46, 28, 16
_LABELS_MAX = 8


@dataclass(frozen=True)
class Chart:
    """What is drawn: a label for each place on the x axis, and named series of as many numbers (None: there is none)."""

    kind: str
    x: str
    labels: tuple[str, ...]
    series: tuple[tuple[str, tuple[float | None, ...]], ...]

    def _repr_html_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        names = ", ".join(name for name, _ in self.series)
        return f"{self.kind} chart of {names} over {self.x}, {len(self.labels)} places"

    def svg(self) -> str:
        """The whole picture."""
        numbers = [value for _, values in self.series for value in values if value is not None]
        low, high = min([0.0, *numbers]), max([0.0, *numbers])
        high = high if high > low else low + 1
        parts = [*self._axes(low, high)]
        for place, (name, values) in enumerate(self.series):
            colour = _COLOURS[place % len(_COLOURS)]
            parts += self._bars(values, place, colour, low, high) if self.kind == "bar" else self._line(values, colour, low, high)
            parts.append(f'<text x="{_LEFT + place * 140}" y="16" fill="{colour}">{escape(name)}</text>')
        style = "font: 12px system-ui, sans-serif"
        return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="{style}">{"".join(parts)}</svg>'

    def _axes(self, low: float, high: float) -> list[str]:
        parts = []
        for step in range(5):
            value = low + (high - low) * step / 4
            high_up = _y(value, low, high)
            parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{high_up:.1f}" y2="{high_up:.1f}" stroke="#8794a5" stroke-opacity="0.3"/>')
            parts.append(f'<text x="{_LEFT - 8}" y="{high_up + 4:.1f}" text-anchor="end" fill="#5b6675">{value:,.6g}</text>')
        every = max(1, math.ceil(len(self.labels) / _LABELS_MAX))
        y = _HEIGHT - _BOTTOM + 18
        parts += [
            f'<text x="{self._x(place):.1f}" y="{y}" text-anchor="middle" fill="#5b6675">{escape(self.labels[place])}</text>'
            for place in range(0, len(self.labels), every)
        ]
        return [*parts, f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle" fill="#5b6675">{escape(self.x)}</text>']

    def _line(self, values: Sequence[float | None], colour: str, low: float, high: float) -> list[str]:
        points = [(self._x(place), _y(value, low, high)) for place, value in enumerate(values) if value is not None]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points] if len(points) <= 100 else []
        return [f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="1.8"/>', *dots]

    def _bars(self, values: Sequence[float | None], place: int, colour: str, low: float, high: float) -> list[str]:
        wide = 0.8 * (_WIDTH - _LEFT - _RIGHT) / max(1, len(self.labels)) / len(self.series)
        parts = []
        for number, value in enumerate(values):
            if value is not None:
                top, foot = sorted((_y(value, low, high), _y(0, low, high)))
                x = self._x(number) + (place - len(self.series) / 2) * wide
                parts.append(f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{max(0.5, foot - top):.1f}" fill="{colour}"/>')
        return parts

    def _x(self, place: int) -> float:
        return _LEFT + (place + 0.5) * (_WIDTH - _LEFT - _RIGHT) / max(1, len(self.labels))


def _y(value: float, low: float, high: float) -> float:
    return _TOP + (high - value) * (_HEIGHT - _TOP - _BOTTOM) / (high - low)


def chart(result: Result, x: str | None, y: Sequence[str] | None, kind: str) -> Chart:
    """A chart of columns of a result; OptionFault where there is nothing to draw."""
    if kind not in KINDS:
        raise OptionFault(f"there is no chart `{kind}`", hint="one of " + ", ".join(KINDS))
    numbers = [column.name for column in result.schema if column.family == "number"]
    over = x or next((column.name for column in result.schema if column.name not in numbers), None)
    wanted = list(y) if y is not None else [name for name in numbers if name != over]
    if not wanted or not set(wanted) <= set(numbers):
        raise OptionFault("a chart needs a column of numbers", hint=f"the result has {', '.join(numbers) or 'none'}: result.plot(x=..., y=...)")
    rows = result.to_dicts()
    labels = tuple(_label(row[over]) if over is not None else str(place) for place, row in enumerate(rows))
    series = tuple((name, tuple(_number(row[name]) for row in rows)) for name in wanted)
    return Chart(kind, over or "row", labels, series)


def _label(value: Any) -> str:
    """A short text; of a window its start."""
    if isinstance(value, dict) and "start" in value:
        value = value["start"]
    if isinstance(value, datetime):
        return value.strftime("%m-%d %H:%M:%S" if value.second else "%m-%d %H:%M")
    return str(value)[:16] if not isinstance(value, date) else value.isoformat()


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(float(value)) else float(value)

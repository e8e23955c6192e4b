"""Answers that are no rows: findings, explanations, the graph, how views stand. They print, and draw themselves in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from penstock.engine import Engine
from penstock.interactive.html import table_html, text_html
from penstock.observe.progress import Progress
from penstock.observe.status import ViewStatus
from penstock.plan.model import picture, svg
from penstock.plan.model.findings import ERROR, Finding

T = TypeVar("T")


class Answers(list[T]):
    """A list that prints one answer after the other."""

    def __init__(self, found: Iterable[T], nothing: str = "nothing") -> None:
        super().__init__(found)
        self._nothing = nothing

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or self._nothing

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return text_html(repr(self))


class Findings(Answers[Finding]):
    """What a check found: `ok` where nothing is an error."""

    @property
    def ok(self) -> bool:
        return not any(finding.severity == ERROR for finding in self)


class Table(Answers[T]):
    """A list whose entries stand in a table."""

    def __init__(self, found: Iterable[T], columns: Sequence[str], cells: Callable[[T], Sequence[str]]) -> None:
        super().__init__(found)
        self._columns, self._cells = columns, cells

    def __repr__(self) -> str:
        rows = [list(self._columns), *(list(self._cells(entry)) for entry in self)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(self._columns))]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return table_html(self._columns, [list(self._cells(entry)) for entry in self])


def statuses(found: Iterable[ViewStatus]) -> Table[ViewStatus]:
    """How views stand after their last run."""
    columns = ("view", "status", "epoch", "rows", "detail")
    return Table(found, columns, lambda one: (one.view, one.status, "-" if one.epoch < 0 else str(one.epoch), f"{one.rows:,}", one.detail))


def progress(found: Iterable[Progress]) -> Table[Progress]:
    """How running jobs stand."""
    columns = ("views", "status", "epoch", "rows", "rows/s", "lag", "dead", "detail")

    def cells(one: Progress) -> tuple[str, ...]:
        lag = "-" if one.lag is None else f"{one.lag:,} {one.lag_unit}"
        epoch = "-" if one.epoch < 0 else str(one.epoch)
        return (", ".join(one.views), one.status, epoch, f"{one.rows:,}", f"{one.rows_per_s:,.0f}", lag, f"{one.dead:,}", one.detail)

    return Table(found, columns, cells)


@dataclass(frozen=True)
class Graph:
    """The app drawn: Mermaid text where it is printed, a picture in a notebook."""

    drawn: picture.Picture

    def mermaid(self) -> str:
        return picture.mermaid(self.drawn)

    def svg(self) -> str:
        return svg.draw(self.drawn)

    def save(self, path: str | Path) -> None:
        """Write it to a file: .svg is the picture, anything else Mermaid text."""
        Path(path).write_text(self.svg() if str(path).endswith(".svg") else self.mermaid(), encoding="utf-8")

    def __repr__(self) -> str:
        return self.mermaid()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        found = self.svg()
        return found[found.index("<svg") :]


def graph(engine: Engine) -> Graph:
    """The picture of an app."""
    return Graph(picture.picture(engine.declared, {one.view: one.strategy for one in engine.explain(None)}))

"""The demo on a terminal: the table of views, and what three of them say as small charts, drawn again in place."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.rows import shown, visible
from penstock.cli.run.live import TableWatch, table
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from penstock.engine import Engine
    from penstock.observe.progress import Progress

_READ_EVERY_S = 1.0
_BLOCKS = "▁▂▃▄▅▆▇█"
_BAR_WIDTH = 24


class Dashboard(TableWatch):
    """A `TableWatch` that also shows results."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.declared.name)
        self._engine = engine
        self._read_s = -_READ_EVERY_S
        self._results: dict[str, list[dict[str, Any]]] = {}

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        if elapsed_s - self._read_s >= _READ_EVERY_S:
            self._read_s = elapsed_s
            self._read({view for job in progress if job.rows for view in job.views})
        super().show(progress, elapsed_s)

    def _read(self, views: set[str]) -> None:
        """The kept results of the views that have some; a view that is just being changed is shown as it was."""
        for view in views & {"moving_average", "sales_by_country", "best_products", "turnover"}:
            try:
                self._results[view] = [json.loads(line) for line in self._engine.peek(view, 1000).lines]
            except PenstockError:
                continue

    def drawn(self, progress: list[Progress], elapsed_s: float) -> RenderableType:
        from rich.columns import Columns
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        if not progress:
            return super().drawn(progress, elapsed_s)
        panels: list[RenderableType] = []
        for view, chart in (("moving_average", moving_average), ("sales_by_country", sales_by_country), ("best_products", best_products)):
            found = self._results.get(view)
            if found:
                panels.append(Panel(Text(chart(found)), title=view, title_align="left", border_style="dim"))
        head = Text.assemble((self._title, "bold"), (f"  {elapsed_s:.0f} s  ", "dim"), turnover(self._results.get("turnover", [])))
        foot = Text(self._note or "Ctrl-C ends the demo with a summary", style="dim")
        # A window too small for the charts keeps the table.
        tall = _lines_of_terminal() >= len(progress) + 16
        return Group(head, table(progress), *([Columns(panels)] if tall and panels else []), foot)


def turnover(found: list[dict[str, Any]]) -> str:
    """`1,234 payments, 56,789.00 in all`."""
    return f"{int(found[0]['payments']):,} payments, {float(found[0]['total']):,.2f} in all" if found else ""


def moving_average(found: list[dict[str, Any]]) -> str:
    """A line of the latest averages, and the newest ones as numbers."""
    ordered = sorted((row for row in found if row["average"] is not None), key=lambda row: str(row["hour_to"]))[-30:]
    newest = [f"{shown(row['hour_to'])}  {float(row['average']):.2f}" for row in ordered[-4:]]
    return "\n".join([sparkline([float(row["average"]) for row in ordered]), *newest])


def sales_by_country(found: list[dict[str, Any]]) -> str:
    """A bar for each country, the largest first."""
    totals = sorted(((float(row["total"]), visible(str(row["country"]))) for row in found), reverse=True)
    return "\n".join(f"{country:<12} {bar(total, totals[0][0]):<{_BAR_WIDTH}} {total:>12,.2f}" for total, country in totals)


def best_products(found: list[dict[str, Any]]) -> str:
    """The ranking by category."""
    ranked = sorted((visible(str(row["category"])), int(row["rank"]), visible(str(row["product"])), float(row["total"])) for row in found)
    return "\n".join(f"{category:<8} {rank}. {product:<10} {total:>11,.2f}" for category, rank, product, total in ranked)


def bar(value: float, most: float, width: int = _BAR_WIDTH) -> str:
    """A bar of at most `width` blocks."""
    return "█" * round(width * value / most) if most > 0 else ""


def sparkline(values: Sequence[float]) -> str:
    """One block per value, between the least and the most of them."""
    if not values:
        return ""
    low, high = min(values), max(values)
    return "".join(_BLOCKS[round((len(_BLOCKS) - 1) * (value - low) / (high - low))] if high > low else _BLOCKS[3] for value in values)


def _lines_of_terminal() -> int:
    import shutil

    return shutil.get_terminal_size().lines if sys.stderr.isatty() else 0

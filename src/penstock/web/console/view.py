"""One view, live: a chart of the kind that fits it or was chosen, and its rows."""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urlencode

from fastapi import Request
from nicegui import ui

from penstock.web.console import chart
from penstock.web.console.door import PREFIX
from penstock.web.console.frame import Console, figure, fill, grid, page, status, title
from penstock.web.console.rows import LiveRows
from penstock.web.console.shape import Shape, shape_of
from penstock.web.host import Known

_LOOK_S = 0.5
_CHART_ROWS = 5000
_TABLE_ROWS = 500


async def view(console: Console, request: Request, name: str) -> None:
    """`/views/NAME?kind=KIND&measure=COLUMN`: what is chosen stays in the address, so that a reload keeps it."""
    found = console.host.view(name)
    with page(console, request, found or name, "/"):
        if found is None:
            ui.label(f"There is no view {name}.").classes("text-lg")
            ui.link("All views", "/")
            return
        with ui.row().classes("items-center gap-4 w-full"):
            title(found)
            state = ui.label()
            facts = ui.label().classes("figure opacity-80")
            ui.space()
            ui.link("Change its SQL", f"/editor?view={quote(found)}")
        place = ui.column().classes("w-full gap-4")

    def about() -> None:
        job = console.host.job_of(found)
        status(state, "starting" if job is None else job.status)
        lines = [] if job is None else [f"{figure(job.rows_per_s)} rows/s", f"lag {figure(job.lag, job.lag_unit)}", *job.detail.splitlines()[:1]]
        facts.set_text(" · ".join(lines))

    about()
    ui.timer(1.0, about)
    shown: _Shown | None = None
    known: Known | None = None
    asked = (request.query_params.get("kind", ""), request.query_params.get("measure", ""))

    async def look() -> None:
        nonlocal shown, known, asked
        now = await asyncio.to_thread(console.host.known, found)
        if now is not None and now != known:  # the view has run, or was replaced with other columns
            known = now
            place.clear()
            with place:
                shown = _Shown(console, found, now, *(asked if shown is None else (shown.kind, shown.measure)))
        if shown is not None:
            await shown.look()

    ui.timer(_LOOK_S, look)


class _Shown:
    """The chart and the table of one page."""

    def __init__(self, console: Console, name: str, known: Known, kind: str, measure: str) -> None:
        self._name = name
        self._rows = LiveRows(console.feed, name)
        self._columns = [column.name for column in known.schema]
        self._shape: Shape = shape_of(known.schema, known.key)
        self.kind = kind if kind in self._shape.kinds else self._shape.kind
        self.measure = measure if measure in self._shape.numbers else next(iter(self._shape.numbers), "")
        self._figures: dict[str, ui.label] = {}
        with ui.row().classes("gap-4 items-center"):
            ui.toggle(list(self._shape.kinds), value=self.kind, on_change=lambda event: self._choose(event.value, self.measure)).props(
                'no-caps dense padding="4px 14px" aria-label="Kind of chart"'
            )
            self._measures = ui.select(list(self._shape.numbers), value=self.measure or None, label="Column")
            self._measures.on_value_change(lambda event: self._choose(self.kind, event.value)).props("dense options-dense outlined").classes(
                "min-w-32"
            )
        self._picture = ui.element("div").classes("card").mark("picture")
        self._table = grid(self._columns)
        self._count = ui.label().classes("opacity-70 figure")
        self._chart: ui.echart | None = None
        self._build()

    def _choose(self, kind: str, measure: str) -> None:
        self.kind, self.measure = kind, measure
        ui.navigate.history.replace(f"{PREFIX}/views/{quote(self._name)}?{urlencode({'kind': kind, 'measure': measure})}")
        self._build()
        self._draw()

    def _build(self) -> None:
        self._picture.clear()
        self._picture.set_visibility(self.kind != "table")
        self._measures.set_visibility(self.kind in ("line", "bars"))
        self._chart, self._figures = None, {}
        with self._picture:
            if self.kind in ("line", "bars"):
                self._chart = ui.echart(chart.options(self._shape, self.kind, self.measure, [])).classes("w-full h-96")
            elif self.kind == "numbers":
                with ui.row().classes("gap-12 justify-around w-full py-6"):
                    for name in self._shape.numbers:
                        with ui.column().classes("items-center gap-1"):
                            self._figures[name] = ui.label("-").classes("text-5xl font-semibold figure")
                            ui.label(name).classes("opacity-70")

    async def look(self) -> None:
        if await asyncio.to_thread(self._rows.take):
            self._draw()

    def _draw(self) -> None:
        newest = self._rows.last(_CHART_ROWS)
        if self._chart is not None:
            self._chart.options.clear()
            self._chart.options.update(chart.options(self._shape, self.kind, self.measure, newest))
            self._chart.update()
        for name, label in self._figures.items():
            value = chart.number(newest[-1].get(name)) if newest else None
            label.set_text("-" if value is None else f"{value:,.2f}".removesuffix(".00"))
        fill(self._table, self._columns, newest[: -_TABLE_ROWS - 1 : -1])
        total = len(self._rows)
        self._count.set_text(
            f"{total:,} row{'s' * (total != 1)}" + (f", the newest {_TABLE_ROWS} of them in the table" if total > _TABLE_ROWS else "")
        )

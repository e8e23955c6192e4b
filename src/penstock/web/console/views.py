"""The first page: every view with its state, rate, epoch and lag."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from fastapi import Request
from nicegui import ui

from penstock.web.console.frame import Console, figure, page, status, title

_HEADS = ("View", "Status", "Rows/s", "Rows", "Epoch", "Lag", "Watermark")
_LOOK_S = 1.0


async def views(console: Console, request: Request) -> None:
    """`/`: one line per view; new ones appear by themselves."""
    lines: dict[str, dict[str, ui.label]] = {}

    def add(name: str) -> None:
        with body, ui.element("tr").classes("border-t border-slate-400/30"):
            with ui.element("td").classes("py-2 pr-4"):
                ui.link(name, f"/views/{quote(name)}").classes("font-medium")
            lines[name] = {}
            for head in _HEADS[1:]:
                with ui.element("td").classes("pr-4 py-2 whitespace-nowrap figure"):
                    lines[name][head] = ui.label("-")

    async def look() -> None:
        names = list(console.host.engine.declared.views)
        if names != list(lines):
            body.clear()
            lines.clear()
            for name in names:
                add(name)
        counts = await asyncio.to_thread(console.host.figures)
        for name, cells in lines.items():
            job = console.host.job_of(name)
            epoch, rows = counts.get(name, (-1, 0))
            status(cells["Status"], "starting" if job is None else job.status)
            cells["Rows/s"].set_text(figure(0.0 if job is None else job.rows_per_s))
            cells["Rows"].set_text(figure(rows))
            cells["Epoch"].set_text(figure(epoch))
            cells["Lag"].set_text("-" if job is None else figure(job.lag, job.lag_unit))
            moment = ("" if job is None else job.watermark or "").replace("T", " ")[:19]
            cells["Watermark"].set_text("-" if not moment or moment.startswith("1970-01-01 00:00:00") else moment)

    with page(console, request, "Views", "/"):
        title("Views")
        with ui.element("div").classes("card overflow-x-auto"), ui.element("table").classes("w-full text-left"):
            with ui.element("thead"), ui.element("tr"):
                for head in _HEADS:
                    with ui.element("th").classes("pr-4 pb-2 font-medium opacity-70"):
                        ui.label(head)
            body = ui.element("tbody")
        ui.link("New view in the editor", "/editor")
    await look()
    ui.timer(_LOOK_S, look)

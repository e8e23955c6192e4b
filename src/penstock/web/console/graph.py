"""The app as a graph: what reads what, and how much flows along each arrow now."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import quote

from fastapi import Request
from nicegui import ui

from penstock.plan.model.declare import Declared
from penstock.plan.model.picture import Picture, picture
from penstock.plan.model.svg import draw
from penstock.share.explain import explain
from penstock.web.console.door import PREFIX
from penstock.web.console.frame import Console, figure, page, title

_LOOK_S = 1.0
_WRITE = """(texts => texts.forEach((text, arrow) => {
  const found = document.querySelector(`.picture [data-arrow="${arrow}"]`); if (found) found.textContent = text;
}))"""


async def graph(console: Console, request: Request) -> None:
    """`/graph`: drawn again when the app changes; between, only the rates are written."""
    shown: Declared | None = None
    drawn: Picture | None = None
    written: list[str] = []
    with page(console, request, "Graph", "/graph"):
        title("Graph")
        ui.label("Rows per second that views read of streams, and changes per second that they give on, over the last ten seconds.").classes(
            "opacity-70"
        )
        with ui.element("div").classes("card overflow-x-auto"):
            place = ui.html("", sanitize=False)

    async def look() -> None:
        nonlocal shown, drawn, written
        declared = console.host.engine.declared
        if drawn is None or declared is not shown:
            shown, written = declared, []
            drawn = await asyncio.to_thread(_drawn, declared)
            links = {name: f"{PREFIX}/views/{quote(name)}" for name in declared.views}
            place.set_content(draw(drawn, live=True, links=links))
        rates = await asyncio.to_thread(console.rates.of, drawn.arrows)
        texts = [_text(rate, source in declared.views) for rate, (source, _) in zip(rates, drawn.arrows, strict=True)]
        if texts != written:
            written = texts
            ui.run_javascript(f"{_WRITE}({json.dumps(texts)})")

    ui.timer(_LOOK_S, look)


def _drawn(declared: Declared) -> Picture:
    return picture(declared, {found.view: found.strategy for found in explain(declared)})


def _text(rate: float | None, changes: bool) -> str:
    return "" if rate is None else f"{figure(rate)} {'changes' if changes else 'rows'}/s"

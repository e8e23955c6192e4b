"""What all pages share: the header with its links, dark and light, and how figures and states are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from nicegui import ui

from penstock.errors import PenstockError
from penstock.web.alerts import Alerts
from penstock.web.answers import Refused
from penstock.web.follow import Feed
from penstock.web.host import Host
from penstock.web.query import Queries
from penstock.web.rates import Rates
from penstock.web.webhooks import Webhooks

_LINKS = (("Views", "/"), ("Graph", "/graph"), ("Editor", "/editor"), ("Alerts", "/alerts"), ("Operations", "/operations"))
_THEMES: dict[str, bool | None] = {"auto": None, "dark": True, "light": False}
_MARKS = {"running": "●", "idle": "●", "waiting": "●", "starting": "◌", "outage": "▲", "restarting": "▲", "failed": "✖"}
_COLOURS = {"●": "text-green-700 dark:text-green-400", "▲": "text-amber-700 dark:text-amber-400", "✖": "text-red-700 dark:text-red-400"}
_STYLE = """
body { font-family: system-ui, sans-serif } .figure { font-variant-numeric: tabular-nums }
.card { border: 1px solid rgba(123, 135, 148, .3); border-radius: 12px; padding: 16px; width: 100% }
a:focus-visible, button:focus-visible, .cm-focused { outline: 2px solid #2f7fc1; outline-offset: 2px }
pre, .cm-editor { font: 13px/1.5 ui-monospace, monospace }
"""


@dataclass(frozen=True)
class Console:
    """What pages read: the app that runs, who follows it, and who asks it."""

    host: Host
    feed: Feed
    queries: Queries
    alerts: Alerts
    webhooks: Webhooks
    rates: Rates

    @classmethod
    def of(cls, app: FastAPI) -> Console:
        state = app.state
        return cls(state.host, state.feed, state.queries, state.alerts, state.webhooks, state.rates)


@contextmanager
def page(console: Console, request: Request, title: str, here: str) -> Iterator[None]:
    """A page's header; the block adds what is below it. The theme is the browser's, or what a cookie has kept."""
    name = console.host.engine.declared.name
    ui.page_title(f"{title} · {name}")
    ui.add_css(_STYLE)
    chosen = request.cookies.get("penstock_theme", "auto")
    dark = ui.dark_mode(_THEMES.get(chosen))
    with ui.header().classes("items-center gap-x-5 gap-y-1 bg-slate-800 text-white px-4 py-2 flex-wrap"):
        ui.label(name).classes("font-semibold text-lg")
        with ui.element("nav").classes("flex gap-4 flex-wrap").props('aria-label="Pages"'):
            for label, path in _LINKS:
                link = ui.link(label, path).classes("text-white no-underline hover:underline py-1")
                if path == here:
                    link.classes("font-semibold border-b-2 border-white").props('aria-current="page"')
        ui.space()
        bell = ui.link("", "/alerts").classes("text-sm text-amber-300 font-semibold")
        health = ui.label().classes("text-sm").mark("health")
        ui.select(list(_THEMES), value=chosen if chosen in _THEMES else "auto", on_change=lambda event: _theme(dark, event.value)).props(
            'dense dark options-dense borderless aria-label="Theme"'
        )

    def look() -> None:
        health.set_text(f"app: {console.host.health().status}")
        new = console.alerts.new
        bell.set_text(f"▲ {new:,} new alert{'s' * (new != 1)}")
        bell.set_visibility(bool(new))

    look()
    ui.timer(1.0, look)
    with ui.column().classes("w-full max-w-6xl mx-auto px-3 py-2 gap-4"):
        yield


def _theme(dark: ui.dark_mode, chosen: str) -> None:
    dark.value = _THEMES[chosen]
    ui.run_javascript(f"document.cookie = 'penstock_theme={chosen}; path=/; max-age=31536000; samesite=strict'")


def title(text: str) -> None:
    """What a page is about, also for those who hear it."""
    ui.label(text).classes("text-2xl font-semibold").props('role="heading" aria-level="1"')


def status(shown: ui.label, text: str) -> None:
    """A state as mark, word and colour."""
    mark = _MARKS.get(text, "○")
    shown.set_text(f"{mark} {text}")
    shown.classes(replace=f"whitespace-nowrap {_COLOURS.get(mark, '')}")


def figure(value: float | None, unit: str = "") -> str:
    """A number for people; `-` where it is not known."""
    if value is None or value < 0:
        return "-"
    text = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"
    return f"{text} {unit}".strip()


def trouble(error: Exception) -> str:
    """What an error says, and what to do next."""
    if isinstance(error, PenstockError | Refused):
        place = f"line {error.where.line}: " if isinstance(error, PenstockError) and error.where is not None and error.where.line else ""
        return f"{place}{error.message}" + (f" ({error.hint})" if error.hint else "")
    raise error


def grid(columns: list[str], label: Callable[[str], str] = str) -> ui.table:
    """A table whose cells are text, whatever they hold; rows are set with `fill`."""
    described = [{"name": f"c{at}", "label": label(name), "field": f"c{at}", "align": "left", "sortable": True} for at, name in enumerate(columns)]
    shown = ui.table(columns=described, rows=[], row_key="__n", pagination=25).classes("w-full figure")
    return shown.props("flat dense wrap-cells")


def fill(shown: ui.table, columns: list[str], rows: list[dict[str, Any]]) -> None:
    shown.rows = [{"__n": number, **{f"c{at}": _cell(row.get(name)) for at, name in enumerate(columns)}} for number, row in enumerate(rows)]
    shown.update()


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "NULL" if value is None else value if isinstance(value, int | float) else str(value)

"""The SQL editor: checked while one types, explained, tried over history, and made a view of the running app."""

from __future__ import annotations

import asyncio
import json
from types import MappingProxyType
from urllib.parse import quote as quoted

from fastapi import Request
from nicegui import ui

from penstock.errors import PenstockError, SyntaxFault
from penstock.plan.added import read_statements
from penstock.plan.model.declare import Emit, Options, View
from penstock.plan.sql.statements import Create
from penstock.schema import literal, quote
from penstock.share.explain import explain
from penstock.web.answers import Refused
from penstock.web.console.frame import Console, fill, grid, page, title, trouble
from penstock.web.statements import execute

_PREVIEW_ROWS = 50
_EMIT = {Emit.CHANGES: "", Emit.ON_CLOSE: "\nEMIT ON WINDOW CLOSE", Emit.COMPLETE: "\nEMIT COMPLETE"}


async def editor(console: Console, request: Request) -> None:
    """`/editor?view=NAME`: the SQL of a view, or a new one."""
    engine = console.host.engine
    known = console.host.view(request.query_params.get("view", ""))
    text = _start(console) if known is None else _text(console, known)

    options: Options = {} if known is None else engine.declared.views[known].options
    here = set() if known is None else {known.lower()}  # what this page may replace: another view is not lost by a name that is taken

    def statement() -> str:
        given = (name.value or "").strip()
        return as_view(given, sql.value or "", {**options, "alert": "true" if alerts.value else "false"}, replaces=given.lower() in here)

    async def check() -> None:
        if not (sql.value or "").strip():
            verdict.set_text("")
            return
        try:
            await asyncio.to_thread(engine.proposed, statement())
            verdict.set_text("✔ this can run")
        except PenstockError as error:
            verdict.set_text(f"✖ {trouble(error)}")

    async def show_plan() -> None:
        result.clear()
        with result:
            try:
                after = await asyncio.to_thread(engine.proposed, statement())
                wanted = next(view for view in after.views if view.lower() == (name.value or "").strip().lower())
                ui.code(str(explain(after, wanted)[0]), language="text").classes("w-full")
            except PenstockError as error:
                _say(error)

    async def preview() -> None:
        result.clear()
        with result:
            waiting = ui.label("asking…")
            try:
                found = await console.queries.ask(sql.value)
            except (PenstockError, Refused) as error:
                waiting.delete()
                _say(error)
                return
            waiting.delete()
            columns = [column for column, _ in found.columns]
            ui.label(f"The first {min(len(found.lines), _PREVIEW_ROWS)} rows over the history so far").classes("opacity-70")
            fill(grid(columns), columns, [json.loads(line) for line in found.lines[:_PREVIEW_ROWS]])

    async def create() -> None:
        result.clear()
        with result:
            waiting = ui.label("the view is built from the history…")
            try:
                await asyncio.to_thread(execute, console.host, statement())
            except (PenstockError, Refused) as error:
                waiting.delete()
                _say(error)
                return
            waiting.delete()
            made = console.host.view(name.value.strip()) or name.value
            here.add(made.lower())
            ui.label(f"✔ the view {made} runs").classes("text-lg")
            ui.link(f"Show {made}", f"/views/{quoted(made)}")

    with page(console, request, "Editor", "/editor"):
        title("Editor")
        with ui.row().classes("items-center gap-4"):
            name = ui.input("Name of the view", value=known or "my_view", on_change=check).props("dense outlined").classes("w-72")
            alerts = ui.checkbox("Its rows are alerts", value=known is not None and engine.declared.views[known].alerts)
        sql = ui.codemirror(
            text, language="SQL", theme="vscodeDark" if request.cookies.get("penstock_theme") == "dark" else "vscodeLight", on_change=check
        )
        sql.classes("w-full h-64 card").props('aria-label="SQL"')
        ui.label("Esc, then Tab leaves the text.").classes("text-sm opacity-70")
        verdict = ui.label().classes("font-medium").props('role="status"').mark("verdict")
        with ui.row().classes("gap-3"):
            ui.button("Preview", on_click=preview).props("no-caps outline")
            ui.button("Explain", on_click=show_plan).props("no-caps outline")
            ui.button("Create as a view" if known is None else "Replace the view", on_click=create).props("no-caps unelevated")
        result = ui.column().classes("w-full")
    await check()


def as_view(name: str, select: str, options: Options = MappingProxyType({}), *, replaces: bool = False) -> str:
    """The statement that makes a view of a SELECT. Whatever else is written there is refused: a page adds views, no streams or sinks."""
    given = {option: value for option, value in options.items() if (option, value) != ("alert", "false")}
    chosen = f" WITH ({', '.join(f'{quote(option)} = {literal(str(value))}' for option, value in given.items())})" if given else ""
    statement = f"CREATE {'OR REPLACE ' * replaces}MATERIALIZED VIEW {quote(name.strip())}{chosen} AS {select.strip().rstrip(';')}"
    found = read_statements(statement)
    if len(found) != 1 or not isinstance(found[0], Create) or not isinstance(found[0].declaration, View):
        raise SyntaxFault("only a single SELECT becomes a view here", hint="streams, tables and sinks belong into the app's files")
    return statement


def _text(console: Console, view: str) -> str:
    found = console.host.engine.declared.views[view]
    return found.text + _EMIT[found.emit]


def _start(console: Console) -> str:
    first = next(iter(console.host.engine.declared.streams), None)
    return "" if first is None else f"SELECT count(*) AS rows\nFROM {first}"


def _say(error: Exception) -> None:
    ui.label(f"✖ {trouble(error)}").classes("font-medium whitespace-pre-wrap").props('role="alert"')

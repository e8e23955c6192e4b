"""Puts the pages on the server's app: once in a process, for NiceGUI has one app of its own."""

from __future__ import annotations

from fastapi import FastAPI, Request
from nicegui import ui

from penstock.web.console import alerts, door, editor, graph, operations, view, views
from penstock.web.console.frame import Console


def install(app: FastAPI) -> None:
    """`/` to log in, everything else under `/console`."""
    console = Console.of(app)

    @ui.page("/")
    async def _views(request: Request) -> None:
        await views.views(console, request)

    @ui.page("/views/{name}")
    async def _view(request: Request, name: str) -> None:
        await view.view(console, request, name)

    @ui.page("/editor")
    async def _editor(request: Request) -> None:
        await editor.editor(console, request)

    @ui.page("/graph")
    async def _graph(request: Request) -> None:
        await graph.graph(console, request)

    @ui.page("/alerts")
    async def _alerts(request: Request) -> None:
        await alerts.alerts(console, request)

    @ui.page("/operations")
    async def _operations(request: Request) -> None:
        await operations.operations(console, request)

    app.include_router(door.router)
    app.state.open_paths.update(("/", "/login"))
    ui.run_with(app, mount_path=door.PREFIX, title="Penstock", favicon="🌊", dark=None, show_welcome_message=False, reconnect_timeout=30)
    app.add_middleware(door.Door, access=app.state.access)

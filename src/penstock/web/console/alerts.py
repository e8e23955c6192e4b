"""The rows of views that are declared WITH (alert = true): what is new, what was acknowledged, and where it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial

from fastapi import Request
from nicegui import ui

from penstock.errors import PenstockError
from penstock.web.alerts import Alert
from penstock.web.answers import Refused
from penstock.web.console.frame import Console, page, title, trouble
from penstock.web.webhooks import NewWebhook

_LOOK_S = 1.0
_SHOWN_MAX = 200
_NONE = "No view has rows that are alerts. Declare one WITH (alert = true): CREATE MATERIALIZED VIEW name WITH (alert = true) AS SELECT ..."


async def alerts(console: Console, request: Request) -> None:
    """`/alerts`: acknowledged is what somebody took note of, until its row is gone from the view."""
    shown: list[Alert] | None = None

    async def take(found: list[Alert]) -> None:
        for view in {alert.view for alert in found}:
            await asyncio.to_thread(console.alerts.acknowledge, view, [alert.id for alert in found if alert.view == view])
        await look()

    async def look() -> None:
        nonlocal shown
        found = console.alerts.listed()[:_SHOWN_MAX]
        new = [alert for alert in found if alert.acknowledged is None]
        count.set_text(f"{console.alerts.new:,} new")
        all_new.set_enabled(bool(new))
        if found != shown:
            shown = found
            lines.clear()
            with lines:
                for alert in found:
                    _line(alert, take)
                if not found:
                    ui.label("No alerts." if _views(console) else _NONE)

    with page(console, request, "Alerts", "/alerts"):
        with ui.row().classes("items-center gap-4 w-full"):
            title("Alerts")
            count = ui.label().classes("figure opacity-80")
            ui.space()
            all_new = ui.button("Acknowledge all", on_click=lambda: take([alert for alert in shown or [] if alert.acknowledged is None]))
            all_new.props("no-caps outline")
        lines = ui.column().classes("w-full gap-2").props('role="list" aria-label="Alerts"')
        if _views(console):
            _webhooks(console)
    await look()
    ui.timer(_LOOK_S, look)


def _views(console: Console) -> list[str]:
    return sorted(console.host.alert_views())


def _line(alert: Alert, take: Callable[[list[Alert]], Awaitable[None]]) -> None:
    """Mark and word say the state, not the colour alone."""
    new = alert.acknowledged is None
    with ui.row().classes("card items-center gap-4 py-2 no-wrap max-sm:flex-wrap").props('role="listitem"'):
        ui.label("▲ new" if new else "✔ acknowledged").classes("whitespace-nowrap " + ("text-amber-700 dark:text-amber-400" if new else "opacity-70"))
        with ui.column().classes("gap-0 min-w-0 grow"):
            row = json.loads(alert.row)
            ui.label(" · ".join(f"{name}: {_text(value)}" for name, value in row.items())).classes("font-medium figure break-words max-w-full")
            since = f"{alert.view} · since {_moment(alert.seen)}" + ("" if new else f" · acknowledged {_moment(alert.acknowledged or '')}")
            ui.label(since).classes("text-sm opacity-70")
        if new:
            ui.button("Acknowledge", on_click=lambda: take([alert])).props("no-caps outline dense padding='4px 12px'")


def _webhooks(console: Console) -> None:
    """Where the changes of these views are sent, and a form for one more."""

    def listed() -> None:
        places.clear()
        views = _views(console)
        with places:
            for found in console.webhooks.listed():
                if found["view"] in views:
                    with ui.row().classes("items-center gap-3"):
                        ui.label(f"{found['view']} → {found['url']}").classes("break-all")
                        ui.button("Remove", on_click=partial(remove, found["id"])).props("no-caps flat dense")

    async def remove(name: str) -> None:
        await asyncio.to_thread(console.webhooks.remove, name)
        listed()

    async def add() -> None:
        message.set_text("")
        try:
            new = NewWebhook(view=view.value, url=url.value or "", secret=secret.value or "")
            await asyncio.to_thread(console.webhooks.add, new, new.view)
        except (PenstockError, Refused) as error:
            message.set_text(f"✖ {trouble(error)}")
        except ValueError:
            message.set_text("✖ A webhook has an address and a secret.")
        listed()

    with ui.expansion("Webhooks").classes("w-full card"):
        ui.label("Changes of these views are sent by POST, signed with the secret, in order, again until they are taken.").classes("opacity-70")
        places = ui.column().classes("gap-1")
        with ui.row().classes("items-center gap-3"):
            view = ui.select(_views(console), value=_views(console)[0], label="View").props("dense outlined").classes("min-w-32")
            url = ui.input("Address").props("dense outlined").classes("w-72")
            secret = ui.input("Secret", password=True).props("dense outlined")
            ui.button("Add", on_click=add).props("no-caps outline")
        message = ui.label().props('role="alert"')
    listed()


def _text(value: object) -> str:
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _moment(text: str) -> str:
    return text.replace("T", " ")[:19]

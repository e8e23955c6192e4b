"""How the app is: every job's figures, what happened when, what was set aside and why, and the end of the log."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from nicegui import ui

from penstock.change import place_of
from penstock.observe.progress import Progress
from penstock.web.console import timeline
from penstock.web.console.door import PREFIX
from penstock.web.console.frame import Console, figure, fill, grid, page, title

_LOOK_S = 2.0
_DEAD_MAX = 200
_LOG_LINES = 200
_JOB = ["job", "status", "rows/s", "rows", "epoch", "lag", "batch", "watermark", "state rows", "late", "dead", "restarts", "recovery"]
_DEAD = ["stream", "position", "reason", "record", "seen at"]
_LATE = ["view", "position", "reason", "row"]
_LOG = ["time", "level", "job", "message"]


async def operations(console: Console, request: Request) -> None:
    """`/operations?show=PART`: the part that is shown stays in the address."""
    parts = ("Jobs", "Time line", "Dead letters", "Late rows", "Log")
    wanted = request.query_params.get("show", "")
    with page(console, request, "Operations", "/operations"):
        title("Operations")
        trouble = ui.label().classes("font-medium whitespace-pre-wrap").props('role="status"')
        with ui.tabs().props("no-caps align=left").classes("w-full") as tabs:
            for part in parts:
                ui.tab(part)
        with ui.tab_panels(tabs, value=wanted if wanted in parts else parts[0]).classes("w-full"):
            with ui.tab_panel(parts[0]):
                jobs = grid(_JOB)
            with ui.tab_panel(parts[1]):
                line = ui.echart(timeline.options((), (), time.time())).classes("w-full h-80").mark("timeline")
                happened = grid(timeline.COLUMNS)
            with ui.tab_panel(parts[2]):
                none = ui.label("No record was set aside.")
                dead = grid(_DEAD)
            with ui.tab_panel(parts[3]):
                in_time = ui.label("No row came late.")
                late = grid(_LATE)
            with ui.tab_panel(parts[4]):
                log = grid(_LOG)

    async def look() -> None:
        trouble.set_text("\n".join(f"▲ {reason}" for reason in console.host.health().reasons))
        fill(jobs, _JOB, [_job(job) for job in console.host.progress])
        if tabs.value == parts[1]:
            kept = console.host.timeline
            line.options.clear()
            line.options.update(timeline.options(kept.epochs, kept.events, time.time()))
            line.update()
            fill(happened, timeline.COLUMNS, timeline.lines(kept.events))
        elif tabs.value == parts[2]:
            found = await asyncio.to_thread(_dead, console)
            none.set_visibility(not found)
            dead.set_visibility(bool(found))
            fill(dead, _DEAD, found)
        elif tabs.value == parts[3]:
            found = await asyncio.to_thread(_late, console)
            in_time.set_visibility(not found)
            late.set_visibility(bool(found))
            fill(late, _LATE, found)
        elif tabs.value == parts[4]:
            fill(log, _LOG, await asyncio.to_thread(_log, console.host.engine.state / "logs" / "penstock.log"))

    await look()
    tabs.on_value_change(look)
    tabs.on_value_change(lambda event: _keep(event.value))
    ui.timer(_LOOK_S, look)


def _keep(part: str) -> None:
    ui.navigate.history.replace(f"{PREFIX}/operations?show={quote(part)}")


def _job(job: Progress) -> dict[str, Any]:
    return {
        "job": job.job,
        "status": job.status,
        "rows/s": figure(job.rows_per_s),
        "rows": figure(job.rows),
        "epoch": figure(job.epoch),
        "lag": figure(job.lag, job.lag_unit),
        "batch": f"{job.batch_s:.1f} s",
        "watermark": (job.watermark or "-").replace("T", " ")[:19],
        "state rows": figure(job.state_rows),
        "late": figure(job.late),
        "dead": figure(job.dead),
        "restarts": figure(job.restarts),
        "recovery": "-" if job.recovery_s is None else f"{job.recovery_s:.1f} s",
    }


def _dead(console: Console) -> list[dict[str, Any]]:
    found = []
    for source in (*console.host.engine.declared.streams, *console.host.engine.declared.tables):
        for row in islice(console.host.store.dead(source), _DEAD_MAX):
            raw = row.raw.decode("utf-8", "backslashreplace")[:200]
            found.append({"stream": source, "position": place_of(row.position), "reason": row.reason, "record": raw, "seen at": row.seen_at[:19]})
    return found


def _late(console: Console) -> list[dict[str, Any]]:
    """The late rows of views that keep them, and a line for each job whose late rows were dropped."""
    found: list[dict[str, Any]] = []
    for view in console.host.engine.declared.views:
        if console.host.store.schema(f"{view}__late") is not None:
            for line in islice(console.host.store.rows(f"{view}__late"), _DEAD_MAX):
                row = json.loads(line)
                reason = f"epoch {row.pop('epoch', '?')}: the watermark was at {row.pop('watermark', '?')}"
                found.append({"view": view, "position": str(row.pop("position", "-")), "reason": reason, "row": row})
    for job in console.host.progress:
        if job.late:
            reason = f"{job.late:,} dropped since the start: they came after the watermark, which is now at {job.watermark}"
            found.append({"view": ", ".join(job.views), "position": "-", "reason": reason, "row": "not kept; `penstock verify` counts them"})
    return found


def _log(file: Path) -> list[dict[str, Any]]:
    """The newest lines first."""
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            newest = deque(lines, _LOG_LINES)
    except OSError:
        return []
    found = [json.loads(line) for line in newest if line.startswith("{") and line.endswith("}\n")]
    return [
        {"time": line["time"][:19].replace("T", " "), "level": line["level"], "job": line.get("job", ""), "message": line["message"]}
        for line in reversed(found)
    ]

"""The verb `status`: how every view stands by what its last run left behind; no Spark, no sources."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened

if TYPE_CHECKING:
    from penstock.observe.status import ViewStatus

KILLED = 7


def status(
    app: AppPath,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Show how every view stands after its last run.

    Its status, newest epoch and kept rows, why it failed or waits, and records that it went on without.
    Exit code 1 when a view failed or waits for an outside system that is unavailable, 7 when none did but a run was killed, else 0.
    """
    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        found = engine.status()
    for view in found:
        typer.echo(jsonlib.dumps(asdict(view), ensure_ascii=False) if json else line(view))
    if code := exit_code(found):
        raise typer.Exit(code)


def exit_code(found: Iterable[ViewStatus]) -> int:
    """What a script has to do: 0 nothing, 1 look at a view that failed or waits, 7 start a run again that was killed."""
    statuses = {view.status for view in found}
    return 1 if statuses & {"failed", "outage"} else KILLED if "killed" in statuses else 0


def line(view: ViewStatus) -> str:
    """`spend: done at 2026-01-01T10:00:00+00:00, epoch 3, 12 rows`, and below it what went wrong."""
    if view.at is None:
        return f"{view.view}: not run"
    when = {"running": "since", "outage": "since", "killed": "after it began at"}.get(view.status, "at")
    head = f"{view.view}: {view.status} {when} {view.at}"
    figures = [f"epoch {view.epoch}" if view.epoch >= 0 else "no epoch yet", f"{view.rows:,} row{'s' * (view.rows != 1)}"]
    figures += [f"{view.dead:,} dead letter{'s' * (view.dead != 1)}"] if view.dead else []
    below = [f"  {view.detail}"] if view.detail else []
    return "\n".join(
        [
            ", ".join([head, *figures]),
            *below,
            *(f"  without {gap}" for gap in view.gaps),
            *(f"  {table}: rows before keep the old values" for table in view.tables),
        ]
    )

"""The verb `status`: how every view stands by what its last run left behind; no Spark, no sources."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from penstock.cli.options import App, Json, LogJson, Set, State, Verbose, opened

if TYPE_CHECKING:
    from penstock.share.status import ViewStatus


def status(
    app: App,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Show how every view stands after its last run.

    Its status, newest epoch and kept rows, why it failed, and records that it went on without. Exit code 1 when a view failed.
    """
    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        found = engine.status()
    for view in found:
        typer.echo(jsonlib.dumps(asdict(view), ensure_ascii=False) if json else line(view))
    if any(view.status == "failed" for view in found):
        raise typer.Exit(1)


def line(view: ViewStatus) -> str:
    """`spend: done at 2026-01-01T10:00:00+00:00, epoch 3, 12 rows`, and below it what went wrong."""
    if view.at is None:
        return f"{view.view}: not run"
    when = {"running": "since", "killed": "after it began at"}.get(view.status, "at")
    head = f"{view.view}: {view.status} {when} {view.at}"
    figures = [f"epoch {view.epoch}" if view.epoch >= 0 else "no epoch yet", f"{view.rows:,} row{'s' * (view.rows != 1)}"]
    below = [f"  {view.detail}"] if view.detail else []
    return "\n".join([", ".join([head, *figures]), *below, *(f"  without {gap}" for gap in view.gaps)])

"""The verb `savepoint`: what an app has come to, as a folder from which `run --from-savepoint` starts elsewhere."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened, option
from penstock.errors import StateError


def savepoint(
    app: AppPath,
    to: Annotated[Path, option("--to", metavar="DIR", help="The new folder that becomes the savepoint.")],
    view: Annotated[str | None, typer.Argument(help="Only this view, with the views of the same job.", show_default=False)] = None,
    state: State = None,
    settings: Set = None,
    json: Json = False,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Copy all state of an app, or of one view, between two runs.

    It holds results, change log, Spark's state and checkpoints, recordings and versions of tables. `run --from-savepoint DIR` goes on from it in
    another state folder; views that are not in it are computed from history.
    """
    from penstock.savepoint import take
    from penstock.share.jobs import jobs
    from penstock.spark.run.lock import StateLock, is_held

    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        if engine.settings.text("store"):
            hint = "copy the state folder and the database while no run goes on, or keep results in SQLite"
            raise StateError("a savepoint holds the results store too, and that is in a Postgres database", hint=hint)
        if is_held(engine.state):
            raise StateError(f"a run works from the state folder {engine.state}", hint="stop it first: what is kept agrees between two epochs")
        name = None if view is None else engine.view_name(view)
        chosen = None if name is None else [job.name for job in jobs(engine.declared) if any(member.name == name for member in job.members)]
        with StateLock(engine.state):
            made = take(engine.state, to.absolute(), engine.declared.name, chosen)
    if json:
        typer.echo(json_text.dumps({"savepoint": str(to), "id": made.id, "epochs": made.epochs, "files": len(made.files)}))
    else:
        shown = ", ".join(f"{job} at epoch {epoch}" for job, epoch in made.epochs.items())
        typer.echo(f"{to} holds {shown}; start from it with: penstock run {app} --from-savepoint {to} --state NEW", err=True)

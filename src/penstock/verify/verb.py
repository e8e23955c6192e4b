"""`penstock verify`: from the command line."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened


def verify(
    app: AppPath,
    view: Annotated[str | None, typer.Argument(metavar="[VIEW]", help="A view; left out: all of them.", show_default=False)] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Prove that what was delivered is what a batch run over the same input gives, row by row.

    Takes the input that the checkpoint says was consumed, runs each view over it in batch, reads the results store and every
    sink as a stranger would, and compares. The app may run meanwhile. Exit code 0: all is equal; 1: something differs, or nothing
    could be compared.
    """
    with opened(app, state, settings, log_json, verbose, keeps_log=False, needs_spark=True) as engine:
        from penstock.verify.report import proved, summary
        from penstock.verify.run import verify as verdicts

        found = []
        for verdict in verdicts(engine, view):
            found.append(verdict)
            typer.echo(json_text.dumps(verdict.as_json(), ensure_ascii=False) if json else "\n".join(verdict.in_words()))
        typer.echo(summary(found), err=True)
        for state_of in engine.status():
            if state_of.dead and view in (None, state_of.view):
                typer.echo(f"{state_of.view}: {state_of.dead:,} records of its streams were set aside, here and in the live run", err=True)
        if not proved(found):
            raise typer.Exit(1)

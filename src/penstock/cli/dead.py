"""The verb `dead`: what was set aside of a stream or table, and what a corrected declaration can read of it now."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.change import DEAD
from penstock.cli import rows
from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened
from penstock.errors import NameFault

Source = Annotated[str, typer.Argument(metavar="STREAM", help="A stream or table.", show_default=False)]
Replay = Annotated[bool, typer.Option("--replay", help="Take off the list what the declaration can read by now; the next run reads it.")]


def dead(
    app: AppPath,
    stream: Source,
    n: Annotated[int, typer.Option("-n", metavar="ROWS", min=1, help="How many at most.")] = 20,
    replay: Replay = False,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """List the records of a stream or table that could not be read: where each is, why, and its bytes.

    They are those of the last runs, or of the whole history where no view of the stream has run as it is declared now.
    """
    with opened(app, state, settings, log_json, verbose) as engine:
        if engine.source_named(stream) is None:
            known = ", ".join((*engine.declared.streams, *engine.declared.tables)) or "none"
            raise NameFault(f"the app has no stream or table `{stream}`", hint=f"it has {known}")
        if replay:
            found = engine.replay(stream)
            typer.echo(found, err=True)
            return
        answer = engine.peek(f"{stream}{DEAD}", n)
        if json:
            rows.print_json(answer)
        else:
            rows.print_table(answer)

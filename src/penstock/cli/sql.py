"""The verb `sql`: one statement, a script on stdin, or the interactive shell."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import rows, statements, trouble
from penstock.cli.options import App, Json, LogJson, Set, State, Verbose, opened, option
from penstock.errors import PenstockError, PlanFault

if TYPE_CHECKING:
    from penstock.engine import Engine


def sql(
    app: App,
    command: Annotated[str | None, option("-c", metavar="SQL", help="Run one statement and exit.")] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Query the history of streams, tables and the results of views.

    On a terminal: a shell with completion and history (.help lists its commands). Otherwise statements are read from stdin.
    """
    with opened(app, state, settings, log_json, verbose, needs_spark=True) as engine:
        if command is not None:
            answer(engine, command, json)
        elif sys.stdin.isatty():
            from penstock.cli import shell

            shell.talk(engine, json)
        else:
            for statement in statements.split(sys.stdin.read()):
                answer(engine, statement, json)


def answer(engine: Engine, statement: str, json: bool) -> None:
    """Runs one SELECT and prints its rows."""
    text = statement.strip().rstrip(";").strip()
    word = statements.first_word(text)
    if word in ("CREATE", "DROP"):
        raise PlanFault(
            f"{word} does not belong in the shell: what an app declares stands in its files",
            hint=f"put it into a file of {engine.declared.folder}, then `penstock check` it; here it can be tried as a plain SELECT",
        )
    found = engine.query(text)
    if json:
        rows.print_json(found)
    else:
        rows.print_table(found)


def timed_answer(engine: Engine, statement: str, json: bool) -> None:
    """As `answer`, with a timing line on stderr; a user's mistake is told and does not end the shell."""
    began = time.monotonic()
    try:
        answer(engine, statement, json)
    except PenstockError as error:
        trouble.show(error)
        return
    typer.echo(f"{time.monotonic() - began:.2f} s", err=True)

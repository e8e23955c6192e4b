"""The verb `sql`: one statement, a script on stdin, or the interactive shell."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli import rows, trouble
from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened, option, server_of
from penstock.errors import PenstockError, PlanFault
from penstock.plan.sql import script

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.web.beside import Beside


def sql(
    app: AppPath,
    command: Annotated[str | None, option("-c", metavar="SQL", help="Run one statement and exit.")] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Query the history of streams, tables and the results of views.

    On a terminal: a shell with completion and history (.help lists its commands). Otherwise statements are read from stdin.
    A server that runs on the same state folder is asked, which saves the start of Spark.
    """
    beside = server_of(app, state, settings)
    with opened(app, state, settings, log_json, verbose, needs_spark=beside is None) as engine:
        if command is not None:
            answer(engine, command, json, beside)
        elif sys.stdin.isatty():
            from penstock.cli import shell

            shell.talk(engine, json, beside)
        else:
            for statement in script.split(sys.stdin.read()):
                answer(engine, statement, json, beside)


def answer(engine: Engine, statement: str, json: bool, beside: Beside | None = None) -> None:
    """Runs one SELECT, by a server where there is one, and prints its rows."""
    text = statement.strip().rstrip(";").strip()
    word = script.first_word(text)
    if word in ("CREATE", "DROP"):
        raise PlanFault(
            f"{word} does not belong in the shell: what an app declares stands in its files",
            hint=f"put it into a file of {engine.declared.folder}, then `penstock check` it; here it can be tried as a plain SELECT",
        )
    found = (beside.query(text) if beside is not None else None) or engine.query(text)
    if json:
        rows.print_json(found)
    else:
        rows.print_table(found)


def timed_answer(engine: Engine, statement: str, json: bool, beside: Beside | None = None) -> None:
    """As `answer`, with a timing line on stderr; a user's mistake is reported and does not end the shell."""
    began = time.monotonic()
    try:
        answer(engine, statement, json, beside)
    except PenstockError as error:
        trouble.show(error)
        return
    typer.echo(f"{time.monotonic() - began:.2f} s", err=True)

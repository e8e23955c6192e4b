"""Verbs that read once: `batch` over the whole history, `peek` at the first rows."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.change import Rows
from penstock.cli import rows, trouble
from penstock.cli.options import AppPath, Json, LogJson, Set, State, Verbose, opened, server_of
from penstock.errors import PenstockError
from penstock.schema import quote


def batch(
    app: AppPath,
    view: Annotated[str | None, typer.Argument(metavar="VIEW", help="One view; all of them if none is named.", show_default=False)] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Compute views over the whole history, once.

    With --json and a view: one JSON object per row. With --json and no view: {"view": name, "row": {...}} per row.
    """
    with opened(app, state, settings, log_json, verbose, needs_spark=True) as engine:
        if view is not None:
            _print(engine.batch(view), json)
            return
        failed: PenstockError | None = None
        for number, name in enumerate(engine.declared.views):
            try:
                _print_titled(engine.batch(name), name, json, first=number == 0)
            except PenstockError as error:  # as in a live run, one view's failure leaves the others
                if failed is not None:
                    trouble.show(failed)
                failed = error
        if failed is not None:
            raise failed


def peek(
    app: AppPath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A stream, table or view.", show_default=False)],
    n: Annotated[int, typer.Option("-n", metavar="ROWS", min=1, help="How many rows at most.")] = 20,
    json: Json = False,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Show the first rows of a stream, table or view.

    A view that has run shows its kept result, one that has not is computed over the history.
    """
    with opened(app, state, settings, log_json, verbose) as engine:
        source, beside = engine.source_named(name), server_of(app, state, settings)
        found = beside.query(f"SELECT * FROM {quote(source)} LIMIT {n}") if source is not None and beside is not None else None
        _print(found or engine.peek(name, n), json)


def _print_titled(answer: Rows, view: str, json: bool, *, first: bool) -> None:
    if json:
        rows.print_json(answer, view=view)
        return
    sys.stdout.write("" if first else "\n")
    rows.print_table(answer, title=view)


def _print(answer: Rows, json: bool) -> None:
    if json:
        rows.print_json(answer)
    else:
        rows.print_table(answer)

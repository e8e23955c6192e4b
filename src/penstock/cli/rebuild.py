"""The verb `rebuild`: a view is computed again from history by the next run, say after a table that it joins has changed."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AppPath, LogJson, Set, State, Verbose, opened


def rebuild(
    app: AppPath,
    view: Annotated[str, typer.Argument(help="The view to compute again.")],
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Let the next run compute a view again from history.

    Its rows can be read until the new ones take their place. Views that are kept by the same job are computed again with it; sinks get the
    new rows in place of the old ones, as after a change of the view's SQL.
    """
    with opened(app, state, settings, log_json, verbose, keeps_log=False) as engine:
        names = engine.rebuild(view)
    typer.echo(f"the next run computes {', '.join(names)} again from history", err=True)

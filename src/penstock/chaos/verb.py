"""`penstock chaos`: an app under attack, from the command line."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Set, State, option, overrides
from penstock.errors import OptionFault

App = Annotated[str | None, typer.Argument(metavar="APP", help="The app: a file or folder, or a built-in one (see --list).", show_default=False)]
Faults = Annotated[str | None, option("--faults", metavar="A,B", help="Only these faults.  [default: all that the app can have]")]
Minutes = Annotated[float | None, option("--minutes", metavar="M", help="Go on for about so long.  [default: every fault once]", min=0)]
Keep = Annotated[Path | None, option("--keep", metavar="DIR", help="Keep the drivers' logs, and a built-in app, in this folder.")]


def chaos(
    app: App = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed gives the same faults in the same order.")] = 1,
    minutes: Minutes = None,
    faults: Faults = None,
    list_: Annotated[bool, typer.Option("--list", help="Show the faults and the built-in apps, and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
    keep: Keep = None,
    state: State = None,
    settings: Set = None,
) -> None:
    """Run an app while it is being killed, stopped and corrupted.

    A reader follows its results and sinks: nothing may be lost, doubled, taken back or half there. Ends with `verify`. Use it on an
    app whose sinks may be written to. Exit code 1 when anything was not as promised.
    """
    if list_:
        _list()
        return
    if app is None:
        raise OptionFault("chaos wants an app", hint="a file or folder, or one of the built-in apps that `penstock chaos --list` names")
    from penstock.chaos.storm import orderly_end, storm

    named = [name.strip() for name in (faults or "").split(",") if name.strip()]
    with orderly_end():
        outcome = storm(app, seed, named, minutes, state=state, settings=overrides(settings), say=lambda text: typer.echo(text, err=True), keep=keep)
    typer.echo(json_text.dumps(outcome.as_json()) if json else outcome.line())
    if outcome.failures:
        raise typer.Exit(1)


def _list() -> None:
    from penstock.chaos.apps import ROUTES
    from penstock.chaos.faults import FAULTS

    typer.echo("faults:")
    for fault in FAULTS:
        needs = f" (needs {', '.join(fault.needs)})" if fault.needs else ""
        typer.echo(f"  {fault.name:<28} {fault.words}{needs}")
    typer.echo("built-in apps:")
    for name, words in ROUTES.items():
        typer.echo(f"  {name:<28} {words}")

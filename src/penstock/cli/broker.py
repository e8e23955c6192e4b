"""The verbs of `broker`: a real Kafka for development."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import Json, usable

Folder = Annotated[Path, typer.Option("--state", metavar="DIR", help="State folder that holds the broker's data.")]
_HERE = Path(".penstock")


def group(epilog: str) -> typer.Typer:
    """The verbs start, stop and status."""
    verbs = typer.Typer(help="A real single-node Kafka for development.", no_args_is_help=True, rich_markup_mode=None, epilog=epilog)
    for verb in (start, stop, status):
        verbs.command(epilog=epilog)(verb)
    return verbs


def start(
    state: Folder = _HERE,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on the loopback address; 0 takes a free one.")] = 9092,
) -> None:
    """Start the broker and print its address.

    It answers when the command ends, and goes on until it is stopped.
    """
    from penstock.dev.broker import Broker

    usable(state, writes=True)
    found = Broker(state).start(port, report=lambda message: typer.echo(message, err=True))
    typer.echo(f"the broker is running, process {found.pid}", err=True)
    typer.echo(found.servers)


def stop(state: Folder = _HERE) -> None:
    """Stop the broker; its data stays for the next start."""
    from penstock.dev.broker import Broker

    usable(state, writes=False)
    typer.echo("stopped" if Broker(state).stop() else "the broker was not running", err=True)


def status(state: Folder = _HERE, json: Json = False) -> None:
    """Say whether the broker runs, and where; exit code 1 when it does not."""
    from penstock.dev.broker import Broker

    usable(state, writes=False)
    found = Broker(state).status()
    if json:
        typer.echo(jsonlib.dumps({"running": found.running, "servers": found.servers, "pid": found.pid}))
    else:
        typer.echo(f"running on {found.servers}, process {found.pid}" if found.running else "not running")
    if not found.running:
        raise typer.Exit(1)

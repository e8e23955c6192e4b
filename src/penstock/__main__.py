"""The program `penstock`: the command line with the verbs of every layer."""

from __future__ import annotations

import typer

from penstock.bench.verb import bench
from penstock.chaos.verb import chaos
from penstock.cli import app
from penstock.cli import main as run
from penstock.client.verbs import query, subscribe
from penstock.verify.verb import verify

VERBS = (subscribe, query, verify, chaos, bench)


def program() -> typer.Typer:
    """The command with all its verbs."""
    return app(VERBS)


def main() -> None:
    run(more=VERBS)


if __name__ == "__main__":
    main()

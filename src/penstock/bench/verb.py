"""`penstock bench`: the benchmarks from the command line."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.bench.names import BENCHES

if TYPE_CHECKING:
    from penstock.bench.frame import Outcome

_NAMES = ", ".join(f"{name} ({what})" for name, what in BENCHES.items())


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {_NAMES}.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
    events: Annotated[int | None, typer.Option("--events", min=1000, help="How many events.", show_default="the benchmark's own")] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="How often each system is measured.")] = 3,
) -> None:
    """Measure Penstock beside other systems, in one run on this machine.

    A ratio above 1 means that Penstock is better.
    """
    from penstock.bench.frame import run

    outcome = run(name, events=events, rounds=rounds, report=lambda text: typer.echo(text, err=True))
    typer.echo(json_text.dumps(outcome.as_json()) if json else _in_words(outcome))
    if not outcome.equal:
        typer.echo("error: the systems did not give the same result", err=True)
        raise typer.Exit(1)


def _in_words(outcome: Outcome) -> str:
    lines = [f"{outcome.bench}: {outcome.events:,} events, results {'equal' if outcome.equal else 'DIFFERENT'}"]
    lines += [f"  {system:<10} {rate:>12,.6g} a second" for system, rate in outcome.events_per_s.items()]
    lines += [f"  penstock is {ratio:g} times as good as {system}" for system, ratio in outcome.ratio.items()]
    lines += [f"  {name}: {json_text.dumps(value)}" for name, value in outcome.detail.items()]
    return "\n".join(lines)

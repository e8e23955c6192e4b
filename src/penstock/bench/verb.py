"""`penstock bench`: the benchmarks from the command line."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.bench.names import BENCHES
from penstock.errors import OptionFault

if TYPE_CHECKING:
    from penstock.bench.frame import Outcome

_NAMES = ", ".join(f"{name} ({what})" for name, what in BENCHES.items())


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {_NAMES}.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")] = False,
    events: Annotated[int | None, typer.Option("--events", min=1000, help="How many events.", show_default="the benchmark's own")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="How often each is measured.", show_default="the benchmark's own")] = None,
    epochs: Annotated[str | None, typer.Option("--epochs", help="growth: lengths of history, in epochs.", show_default="10,40,160")] = None,
    rows: Annotated[int | None, typer.Option("--rows", min=100, help="growth: rows of an epoch.", show_default="10000")] = None,
    queries: Annotated[str | None, typer.Option("--queries", help="growth, nexmark: only these, such as q4,q7.", show_default="all")] = None,
) -> None:
    """Measure Penstock beside other systems, in one run on this machine.

    A ratio above 1 means that Penstock is better; for growth, how much slower an epoch has become.
    """
    from penstock.bench.frame import run

    given = {"epochs": _lengths(epochs), "rows": rows, "queries": queries.split(",") if queries else None}
    options = {option: value for option, value in given.items() if value is not None}
    outcome = run(name, events=events, rounds=rounds, report=lambda text: typer.echo(text, err=True), **options)
    typer.echo(json_text.dumps(outcome.as_json()) if json else _in_words(outcome))
    if not outcome.equal:
        typer.echo("error: the systems did not give the same result", err=True)
        raise typer.Exit(1)


def _lengths(text: str | None) -> list[int] | None:
    if text is None:
        return None
    if not all(part.strip().isdigit() for part in text.split(",")):
        raise OptionFault(f"--epochs is a list of whole numbers, not {text!r}", hint="for example --epochs 10,20,40")
    return [int(part) for part in text.split(",")]


def _in_words(outcome: Outcome) -> str:
    lines = [f"{outcome.bench}: {outcome.events:,} events, results {'equal' if outcome.equal else 'DIFFERENT'}"]
    lines += [f"  {system:<10} {rate:>12,.6g} a second" for system, rate in outcome.events_per_s.items()]
    lines += [f"  {outcome.ratio_text.format(name=name, ratio=ratio)}" for name, ratio in outcome.ratio.items()]
    lines += [f"  {name}: {json_text.dumps(value)}" for name, value in outcome.detail.items()]
    return "\n".join(lines)

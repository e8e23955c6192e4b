"""The verb `doctor`: what is missing on this machine, or for one app, and how to get it; one line for each thing that was looked at."""

from __future__ import annotations

import json as jsonlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.doctor.checkup import MISSING, OK, WARN, Check, Finding
from penstock.cli.options import Json, Set, State, overrides
from penstock.errors import PenstockError

_WITHIN_S = 6.0


def doctor(
    app: Annotated[Path | None, typer.Argument(metavar="[APP]", help="An app whose sources, sinks and secrets are looked at too.")] = None,
    json: Json = False,
    state: State = None,
    settings: Set = None,
) -> None:
    """Say what is missing on this machine and how to get it.

    With an APP also whether its brokers, databases, folders and secrets are there. Nothing is written, no rows are read, no Spark starts.
    Exit code 1 when something is missing without which it does not run.
    """
    from penstock.cli.doctor import checkup_app, checkup_machine
    from penstock.settings import load, of_app

    chosen = overrides(settings)
    values, home = of_app(app, chosen, state) if app is not None else (load(overrides=chosen), (state or Path(".penstock")).absolute())
    checks = [*checkup_machine.checks(values, home), *(checkup_app.checks(app, values, home) if app is not None else ())]
    found = list(_findings(checks))
    for finding in found:
        typer.echo(jsonlib.dumps(asdict(finding), ensure_ascii=False) if json else line(finding))
    missing, warned = (sum(finding.status == status for finding in found) for status in (MISSING, WARN))
    typer.echo(f"{len(found)} looked at: {missing} missing, {warned} to mind", err=True)
    if missing:
        raise typer.Exit(1)


def line(finding: Finding) -> str:
    """`missing  Java: not found; install Java 17, ...`"""
    remedy = f"; {finding.remedy}" if finding.remedy and finding.status != OK else ""
    return f"{finding.status:<7}  {finding.what}: {finding.detail}{remedy}"


def _findings(checks: Sequence[Check]) -> Iterator[Finding]:
    """All are asked at the same time, and none is waited for longer than a few seconds: what does not answer holds nobody up."""
    results: list[list[Finding]] = [[] for _ in checks]

    def ask(place: int, check: Check) -> None:
        results[place].append(_asked(check))

    threads = [threading.Thread(target=ask, args=(place, check), daemon=True) for place, check in enumerate(checks)]
    for thread in threads:
        thread.start()
    for place, (thread, check) in enumerate(zip(threads, checks, strict=True)):
        thread.join(_WITHIN_S)
        yield results[place][0] if results[place] else Finding(check.what, check.without, f"no answer within {_WITHIN_S:.0f} s", check.remedy)


def _asked(check: Check) -> Finding:
    try:
        return check.ask(check.what)
    except PenstockError as error:
        return Finding(check.what, check.without, error.message, error.hint or check.remedy)
    except Exception as error:  # what the machine answers is not ours to foresee, and one odd answer hides no other
        return Finding(check.what, WARN, f"could not be looked at: {error or type(error).__name__}", check.remedy)

"""What came out of a storm: what still waits is taken, the results are compared with what was fed, and `verify` has its say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from penstock.chaos.apps import Subject
from penstock.chaos.driver import Driver
from penstock.chaos.feeder import Feeder
from penstock.chaos.follow import canonical
from penstock.chaos.report import Outcome
from penstock.chaos.sinks import Reader
from penstock.errors import PenstockError

_ENDS_S = 90.0
_VERIFY_S = 600.0


def catch_up(subject: Subject, log: Path, drivers: list[Driver], outcome: Outcome) -> None:
    """Take what still waits at the sources: only a run that has drained shows whether anything is missing. Its driver joins the `drivers`."""
    driver = Driver(subject.command("run", "--drain"), os.environ, log)
    drivers.append(driver)
    if driver.wait(_VERIFY_S) != 0:
        outcome.trouble.append(f"the app could not be drained at the end: {driver.words[-300:]}")


def await_results(subject: Subject, feeder: Feeder, reader: Reader, outcome: Outcome) -> None:
    """The views must come to hold what plain Python makes of the fed rows."""
    if subject.wanted is None:
        return
    wanted = {view: Counter(map(_values, rows.elements())) for view, rows in subject.wanted(feeder.fed).items()}
    deadline = time.monotonic() + _ENDS_S
    while (found := _held(reader)) != wanted and time.monotonic() < deadline:
        time.sleep(0.5)
    for view, rows in wanted.items():
        more, less = found.get(view, Counter()) - rows, rows - found.get(view, Counter())
        if less:
            outcome.seen.note("lost", less.total(), f"view `{view}` lacks {less.total()} rows, e.g. {next(iter(less))}")
        if more:
            outcome.seen.note("duplicated", more.total(), f"view `{view}` has {more.total()} rows too many, e.g. {next(iter(more))}")
    if reader.store.dead != feeder.fed.poison:
        outcome.trouble.append(f"{feeder.fed.poison} rows were poisoned, {reader.store.dead} are among the dead letters")


def _held(reader: Reader) -> dict[str, Counter[object]]:
    try:
        return {view: Counter(_of_pairs(row) for row in rows.elements()) for view, rows in reader.store.rows().items()}
    except (OSError, PenstockError):
        return {}


def verify(subject: Subject, outcome: Outcome) -> None:
    """What `penstock verify` says of the app, among the outcome's troubles."""
    command = [sys.executable, "-m", "penstock", *subject.command("verify", "--json")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_VERIFY_S, check=False)
    except subprocess.TimeoutExpired:
        outcome.verified = f"not within {_VERIFY_S / 60:.0f} minutes"
        outcome.trouble.append(f"verify did not end within {_VERIFY_S / 60:.0f} minutes: nobody knows whether the results are right")
        return
    outcome.verified = "equal" if done.returncode == 0 else f"exit code {done.returncode}"
    if done.returncode == 0:
        return
    for line in done.stdout.splitlines():
        found = _object(line)
        if found.get("equal") is False:
            outcome.trouble.append(f"verify: {line[:300]}")
            outcome.seen.lost += _count(found.get("missing"))
            outcome.seen.duplicated += _count(found.get("extra")) + _count(found.get("different"))
    if not any(text.startswith("verify") for text in outcome.trouble):
        outcome.trouble.append(f"verify: {(done.stderr.strip().splitlines() or ['it printed nothing'])[-1]}")


def _values(row: object) -> object:
    assert isinstance(row, tuple)
    return tuple(sorted(map(str, map(canonical, row))))


def _of_pairs(row: object) -> object:
    assert isinstance(row, tuple)
    return tuple(sorted(str(value) for _, value in row))


def _object(line: str) -> dict[str, object]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _count(found: object) -> int:
    return len(found) if isinstance(found, list) else int(str(found or 0))

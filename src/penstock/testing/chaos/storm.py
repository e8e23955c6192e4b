"""A whole storm: an app opened, a seed's plan printed, run and judged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from penstock.errors import OptionFault
from penstock.testing.chaos.apps import ROUTES
from penstock.testing.chaos.faults import FAULTS, Fault, chosen, fitting
from penstock.testing.chaos.feeder import Feeder
from penstock.testing.chaos.logs import Logs
from penstock.testing.chaos.plan import plan
from penstock.testing.chaos.report import Outcome
from penstock.testing.chaos.run import Run
from penstock.testing.chaos.subjects import Opened, built_in, reader, users

ROWS_PER_S = 40.0


def storm(
    app: str,
    seed: int,
    faults: Iterable[str] = (),
    minutes: float | None = None,
    *,
    state: Path | None = None,
    settings: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda text: None,
    keep: Path | None = None,
) -> Outcome:
    """Run `app`, a path or the name of a built-in app, through the seed's faults; `keep` is a folder that stays for a look."""
    asked = chosen(faults) or list(FAULTS)
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-chaos-")))
        opened = _opened(app, stack, folder, asked, bool(list(faults)), state, settings or {})
        return _run(opened, seed, asked, minutes, folder, say)


def _opened(app: str, stack: ExitStack, folder: Path, asked: list[Fault], named: bool, state: Path | None, settings: Mapping[str, str]) -> Opened:
    if Path(app).exists():
        return users(Path(app), state, settings)
    if app not in ROUTES:
        raise OptionFault(f"there is no app {app}", hint=f"give a file or folder, or one of the built-in apps: {', '.join(ROUTES)}")
    needs = {need for fault in asked for need in fault.needs}
    # A cluster is slow to start: only for those who ask for its faults by name.
    return stack.enter_context(built_in(app, folder, cluster=named and "cluster" in needs, disk="own-disk" in needs))


def _run(opened: Opened, seed: int, asked: list[Fault], minutes: float | None, folder: Path, say: Callable[[str], None]) -> Outcome:
    subject = opened.subject
    fit, left = fitting(asked, subject.offered)
    steps = plan(seed, fit, minutes)
    say(f"chaos on {subject.name}, seed {seed}: {len(steps)} faults")
    for name, why in left.items():
        say(f"     {name:<26} left out: {why}")
    for step in steps:
        say(str(step))
    outcome = Outcome(subject.name, seed, left_out=left)
    follower, jobs = reader(subject, outcome.seen)
    feeder = Feeder(opened.target, ROWS_PER_S, seed) if opened.target is not None else None
    logs = Logs(subject.state, folder / "drivers")
    run = Run(subject, opened.parts, follower, folder, feeder, say, jobs)
    try:
        run.go(steps, outcome)
        run.conclude(outcome, logs, steps)
    finally:
        run.close()
    for failure in outcome.failures:
        say(f"FAILED {failure}")
    return outcome

"""A whole storm: an app opened, a seed's plan printed, run and judged."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from penstock.chaos.apps import ROUTES, VIEWS
from penstock.chaos.faults import FAULTS, Fault, chosen, fitting
from penstock.chaos.feeder import Feeder
from penstock.chaos.logs import Logs
from penstock.chaos.plan import plan
from penstock.chaos.report import Outcome
from penstock.chaos.run import Run
from penstock.chaos.subjects import Opened, built_in, reader, users
from penstock.errors import OptionFault

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
    views: Sequence[str] = VIEWS,
) -> Outcome:
    """Run `app`, a path or the name of a built-in app, through the seed's faults; `keep` is a folder that stays for a look.

    `views` are those that a built-in app has.
    """
    asked = chosen(faults) or list(FAULTS)
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-chaos-")))
        opened = _opened(app, stack, folder, asked, views) if app in ROUTES else users(_app(app), state, settings or {})
        return _run(opened, seed, asked, minutes, folder, say)


@contextmanager
def orderly_end() -> Iterator[None]:
    """SIGTERM and SIGHUP as Ctrl-C: what was started is ended first."""
    before = {number: signal.signal(number, lambda *_: sys.exit(130)) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _opened(route: str, stack: ExitStack, folder: Path, asked: list[Fault], views: Sequence[str]) -> Opened:
    disk = any("own-disk" in fault.needs for fault in asked)
    return stack.enter_context(built_in(route, folder, views=views, disk=disk))


def _app(name: str) -> Path:
    if not Path(name).exists():
        raise OptionFault(f"there is no app {name}", hint=f"give a file or folder, or one of the built-in apps: {', '.join(ROUTES)}")
    return Path(name)


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
    watcher, jobs = reader(subject, outcome.seen)
    for words in watcher.left_out:
        say(f"     not compared: {words}")
    feeder = Feeder(opened.target, ROWS_PER_S, seed) if opened.target is not None else None
    logs = Logs(subject.state, folder / "drivers")
    run = Run(subject, opened.parts, watcher, folder, feeder, say, jobs)
    try:
        run.go(steps, outcome)
        run.conclude(outcome, logs)
    finally:
        run.close()
    for failure in outcome.failures:
        say(f"FAILED {failure}")
    return outcome

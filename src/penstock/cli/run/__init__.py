"""The verb `run`, and how a running app is attended: the engine works on a thread, the main thread shows progress and takes signals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from penstock.cli.options import AppPath, LogJson, Set, State, Verbose, opened, option, overrides
from penstock.cli.run.stopping import ENDS_WITHIN_S, Stopping
from penstock.cli.run.watching import watching
from penstock.observe.request import RunRequest
from penstock.settings import of_app

if TYPE_CHECKING:
    from penstock.engine import Engine
    from penstock.observe.progress import Progress

_TICK_S = 0.25


class Watch(AbstractContextManager["Watch"], Protocol):
    """Somebody who is shown the progress a few times a second."""

    def show(self, progress: list[Progress], elapsed_s: float) -> None: ...

    def say(self, message: str) -> None: ...


def run(
    app: AppPath,
    drain: Annotated[bool, typer.Option("--drain", help="Stop once caught up with the sources.")] = False,
    seconds: Annotated[float | None, option("--seconds", metavar="N", help="Stop after so many seconds.", min=0)] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Replace a driver that hangs or cannot be reached; it is fenced and starts no further delivery.")
    ] = False,
    accept_gap: Annotated[
        list[str] | None,
        option("--accept-gap", metavar="VIEW", help="Go on without records that were deleted before this view read them; may be repeated."),
    ] = None,
    watch_files: Annotated[
        bool, typer.Option("--watch", help="Apply edits of the app's files while it runs; a wrong one is shown, and the app goes on as it was.")
    ] = False,
    from_savepoint: Annotated[
        Path | None, option("--from-savepoint", metavar="DIR", help="Start from what `penstock savepoint` took, in a state folder that has no state.")
    ] = None,
    metrics: Annotated[
        str | None, option("--metrics", metavar="HOST:PORT", help="Serve /metrics (Prometheus) and /health there; a port alone is on loopback.")
    ] = None,
    state: State = None,
    settings: Set = None,
    log_json: LogJson = False,
    verbose: Verbose = False,
) -> None:
    """Run all views live, until stopped.

    Ctrl-C and SIGTERM finish the current batch and stop within 10 seconds; a second Ctrl-C stops at once (exit code 130).
    """
    from penstock.cli.run import live

    if from_savepoint is not None:
        _start_from(from_savepoint, app, state, settings)
    with opened(app, state, settings, log_json, verbose, needs_spark=True) as engine:
        watch = live.watch(engine.declared.name, log_json)
        if metrics is not None:
            from penstock.cli.run.metrics import Metrics

            watch = Metrics(metrics, watch, engine.settings.seconds("stalled_after_s"))
        attend(
            engine,
            watch,
            drain,
            lambda _progress, elapsed: seconds is not None and elapsed >= seconds,
            take_over=take_over,
            accept_gaps=accept_gap or (),
            watched=app if watch_files else None,
        )


def _start_from(savepoint: Path, app: Path, state: Path | None, settings: list[str] | None) -> None:
    """Make the state folder of a savepoint, before anything looks into it."""
    from penstock.plan.load import load
    from penstock.savepoint import restore

    home = of_app(app, overrides(settings), state)[1]
    made = restore(savepoint, home, load(app).name)
    typer.echo(f"{home} {'starts from' if made else 'has started already from'} {savepoint}", err=True)


def attend(
    engine: Engine,
    watch: Watch,
    drain: bool,
    over: Callable[[list[Progress], float], bool],
    *,
    take_over: bool = False,
    accept_gaps: Collection[str] = (),
    watched: Path | None = None,
    stay: bool = False,
) -> list[Progress]:
    """Runs the engine until it has drained, `over(progress, elapsed seconds)` holds or somebody stops it; gives the last progress seen.

    `watched` is the app whose files are looked at meanwhile, if any; with `stay` it goes on when no view is left.
    Spark has ended when this returns; kept results can still be read. What the engine raises is raised here.
    """
    latest: list[Progress] = []
    raised: list[BaseException] = []

    def report(progress: list[Progress]) -> None:
        latest[:] = progress

    def work() -> None:
        try:
            engine.run(RunRequest(drain, stopping.event, report, take_over, accept_gaps, stay=stay or (watched is not None and not drain)))
        except BaseException as error:  # it is raised again on the main thread
            raised.append(error)

    began = time.monotonic()
    with watch:
        stopping = Stopping(watch.say)
        worker = threading.Thread(target=work, name="engine", daemon=True)
        with stopping.listening(), nullcontext() if watched is None else watching(engine, watched, watch.say):
            worker.start()
            while worker.is_alive():
                worker.join(_TICK_S)
                elapsed = time.monotonic() - began
                watch.show(list(latest), elapsed)
                if not stopping.event.is_set() and over(list(latest), elapsed):
                    stopping.ask(f"{elapsed:.0f} seconds are over", ENDS_WITHIN_S)
            # Closed here, so that the signals and the time limit hold until Spark is gone.
            engine.close()
            if raised:
                raise raised[0]
    return latest

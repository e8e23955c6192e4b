"""Keeps jobs running: one thread each, restarted with a growing wait when they fail, stopped together.

A mistake of the user's, a sink that does not fit, or another driver's fence ends a job at once: a restart would fail again. The other
jobs go on. Who still holds the state folder was fenced by a driver that it had replaced and that woke late: it takes its place back, once.
Only a few jobs start at the same time, and in a run that ends only a few work: sixty views on two cores would else all wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.catalog import Catalog, Incarnation
from penstock.errors import EngineError, FencedError, GapError, PenstockError, RefusalError, StateError, UserError
from penstock.settings import Settings
from penstock.share.jobs import Job
from penstock.share.progress import Progress
from penstock.spark.backlog import Backlog
from penstock.spark.broken import FilesAreBroken
from penstock.spark.faults import in_users_words
from penstock.spark.job import JobRun, StopRequested
from penstock.spark.measure import measured
from penstock.spark.session import jvm_is_gone

log = logging.getLogger("penstock.spark")
_LONGEST_WAIT_S = 60.0
_POLL_S = 0.25
_JVM_ENDS_WITHIN_S = 0.5
_WARN_EVERY_S = 60.0
_FINAL = (UserError, FencedError, RefusalError, StateError, GapError)


@dataclass
class Guard:
    """One job under supervision; `gate` is held while it starts, or for a whole run that ends."""

    job: Job
    open_run: Callable[[Incarnation], JobRun]
    catalog: Catalog
    settings: Settings
    stop: threading.Event
    gate: AbstractContextManager[object] = field(default_factory=nullcontext)
    backlog: Backlog = field(default_factory=lambda: Backlog({}))
    held: Callable[[], bool] = lambda: True
    """Whether this process still holds the state folder."""
    progress: Progress = field(init=False)
    error: PenstockError | None = None
    _down_since: float | None = None
    _warned_at: float = float("-inf")
    _fenced_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.progress = Progress(self.job.name, tuple(member.name for member in self.job.members), moved_at=time.time())

    def run(self, *, drain: bool) -> None:
        """Run the job until it is drained, stopped, or given up."""
        failures = 0
        self._down_since = time.monotonic()
        while not self.stop.is_set():
            began = time.monotonic()
            error = self._attempts(drain)
            if error is None:
                self._turn("stopped" if self.stop.is_set() else "done", rows_per_s=0.0)
                return
            self._down_since = self._down_since or time.monotonic()
            failures = 1 if time.monotonic() - began > 2 * _LONGEST_WAIT_S else failures + 1
            if self._is_final(error) or jvm_is_gone() or failures > self.settings.number("restarts_max"):
                self._give_up(error)
                return
            wait = min(self.settings.seconds("restart_backoff_s") * 2 ** (failures - 1), _LONGEST_WAIT_S)
            log.warning("job %s failed and is started again in %g s: %s", self.job.name, wait, error)
            self._turn("restarting", str(error).splitlines()[0], restarts=self.progress.restarts + 1)
            self.stop.wait(wait)
        if failures:  # stopped while it waited to be started again
            self._turn("failed", self.progress.detail, rows_per_s=0.0)
        else:
            self._turn("stopped")

    def _turn(self, status: str, detail: str = "", **figures: Any) -> None:
        now = time.time()
        self.progress = replace(self.progress, status=status, detail=detail, moved_at=now, busy_since=None, looked_at=None, behind=None, **figures)

    def _is_final(self, error: PenstockError) -> bool:
        if not isinstance(error, FencedError):
            return isinstance(error, _FINAL)
        last, self._fenced_at = self._fenced_at, time.monotonic()
        again = self._fenced_at - last < 2 * _LONGEST_WAIT_S  # two with a store but no folder in common would take turns for ever
        return again or not self.held()

    def _give_up(self, error: PenstockError) -> None:
        self.error = error
        log.error("job %s is given up: %s", self.job.name, error)
        self._turn("failed", str(error).splitlines()[0], rows_per_s=0.0)

    def _attempts(self, drain: bool) -> PenstockError | None:
        """One run of the job, opened again for files that were found broken: each of them is found once, so that is no failure."""
        while True:
            try:
                return self._attempt(drain)
            except FilesAreBroken as found:
                log.warning("job %s goes on without what cannot be read of %s", self.job.name, found)

    def _attempt(self, drain: bool) -> PenstockError | None:
        """One run of the job; the error that ended it, None when it ended as it should."""
        run: JobRun | None = None
        turn = ExitStack()
        try:
            turn.enter_context(self.gate)
            if self.stop.is_set():
                return None
            if not self.held():  # the catalogue must not hear of this driver's plan: its successor may run another
                raise FencedError("another driver has taken over the state folder")
            run = self.open_run(self.catalog.incarnation(self.job.name, self.job.fingerprint, self.job.old_fingerprint))
            if self.stop.is_set():  # opening took long, or the folder was taken over meanwhile
                return None
            query = run.start(drain=drain)
            if not drain:
                turn.close()
            self._turn("running")
            base, interval_s = self.progress, None if drain else run.interval_s
            while not self.stop.is_set() and not ended(query, _POLL_S):
                self._measure(run, base, interval_s)
            self._measure(run, base, interval_s)
            if self.stop.is_set():
                run.stop(self.settings.seconds("stop_timeout_s"))
                return None
            failed = query.exception()
            if failed is None:
                return None
            raise run.cause_of(failed)
        except StopRequested:
            return None
        except FilesAreBroken:
            raise
        except Exception as error:
            if self.stop.is_set():
                return None
            log.debug("job %s", self.job.name, exc_info=True)
            if isinstance(error, (Py4JError, ConnectionError)) and jvm_is_gone(_JVM_ENDS_WITHIN_S):
                return EngineError("Spark's JVM has ended: it was killed, or had too little memory", hint="run again: it goes on where it was")
            return in_users_words(error, self.job.members[0].view)
        finally:
            turn.close()
            if run is not None:
                self._end(run)

    def _end(self, run: JobRun) -> None:
        try:
            run.stop(0)
        except Exception:  # what matters is told already; an end that fails must not end the supervision too
            log.debug("job %s could not be stopped in order", self.job.name, exc_info=True)

    def _measure(self, run: JobRun, base: Progress, interval_s: float | None) -> None:
        before = self.progress
        found = self.backlog.shown(measured(before, run, base, interval_s), run)
        if found.batches > before.batches and self._down_since is not None:
            found = replace(found, recovery_s=time.monotonic() - self._down_since)
            self._down_since = None
        if found.behind is not None and time.monotonic() - self._warned_at > _WARN_EVERY_S:
            self._warned_at = time.monotonic()
            log.warning("%s", found.behind, extra={"job": self.job.name})
        self.progress = replace(found, detail=str(found.behind or ""), looked_at=time.time())


def ended(query: StreamingQuery, within_s: float) -> bool:
    """Whether the query ends within that time. It is waited for in the JVM: every question to it costs both sides."""
    try:
        return bool(query.awaitTermination(within_s))  # type: ignore[arg-type]
    except StreamingQueryException:  # what ended it is told by `query.exception`
        return True


def supervise(guards: list[Guard], *, drain: bool, stop: threading.Event, report: Callable[[list[Progress]], None], every_s: float = 0.5) -> None:
    """Run all jobs; returns when each is done, stopped or given up. Reports along the way."""
    threads = [threading.Thread(target=guard.run, kwargs={"drain": drain}, name=f"job {guard.job.name}", daemon=True) for guard in guards]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        report([guard.progress for guard in guards])
        for thread in threads:
            thread.join(every_s / len(threads))
    report([guard.progress for guard in guards])

"""Keeps jobs running: one thread each, restarted with a growing wait when they fail, stopped together.

What ended a job is judged by the table of `spark.run.faults.outage`. A mistake of the user's, a sink that does not fit, or another driver's fence
ends it for good: a restart would fail again. An outside system that is unavailable is waited for, as long as `give_up_after` says, and named all the
while. The other jobs go on. Who still holds the state folder was fenced by a driver that it had replaced and that woke late: it takes its
place back, once.
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

from penstock.catalog import Catalog, Generation
from penstock.errors import EngineError, FencedError, OutageError, PenstockError
from penstock.observe.progress import Progress
from penstock.settings import Settings
from penstock.share.jobs import Job
from penstock.spark.run.backlog import Backlog
from penstock.spark.run.faults.broken_files import FilesAreBroken
from penstock.spark.run.faults.outage import End, end_of, explained
from penstock.spark.run.faults.parts import Parts
from penstock.spark.run.faults.patience import Patience
from penstock.spark.run.job import JobRun, StopRequested
from penstock.spark.run.job_tables import TablesHaveChanged
from penstock.spark.run.measure import from_checkpoint, measured
from penstock.spark.run.outcome import Ending
from penstock.spark.session.session import jvm_is_gone

log = logging.getLogger("penstock.spark")
_LONGEST_WAIT_S = 60.0
_POLL_S = 0.25
_JVM_ENDS_WITHIN_S = 0.5
_WARN_EVERY_S = 60.0
_WELL_AFTER_S = 5.0


class ReopenRequested(Exception):
    """The job is to be opened again as it is declared now. Not a failure."""


@dataclass
class Guard:
    """One job under supervision; one of `start_slots` is held while it starts, or for a whole run that ends."""

    job: Job
    open_run: Callable[[Generation], JobRun]
    catalog: Catalog
    settings: Settings
    stop: threading.Event
    start_slots: AbstractContextManager[object] = field(default_factory=nullcontext)
    backlog: Backlog = field(default_factory=lambda: Backlog({}))
    held: Callable[[], bool] = lambda: True
    """Whether this process still holds the state folder."""
    parts: Parts = field(default_factory=Parts)
    """The outside systems, as they are found to be."""
    noted: Callable[[], Ending | None] = lambda: None
    """How the job stood when it was last noted."""
    error: PenstockError | None = None
    opened: JobRun | None = None
    """The run that is at work now."""
    _reopen: threading.Event = field(default_factory=threading.Event)
    query: StreamingQuery | None = None
    """The streaming query, while it runs."""
    _own: Progress = field(init=False)
    _patience: Patience = field(init=False)
    _down_since: float | None = None
    _warned_at: float = float("-inf")
    _fenced_at: float = float("-inf")

    def __post_init__(self) -> None:
        self._own = Progress(self.job.name, tuple(member.name for member in self.job.members), moved_at=time.time())
        self._patience = Patience(self.job.name, self.parts)

    @property
    def progress(self) -> Progress:
        """How the job stands; a part that is away is named here, also while Spark still waits for it in silence."""
        own = self._own
        if own.status not in ("starting", "running"):
            return own
        self._patience.look()
        wait = self._patience.wait
        return own if wait is None else replace(own, status="outage", detail=wait.words, outage_since=wait.since)

    def run(self, *, drain: bool) -> None:
        """Run the job until it is drained, stopped, or given up."""
        failures = 0
        self._patience.limit_s = self.settings.wait_s("drain_gives_up_after" if drain else "give_up_after")
        self._down_since = time.monotonic()
        while not self.stop.is_set():
            began = time.monotonic()
            error = self._attempts(drain)
            if error is None:
                self._set_status("stopped" if self.stop.is_set() else "done", rows_per_s=0.0)
                return
            self._down_since = self._down_since or time.monotonic()
            end = self._end_of(error)
            if isinstance(error, OutageError) and not jvm_is_gone():
                failures = 0
                if not self._waited_out(error):
                    self._give_up(error)
                    return
                continue
            self._patience.wait = None
            failures = 1 if time.monotonic() - began > 2 * _LONGEST_WAIT_S else failures + 1
            if end is End.MISTAKE or jvm_is_gone() or failures > self.settings.number("restarts_max"):
                self._give_up(error)
                return
            wait = min(self.settings.seconds("restart_backoff_s") * 2 ** (failures - 1), _LONGEST_WAIT_S)
            log.warning("job %s failed and is started again in %g s: %s", self.job.name, wait, error)
            self._set_status("restarting", str(error).splitlines()[0], restarts=self._own.restarts + 1)
            self.stop.wait(wait)
        if failures:  # stopped while it waited to be started again
            self._set_status("failed", self._own.detail, rows_per_s=0.0)
        else:
            self._set_status("stopped")

    def _set_status(self, status: str, detail: str = "", **figures: Any) -> None:
        now = time.time()
        wait = self._patience.wait
        since = wait.since if wait is not None and status == "outage" else None
        self._own = replace(
            self._own, status=status, detail=detail, moved_at=now, busy_since=None, looked_at=None, behind=None, outage_since=since, **figures
        )

    def _waited_out(self, error: OutageError) -> bool:
        """Wait for the next try; False: it has lasted too long."""
        wait = self._patience.away(error)
        if wait.over:
            return False
        self._set_status("outage", wait.words, restarts=self._own.restarts + 1, rows_per_s=0.0)
        self._patience.pause(wait, self.settings.seconds("restart_backoff_s"), self.stop)
        return True

    def _end_of(self, error: PenstockError) -> End:
        """What the error makes of the job; a fence by a driver that this one had replaced is taken back once."""
        if not isinstance(error, FencedError):
            return end_of(error)
        last, self._fenced_at = self._fenced_at, time.monotonic()
        again = self._fenced_at - last < 2 * _LONGEST_WAIT_S  # two with a store but no folder in common would take turns for ever
        return End.MISTAKE if again or not self.held() else End.BUG

    def _give_up(self, error: PenstockError) -> None:
        self.error = error
        log.error("job %s is given up: %s", self.job.name, error)
        self._set_status("failed", str(error).splitlines()[0], rows_per_s=0.0)

    def _attempts(self, drain: bool) -> PenstockError | None:
        """One run of the job, opened again for files that were found broken: each of them is found once, so that is no failure."""
        while True:
            try:
                return self._attempt(drain)
            except FilesAreBroken as found:
                log.warning("job %s goes on without what cannot be read of %s", self.job.name, found)
            except TablesHaveChanged:
                log.info("job %s is opened again: a table has changed", self.job.name)
            except ReopenRequested:
                log.info("job %s is opened again", self.job.name)

    def _attempt(self, drain: bool) -> PenstockError | None:
        """One run of the job; the error that ended it, None when it ended as it should."""
        run: JobRun | None = None
        slot = ExitStack()
        try:
            slot.enter_context(self.start_slots)
            if self.stop.is_set():
                return None
            if not self.held():  # the catalogue must not hear of this driver's plan: its successor may run another
                raise FencedError("another driver has taken over the state folder")
            run = self.open_run(self.catalog.open_generation(self.job.name, self.job.fingerprint))
            if self.stop.is_set():  # opening took long, or the folder was taken over meanwhile
                return None
            self.query = query = run.start(drain=drain)
            self.opened = run
            if not drain:
                slot.close()
            self._own = self._known(run)
            self._set_status("running")
            self._watch(run, query, self._own, None if drain else run.interval_s)
            if self.stop.is_set():
                run.stop(self.settings.seconds("stop_timeout_s"))
                return None
            if self._reopen.is_set():
                self._reopen.clear()
                run.stop(self.settings.seconds("stop_timeout_s"))
                raise ReopenRequested
            failed = query.exception()
            if failed is None:
                return None
            raise run.cause_of(failed)
        except StopRequested:
            return None
        except (FilesAreBroken, TablesHaveChanged, ReopenRequested):
            raise
        except Exception as error:
            if self.stop.is_set():
                return None
            log.debug("job %s", self.job.name, exc_info=True)
            if isinstance(error, (Py4JError, ConnectionError)) and jvm_is_gone(_JVM_ENDS_WITHIN_S):
                return EngineError("Spark's JVM has ended: it was killed, or had too little memory", hint="run again: it goes on where it was")
            return explained(error, self.job.members[0].view)
        finally:
            self.query = None
            self.opened = None
            slot.close()
            if run is not None:
                self._end(run)

    def _watch(self, run: JobRun, query: StreamingQuery, base: Progress, interval_s: float | None) -> None:
        """Measure the run until it ends, or is to be stopped or opened again."""
        while not self.stop.is_set() and not self._reopen.is_set() and not ended(query, _POLL_S):
            self._measure(run, base, interval_s)
            wait = self._patience.wait  # Spark itself may wait for much longer; a job that gets on all the same is let
            if wait is not None and wait.over and time.time() - self._own.moved_at >= (wait.limit_s or 0):
                raise wait.error
        self._measure(run, base, interval_s)

    def _known(self, run: JobRun) -> Progress:
        """What is known of the job before its first batch, by its checkpoint and by what the run before noted."""
        own = from_checkpoint(self._own, run.checkpoint, run.occurrences)
        noted = self.noted() if own.epoch >= 0 and not own.batches else None
        return own if noted is None else replace(own, state_rows=noted.state_rows, state_bytes=noted.state_bytes)

    def reopen(self) -> None:
        """Let the run finish its epoch and open it again, from the same checkpoint."""
        self._reopen.set()

    def _end(self, run: JobRun) -> None:
        try:
            run.stop(0)
        except Exception:  # what matters is reported already; an end that fails must not end the supervision too
            log.debug("job %s could not be stopped in order", self.job.name, exc_info=True)

    def _measure(self, run: JobRun, base: Progress, interval_s: float | None) -> None:
        before = self._own
        self._patience.check(works=before.batches > base.batches or time.time() - base.moved_at > _WELL_AFTER_S)
        found = self.backlog.shown(measured(before, run, base, interval_s), run)
        if found.batches > before.batches and self._down_since is not None:
            found = replace(found, recovery_s=time.monotonic() - self._down_since)
            self._down_since = None
        if found.behind is not None and time.monotonic() - self._warned_at > _WARN_EVERY_S:
            self._warned_at = time.monotonic()
            log.warning("%s", found.behind, extra={"job": self.job.name})
        self._own = replace(found, detail=str(found.behind or ""), looked_at=time.time())


def ended(query: StreamingQuery, within_s: float) -> bool:
    """Whether the query ends within that time. It is waited for in the JVM: every question to it costs both sides."""
    try:
        return bool(query.awaitTermination(within_s))  # type: ignore[arg-type]
    except StreamingQueryException:  # what ended it is in `query.exception`
        return True

"""One job at work: the streaming query, and what happens in each of its epochs.

An epoch runs the plan (so that Spark's state commits even when the epoch is a replay), decides what its views hold from now on, writes
all of them in one short transaction of the store, and only then delivers to the sinks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.catalog import Generation, drop_earlier
from penstock.crash_points import crash_point
from penstock.eventtime import interval
from penstock.plan.model.nodes import names_read
from penstock.share.jobs import Job
from penstock.source.files.broken import SKIPPING
from penstock.spark.checkpoint.buckets import buckets_of
from penstock.spark.checkpoint.moved_files import check_not_moved
from penstock.spark.compile.failed_rows import LateRows
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import open_lower
from penstock.spark.run.dead.letters import DeadLetters
from penstock.spark.run.epoch_input import EpochInput
from penstock.spark.run.faults.broken_files import FilesAreBroken, newly_broken
from penstock.spark.run.job_tables import JobTables
from penstock.spark.run.members.group import Group, take_over
from penstock.spark.session.release import release_frames
from penstock.store.protocol import AlreadyCommitted, Store

log = logging.getLogger("penstock.spark")


class StopRequested(Exception):
    """Raised inside an epoch that must not begin: the current one is done and the job is to stop."""


class JobRun:
    """One attempt at running a job; a restart makes a new one."""

    def __init__(self, spark: SparkSession, app: AppContext, job: Job, store: Store, generation: Generation) -> None:
        # A view may have an event time of its own: what is dated ahead, and so a dead letter, is judged by that.
        self._tables = JobTables(app, job, generation)
        app = self._tables.seen(app.seen_by(job.members[0].view))
        app = replace(app, late=LateRows(), buckets=buckets_of(job, generation.checkpoint, app.settings.number("keyed_buckets")))
        self._app, self.job, self._generation = app, job, generation
        self._spark, self._batch_session = spark.newSession(), spark.newSession()
        # Kept rows are few: planning again at each stage costs more than it saves.
        self._batch_session.conf.set("spark.sql.adaptive.enabled", "false")
        self.failure: Exception | None = None
        self._stopping, self._started = threading.Event(), threading.Event()
        self._in_epoch = self._closed = self._done = False
        self._known_broken = app.broken.names()
        self._past_damage = bool(self._known_broken)
        self._spark.conf.set(SKIPPING, str(self._past_damage).lower())
        self.rows_made = 0
        self.query: StreamingQuery | None = None
        position = take_over(job, generation, store, place=str(app.state))
        self._tables.repeat(position.epoch)
        lower = open_lower(self._spark, app, job.members[0])
        self.occurrences = lower.occurrences
        """The streams as the plan reads them, one that is read twice twice."""
        check_not_moved(app, lower.occurrences, generation.checkpoint)
        self._input = EpochInput(app, store, generation.checkpoint, lower.occurrences)
        self._dead = DeadLetters(self._batch_session, app, store, generation.checkpoint, lower.occurrences)
        self._group = Group(self._batch_session, app, job, store, generation, position, lower, self._input, self._tables)

    @property
    def checkpoint(self) -> Path:
        return self._generation.checkpoint

    @property
    def dead_found(self) -> int:
        return self._dead.found

    def take_late(self) -> int:
        """Rows that came late to a keyed operator since this was last asked: Spark counts those of its own operators."""
        return self._app.late.take(self._spark)

    @property
    def dead_by_stream(self) -> Mapping[str, int]:
        return self._dead.by_stream

    @property
    def rows_by_stream(self) -> Mapping[str, int]:
        """Records of each stream, good and bad."""
        return self._dead.rows_by_stream

    @property
    def interval_s(self) -> float | None:
        """How often a batch is to begin; None: as soon as the last one has ended, or once."""
        return interval(self._trigger) / 1e6 if self._trigger and self._trigger != "once" else None

    @property
    def _trigger(self) -> str:
        return str(self.job.members[0].view.options.get("trigger") or self._app.settings.text("trigger"))

    def start(self, *, drain: bool) -> StreamingQuery:
        """Deliver what a crash left undelivered, then start the streaming query."""
        self._group.deliver()
        writer = self._group.strategy.frame().writeStream.foreachBatch(self._epoch).outputMode(self.job.cut.mode)
        writer = writer.option("checkpointLocation", f"file://{self._generation.checkpoint}")  # as it is: Spark takes %20 for a name
        if drain or self._trigger == "once":
            writer = writer.trigger(availableNow=True)
        elif self._trigger:
            writer = writer.trigger(processingTime=self._trigger)
        self.query = writer.start()
        self._started.set()
        return self.query

    def _epoch(self, frame: DataFrame, number: int) -> None:
        if self._stopping.is_set():
            raise StopRequested
        if self._done:
            crash_point("epoch.after-both")
        self._in_epoch = True
        try:
            self._tables.check(number)
            table = self._group.strategy.take(frame)
            self._input.keep(number)
            self._started.wait()
            self.rows_made += self._dead.collect(self._observed_plan(), number, past_damage=self._past_damage)
            self._dead.keep_failed(self._spark, self.job.name, number)
            self._commit(table, number)
            for session in (self._batch_session, frame.sparkSession):
                self._dead.keep_failed(session, self.job.name, None)
            self._done = True
            if self._past_damage:  # the epoch that failed is done: from the next one on a file that fails is an error again
                self._past_damage = False
                frame.sparkSession.conf.set(SKIPPING, "false")
        except Exception as error:
            self.failure = error
            raise
        finally:
            release_frames()
            self._in_epoch = False

    def _commit(self, table: pa.Table, number: int) -> None:
        fresh = None
        try:
            fresh = self._group.commit(table, number)
            if number == 1:  # and not before: a driver that was replaced must not come so far
                drop_earlier(self._generation)
        except AlreadyCommitted:
            log.info("epoch %d of %s is a replay of what is already stored", number, self.job.name)
        self._group.deliver(fresh)

    def change(self, app: AppContext, job: Job) -> int:
        """Take over the views and sinks that the job has now, between two epochs; the epoch as of which they are there."""
        app = app.seen_by(job.members[0].view)
        epoch = self._group.change(app, job)
        self._app, self.job = app, job
        self._group.deliver()
        return epoch

    def _observed_plan(self) -> object:
        assert self.query is not None
        return self.query._jsq.streamingQuery().lastExecution()

    def cause_of(self, end: Exception) -> Exception:
        """What ended the query: FilesAreBroken where it was for files that are known to be broken from now on."""
        error = self.failure or end
        tables = [name for member in self.job.members for name in names_read(member.view.query)]
        found = newly_broken(
            error,
            self._batch_session,
            self._app,
            self._known_broken,
            lambda: self._input.read_last(tables, from_start=self._group.strategy.reads_history),
        )
        return FilesAreBroken("; ".join(found)) if found else error

    def stop(self, timeout_s: float) -> None:
        """Let the current epoch finish, then stop; past the timeout, stop at once."""
        self._stopping.set()
        deadline = time.monotonic() + timeout_s
        query = self.query
        while query is not None and query.isActive and time.monotonic() < deadline:
            if not self._in_epoch and not query.status["isTriggerActive"]:
                break
            time.sleep(0.05)
        if query is not None and query.isActive:
            query.stop()
        if not self._closed:
            self._closed = True
            self._group.close()

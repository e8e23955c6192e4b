"""One job at work: the streaming query, and what happens in each of its epochs.

An epoch runs the plan (so that Spark's state commits even when the epoch is a replay), writes all of its views in one
transaction of the store, and only then delivers to the sinks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.catalog import Incarnation, drop_earlier
from penstock.change import Additions, Change, Epoch
from penstock.eventtime import interval
from penstock.plan.cut import Strategy
from penstock.plan.divide import KEPT
from penstock.plan.nodes import Order, names_read
from penstock.points import reach
from penstock.share.jobs import Job, Member
from penstock.sink.store import AlreadyCommitted, EpochWriter, HeldByAnother, Position, Store
from penstock.source import Span
from penstock.source.broken import SKIPPING
from penstock.spark import rows
from penstock.spark.agreement import check_ledger, of_another_life
from penstock.spark.broken import FilesAreBroken, newly_broken
from penstock.spark.checkpoint import last_epoch, log_of, read_epoch, source_order, span_of
from penstock.spark.deadletters import DeadLetters
from penstock.spark.epochlog import EpochLog
from penstock.spark.frames import App
from penstock.spark.lower import collected, encoded, open_lower
from penstock.spark.moved import check_not_moved
from penstock.spark.outbox import Outbox
from penstock.spark.places import clock_at
from penstock.spark.upper import Upper, evaluate, open_upper, recompute, recompute_columns

log = logging.getLogger("penstock.spark")


class StopRequested(Exception):
    """Raised inside an epoch that must not begin: the current one is done and the job is to stop."""


class JobRun:
    """One attempt at running a job; a restart makes a new one."""

    def __init__(self, spark: SparkSession, app: App, job: Job, store: Store, incarnation: Incarnation) -> None:
        # A view may have an event time of its own: what is dated ahead, and so a dead letter, is judged by that.
        app = app.seen_by(job.members[0].view)
        self._spark, self._app, self.job, self._store, self._life = spark.newSession(), app, job, store, incarnation
        self._desk = spark.newSession()
        self._desk.conf.set("spark.sql.adaptive.enabled", "false")  # kept rows are few: planning again at each stage costs more than it saves
        self._log = EpochLog(incarnation.checkpoint)
        self.failure: Exception | None = None
        self._stopping = threading.Event()
        self._started = threading.Event()
        self._in_epoch = self._closed = self._done = False
        self._known_broken = app.broken.names()
        self._past_damage = bool(self._known_broken)
        self._spark.conf.set(SKIPPING, str(self._past_damage).lower())
        self.rows_made = 0
        self.query: StreamingQuery | None = None
        check_ledger(job.name, incarnation.checkpoint, store.committed(job.name, incarnation.name))
        self._position = self._taken_over()
        self._lower = open_lower(self._spark, app, job.members[0])
        check_not_moved(app, self._lower.occurrences, incarnation.checkpoint)
        self._timed = [name for name in dict.fromkeys(self._lower.occurrences) if app.declared.streams[name].event_time]
        self._uppers: dict[str, Upper] = {}
        schemas = self._open_views()
        self._outbox = Outbox(app, job, incarnation, store, schemas, self._position)
        self._dead = DeadLetters(self._desk, app, store, incarnation.checkpoint, self._lower.occurrences)

    def _taken_over(self) -> Position:
        name, life = self.job.name, self._life
        try:
            return self._store.take_over(name, life.name, folder=life.folder, place=str(self._app.state))
        except HeldByAnother as other:
            raise of_another_life(name, life, other.held) from None

    @property
    def dead_found(self) -> int:
        return self._dead.found

    @property
    def dead_by_stream(self) -> Mapping[str, int]:
        return self._dead.by_stream

    @property
    def rows_by_stream(self) -> Mapping[str, int]:
        """Rows that came to each stream's gate, good and bad."""
        return self._dead.rows_by_stream

    @property
    def occurrences(self) -> tuple[str, ...]:
        """The streams as the plan reads them, one that is read twice twice."""
        return self._lower.occurrences

    @property
    def interval_s(self) -> float | None:
        """How often a batch is to begin; None: as soon as the last one has ended, or once."""
        trigger = str(self.job.members[0].view.options.get("trigger") or self._app.settings.text("trigger"))
        return interval(trigger) / 1e6 if trigger and trigger != "once" else None

    def _open_views(self) -> dict[str, str]:
        """Analyse the uppers, remember every view's columns; the columns of each view by name."""
        schemas: dict[str, str] = {}
        for member in self.job.members:
            columns = self._columns_of(member, schemas)
            schemas[member.name] = columns
            if member.stored:
                self._store.put_schema(member.name, columns, member.key)
        return schemas

    def _columns_of(self, member: Member, schemas: dict[str, str]) -> str:
        if member.cut.strategy is Strategy.RECOMPUTE:
            return rows.ddl(recompute_columns(self._desk, self._app, member))
        if member.cut.upper is None:
            return rows.ddl(self._lower.columns, self._lower.visible)
        base = member.cut.base
        name, ddl = (KEPT, rows.ddl(self._lower.columns)) if base is None else (base, schemas[base])
        upper = open_upper(self._desk, self._app, member, name, ddl)
        self._uppers[member.name] = upper
        return rows.ddl(upper.columns, rows.visible(upper.columns.names))

    def start(self, *, drain: bool) -> StreamingQuery:
        """Deliver what a crash left undelivered, then start the streaming query."""
        self._outbox.deliver()
        writer = encoded(self._lower, self._part_columns()).writeStream.foreachBatch(self._epoch).outputMode(self.job.cut.mode)
        writer = writer.option("checkpointLocation", f"file://{self._life.checkpoint}")  # as it is: Spark takes %20 for a name
        trigger = str(self.job.members[0].view.options.get("trigger") or self._app.settings.text("trigger"))
        if drain or trigger == "once":
            writer = writer.trigger(availableNow=True)
        elif trigger:
            writer = writer.trigger(processingTime=trigger)
        self.query = writer.start()
        self._started.set()
        return self.query

    def _part_columns(self) -> tuple[str, ...]:
        """The kept columns by which the upper plan is evaluated piecemeal."""
        upper = self._uppers.get(self.job.members[0].name)
        return tuple(upper.local.values()) if upper is not None else ()

    def _epoch(self, frame: DataFrame, number: int) -> None:
        if self._stopping.is_set():
            raise StopRequested
        if self._done:
            reach("epoch.after-both")
        self._in_epoch = True
        try:
            table = frame.groupBy().count().toArrow() if self._recomputes else collected(frame)
            if self._timed:
                self._log.keep(number)
            self._started.wait()
            self.rows_made += self._dead.collect(self._observed_plan(), number, past_damage=self._past_damage)
            fresh = None
            try:
                fresh = self._commit(table, number)
                if number == 1:  # and not before: a driver that was replaced must not come so far
                    drop_earlier(self._life)
            except AlreadyCommitted:
                log.info("epoch %d of %s is a replay of what is already stored", number, self.job.name)
            self._outbox.deliver(fresh)
            self._done = True
            if self._past_damage:  # the epoch that failed is done: from the next one on a file that fails is an error again
                self._past_damage = False
                frame.sparkSession.conf.set(SKIPPING, "false")
        except Exception as error:
            self.failure = error
            raise
        finally:
            self._in_epoch = False

    def cause_of(self, end: Exception) -> Exception:
        """What ended the query: FilesAreBroken where it was for files that are known to be broken from now on."""
        error = self.failure or end
        found = newly_broken(error, self._desk, self._app, self._known_broken, self._read_last)
        return FilesAreBroken("; ".join(found)) if found else error

    def _observed_plan(self) -> object:
        assert self.query is not None
        return self.query._jsq.streamingQuery().lastExecution()

    @property
    def _recomputes(self) -> bool:
        return self.job.cut.strategy is Strategy.RECOMPUTE

    def _commit(self, table: pa.Table, number: int) -> Epoch | None:
        """Write the epoch to the store; what was logged of the owner, where the rows themselves are that."""
        first = self._position.epoch < 0 and number == 0
        owner = self.job.members[0]
        if not owner.stored:
            self._outbox.pass_on(Epoch(owner.name, self._life.name, number, _added(owner, table)))
        changed = first or (table["count"][0].as_py() if self._recomputes else table.num_rows) > 0
        whole = self._recomputed(number) if changed and self._recomputes else None
        with self._store.open_epoch(self.job.name, self._life.name, self._position.fence, number) as writer:
            if first:
                self._forget(writer)
            if owner.stored:
                self._write(writer, whole if whole is not None else table, changed)
        appended = owner.stored and not self._recomputes and owner.cut.upper is None and owner.cut.keys is None
        if not appended or not self._outbox.delivers(owner.name):
            return None
        return Epoch(owner.name, self._life.name, number, Additions(table["__row"].to_pylist()))

    def _forget(self, writer: EpochWriter) -> None:
        """A new incarnation begins: its rows replace those of the last one in this very epoch."""
        for member in self.job.members:
            writer.reset(member.name)
            writer.reset(kept_name(member))

    def _recomputed(self, number: int) -> pa.Table:
        """The owner's whole result as of this epoch; made before the transaction, for it may take long."""
        return recompute(self._desk, self._app, self.job.members[0], self._spans(number), self._clocks(number))

    def _write(self, writer: EpochWriter, table: pa.Table, changed: bool) -> None:
        owner = self.job.members[0]
        if self._recomputes:
            if changed:
                plan = owner.cut.lower
                ordered = isinstance(plan, Order) and bool(plan.keys)
                writer.replace(owner.name, list(zip(table["key"].to_pylist(), table["row"].to_pylist(), strict=True)), ordered=ordered)
        elif owner.cut.upper is None:
            self._put(writer, owner, owner.name, table, logged=True)
        else:
            self._put(writer, owner, kept_name(owner), table, logged=False)
            if changed:
                parts = list(dict.fromkeys(table["__part"].to_pylist())) if self._part_columns() else None
                self._evaluate(writer, owner, kept_name(owner), parts)
        for member in self.job.members[1:]:
            if changed:
                assert member.cut.base is not None
                self._evaluate(writer, member, member.cut.base)

    def _evaluate(self, writer: EpochWriter, member: Member, source: str, parts: list[str] | None = None) -> None:
        """Evaluate a member's upper plan over the rows of `source`, or only over the `parts` that this epoch touched."""
        upper = self._uppers[member.name]
        found = evaluate(self._desk, upper, writer.rows(source, parts))
        new = list(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True))
        writer.replace(member.name, new, part=found["part"].to_pylist(), parts=parts, ordered=upper.ordered and parts is None)

    def _put(self, writer: EpochWriter, member: Member, name: str, table: pa.Table, *, logged: bool) -> None:
        """The streaming query's rows of this epoch, as they come: added, or put and removed by key."""
        lines: Sequence[str] = table["__row"].to_pylist()
        if member.cut.keys is None:
            writer.append(name, lines, parts=table["__part"].to_pylist() if self._part_columns() else None, log=logged)
            return
        keys, keeps = table["__key"].to_pylist(), table["__keep"].to_pylist()
        pairs = [(key, row) for key, row, keep in zip(keys, lines, keeps, strict=True) if keep]
        parts = [part for part, keep in zip(table["__part"].to_pylist(), keeps, strict=True) if keep]
        gone = [key for key, keep in zip(keys, keeps, strict=True) if not keep]
        keyed = member.key is not None or not logged
        (writer.upsert if keyed else writer.upsert_bag)(name, pairs, gone, parts=parts, log=logged)

    def _spans(self, number: int) -> dict[str, Span]:
        return self._spans_from(number, from_start=True)

    def _spans_from(self, number: int, *, from_start: bool) -> dict[str, Span]:
        logged = read_epoch(self._life.checkpoint, number)
        names = source_order(list(self._lower.occurrences), len(logged.ends))
        return {name: span_of(self._life.checkpoint, number, names, index, from_start=from_start) for index, name in enumerate(names)}

    def _read_last(self) -> dict[str, Span]:
        """What the last epoch reads: of tables, and where it is computed from history, all that there is."""
        tables = {name: Span() for member in self.job.members for name in names_read(member.view.query) if name in self._app.declared.tables}
        number = last_epoch(self._life.checkpoint / "offsets")
        return tables | (self._spans_from(number, from_start=self._recomputes) if number >= 0 else {})

    def _clocks(self, number: int) -> dict[str, str]:
        """A record is judged by the clock of its own epoch; where a stream has no dead letter none was dated ahead, and any later clock will do."""
        logged = read_epoch(self._life.checkpoint, number)
        found = dict.fromkeys(self._timed, f"timestamp_millis({logged.time_ms})")
        names = source_order(list(self._lower.occurrences), len(logged.ends))
        for index, name in enumerate(names):
            if name in found and self._store.dead_count(name):
                source = log_of(self._life.checkpoint, names, index)
                found[name] = clock_at(self._app.declared.streams[name].options, source, index, self._log.upto(number))
        return found

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
            self._outbox.close()


def _added(member: Member, table: pa.Table) -> Sequence[Change]:
    """The rows of an epoch of a view that only adds, with their keys if they have any."""
    lines: Sequence[str] = table["__row"].to_pylist()
    if member.cut.keys is None:
        return Additions(lines)
    return [Change("+", key, line) for key, line in zip(table["__key"].to_pylist(), lines, strict=True)]


def kept_name(member: Member) -> str:
    """The name under which a view's kept rows stand in the store."""
    return f"{KEPT}:{member.name}"

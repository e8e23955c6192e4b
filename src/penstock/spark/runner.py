"""The engine's verbs done by Spark: one session, one store, one state folder, held by one process at a time."""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Set
from contextlib import contextmanager
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from penstock.catalog import Catalog, Incarnation
from penstock.change import Rows
from penstock.errors import SourceError
from penstock.plan.declare import View
from penstock.plan.nodes import Node, names_read
from penstock.schema import Column, Schema, quote
from penstock.share.jobs import Job, jobs
from penstock.share.progress import Progress
from penstock.share.status import ViewStatus
from penstock.sink.ddl import columns
from penstock.sink.store import DeadRow, Store
from penstock.source import Recorded, Span
from penstock.spark import rows
from penstock.spark.backlog import Backlog
from penstock.spark.broken import newly_broken
from penstock.spark.checkpoint import last_epoch
from penstock.spark.ending import CHANGED, has_changed, last_status, note_status, raise_failed, view_status
from penstock.spark.faults import in_users_words
from penstock.spark.frames import App, plan_frame, register_history
from penstock.spark.gap import pass_gaps
from penstock.spark.hold import Hold, is_held
from penstock.spark.job import JobRun
from penstock.spark.leftout import LeftOut
from penstock.spark.session import open_session, stop_session
from penstock.spark.supervisor import Guard, supervise

log = logging.getLogger("penstock.source")
_CATCH_UP_S = 10.0
_DEAD_COLUMNS = Schema(tuple(Column(name, "string") for name in ("position", "reason", "raw", "base64", "seen_at")))


class SparkRunner:
    """Opens Spark when it is first needed and the results store when it is first asked."""

    def __init__(self, app: App, open_store: Callable[[], Store], *, session: SparkSession | None = None) -> None:
        self._app = app
        self._open_store = open_store
        self._given = session
        self._session: SparkSession | None = session
        self._store: Store | None = None
        self._left_out = LeftOut(app)

    def _spark(self) -> SparkSession:
        if self._session is None:
            kafka = any(str(item.options.get("connector")) == "kafka" for item in self._app.declared.streams.values())
            self._session = open_session(self._app.settings, self._app.state, app_name=f"penstock {self._app.declared.name}", needs_kafka=kafka)
        return self._session

    def _results(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def evaluate(self, plan: Node, view: View | None) -> Rows:
        desk = self._spark().newSession()
        self._left_out.look(desk, names_read(plan))
        try:
            known, frame = self._app.broken.names(), self._frame(desk, plan, view)
            rows.check_names(frame.schema, view.name if view else "query")
            return Rows(rows.schema_of(frame.schema), self._lines(desk, frame, plan, view, known))
        except Exception as error:
            raise in_users_words(error, view) from error

    def _frame(self, desk: SparkSession, plan: Node, view: View | None) -> DataFrame:
        register_history(desk, self._app if view is None else self._app.seen_by(view), plan, {})
        self._register_kept(desk, plan)
        return plan_frame(desk, plan)

    def _lines(self, desk: SparkSession, frame: DataFrame, plan: Node, view: View | None, known: Set[str]) -> Iterator[str]:
        """Rows as they are asked for, one partition of results at a time, so that a large answer needs little memory.

        Files that turn out to be broken are said, and the rows begun anew without what cannot be read of them: unless some were given already.
        """
        lines = frame.selectExpr(f"{rows.as_json(frame.schema, frame.columns)} AS r")
        given = False
        try:
            for row in lines.toLocalIterator(prefetchPartitions=True):
                given = True
                yield row.r
            return
        except Exception as error:
            found = [] if given else newly_broken(error, desk, self._app, known, lambda: dict.fromkeys(names_read(plan), Span()))
            if not found:
                raise in_users_words(error, view) from error
        for file in found:
            log.warning("rows are left out: %s", file)
        known = self._app.broken.names()
        yield from self._lines(desk, self._frame(desk, plan, view), plan, view, known)

    def _register_kept(self, desk: SparkSession, plan: Node) -> None:
        for name in names_read(plan):
            if name in self._app.declared.views:
                found = self._results().schema(name)
                assert found is not None
                rows.from_json(desk, list(self._results().rows(name)), found[0]).createOrReplaceTempView(quote(name))

    def kept(self, view: str) -> Rows | None:
        if not self._has_results():
            return None
        found = self._results().schema(view)
        return None if found is None else Rows(columns(found[0]), self._results().rows(view))

    def trouble(self, view: str) -> str | None:
        if not self._has_results():
            return None
        job = next(job for job in jobs(self._app.declared) if any(member.name == view for member in job.members))
        if has_changed(Catalog(self._app.state), job):
            return f"{CHANGED}; these rows are of what it was before"
        found = last_status(self._results(), job.name)
        return f"failed in its last run, so its rows may not be all: {found.detail}" if found is not None and found.status == "failed" else None

    def status(self) -> list[ViewStatus]:
        if not self._has_results():
            return [ViewStatus(member.name, job.name, "not run") for job in jobs(self._app.declared) for member in job.members]
        store, catalog = self._results(), Catalog(self._app.state)
        alive = is_held(self._app.state)
        return [view_status(store, catalog, job, member, alive=alive) for job in jobs(self._app.declared) for member in job.members]

    def _has_results(self) -> bool:
        return self._store is not None or bool(self._app.settings.text("store")) or (self._app.state / "results.db").exists()

    def dead(self, stream: str) -> Rows:
        if not self._has_results():
            return Rows(_DEAD_COLUMNS, iter(()))
        return Rows(_DEAD_COLUMNS, map(_letter, self._results().dead(stream)))

    def run(
        self,
        *,
        drain: bool,
        stop: threading.Event,
        report: Callable[[list[Progress]], None],
        take_over: bool = False,
        accept_gaps: Collection[str] = (),
    ) -> None:
        with Hold(self._app.state, take_over=take_over) as hold:

            def reported(progress: list[Progress]) -> None:
                if hold.lost:
                    stop.set()
                report(progress)

            catalog = Catalog(self._app.state)
            if self._app.declared.file is not None:
                catalog.claim(self._app.declared.folder, self._app.declared.file)
            spark, store = self._spark(), self._results()
            self._left_out.look(spark, [name for view in self._app.declared.views.values() for name in names_read(view.query)])
            accepted = set(accept_gaps)
            gate = threading.Semaphore(2 * max(2, spark.sparkContext.defaultParallelism))
            guards = [
                Guard(
                    job,
                    partial(self._open_run, spark, store, job, accepted, hold),
                    catalog,
                    self._app.settings,
                    stop,
                    gate,
                    self._backlog(job),
                    lambda: not hold.lost,
                )
                for job in jobs(self._app.declared)
            ]
            reported([guard.progress for guard in guards])
            note_status(store, [guard.progress for guard in guards])
            with self._sources(drain) as unreached:
                supervise(guards, drain=drain, stop=stop, report=reported)
            if hold.lost:
                raise hold.fenced()
            note_status(store, [guard.progress for guard in guards])
        raise_failed(guards)
        if unreached:
            raise unreached[0]

    def _backlog(self, job: Job) -> Backlog:
        streams = (self._app.declared.streams[name] for name in job.streams)
        return Backlog({stream.name: self._app.spec(stream) for stream in streams if stream.options.get("connector") == "kafka"})

    def _open_run(self, spark: SparkSession, store: Store, job: Job, accepted: set[str], hold: Hold, life: Incarnation) -> JobRun:
        """`accepted` names the views whose gaps may be passed; the user's word is for the gap of this start, not for later ones.

        A life that has not planned an epoch would find the same gap again.
        """
        if hold.lost:  # else a driver that hung while it started would raise the fence over its own successor
            raise hold.fenced()
        run = JobRun(spark, self._app, job, store, life)
        try:
            names = {member.name for member in job.members}
            pass_gaps(self._app, job, run.occurrences, life, store, accepted=bool(names & accepted))
            accepted -= names if last_epoch(life.checkpoint / "offsets") >= 0 else set()
        except BaseException:
            run.stop(0)
            raise
        return run

    @contextmanager
    def _sources(self, drain: bool) -> Iterator[list[SourceError]]:
        """Sources that run beside Spark: given time to catch up before a drain, ended with the run. What never answered is for the end to tell."""
        sources = [self._app.source(stream) for stream in self._app.declared.streams.values()]
        unreached: list[SourceError] = []
        try:
            for source in sources:
                if drain and isinstance(source, Recorded):
                    try:
                        source.caught_up(_CATCH_UP_S)
                    except SourceError as error:
                        unreached.append(error)
            yield unreached
        finally:
            for source in sources:
                source.close()

    def close(self) -> None:
        self._left_out.close()
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._session is not None and self._given is None:
            stop_session()
            self._session = None


def _letter(row: DeadRow) -> str:
    """A dead letter as JSON; bytes that are no text stand in it a second time, as they are."""
    text = row.raw.decode("utf-8", "replace")
    whole = None if text.encode() == row.raw else base64.b64encode(row.raw).decode()
    found = {"position": json.loads(row.position), "reason": row.reason, "raw": text, "base64": whole, "seen_at": row.seen_at}
    return json.dumps(found, ensure_ascii=False)

"""The engine's verbs done by Spark: one session, one store, one state folder, held by one process at a time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from penstock.catalog import Catalog, Generation
from penstock.change import DEAD, DEAD_COLUMNS, Rows
from penstock.errors import OutageError, PenstockError, SourceError, StateError
from penstock.observe.progress import Progress
from penstock.observe.request import RunRequest
from penstock.observe.status import ViewStatus
from penstock.plan.model.declare import Declared, View
from penstock.plan.model.nodes import Node, names_read
from penstock.schema import columns, quote
from penstock.share.difference import changed_views
from penstock.share.jobs import Job, jobs
from penstock.source import Recorded, Span
from penstock.spark.checkpoint.gap import pass_gaps
from penstock.spark.checkpoint.offset_log import last_epoch
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_history, unfit
from penstock.spark.compile.operators import plan_frame
from penstock.spark.run.backlog import Backlog
from penstock.spark.run.dead.letters import letter
from penstock.spark.run.dead.replay import NOTHING, replayed
from penstock.spark.run.dead.set_aside import COUNTS_SURVIVE, SetAsideLook, first_letters
from penstock.spark.run.dead.table_letters import LeftOut
from penstock.spark.run.faults.broken_files import newly_broken
from penstock.spark.run.faults.outage import explained
from penstock.spark.run.faults.parts import Parts, is_full, parts_of
from penstock.spark.run.forget import forget_former_jobs
from penstock.spark.run.job import JobRun
from penstock.spark.run.lock import StateLock, is_held
from penstock.spark.run.members.beside import finish_swaps, replaces
from penstock.spark.run.members.catching_up import wait_until_caught_up
from penstock.spark.run.members.changing import JobsChange, analyse
from penstock.spark.run.members.fleet import Fleet
from penstock.spark.run.outcome import CHANGED, Ending, StatusNotes, has_changed, last_status, note_status, raise_failed, view_status
from penstock.spark.run.supervisor import Guard
from penstock.spark.session.session import open_session, stop_session
from penstock.spark.session.warm import cancel_question, in_job_group, warm_session
from penstock.store.protocol import DeadRow, Store

log = logging.getLogger("penstock.source")
_CATCH_UP_S = 10.0


class SparkRunner:
    """Opens Spark when it is first needed and the results store when it is first asked."""

    def __init__(self, app: AppContext, open_store: Callable[[], Store], *, session: SparkSession | None = None, warm: bool = False) -> None:
        """`warm`: the session is that of the process, and stays when this closes."""
        self._app = app
        self._open_store = open_store
        self._given = session
        self._session: SparkSession | None = session
        self._store: Store | None = None
        self._opening = threading.Lock()
        self._left_out = LeftOut(app)
        self._warm = warm
        self._busy = False
        self._fleet: Fleet | None = None
        self._changing = threading.RLock()

    def _spark(self) -> SparkSession:
        if self._session is None or self._warm:
            kafka = any(str(item.options.get("connector")) == "kafka" for item in self._app.declared.streams.values())
            opened = warm_session if self._warm else open_session
            self._session = opened(self._app.settings, self._app.state, app_name=f"penstock {self._app.declared.name}", needs_kafka=kafka)
        return self._session

    def results(self) -> Store:
        with self._opening:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def evaluate(self, plan: Node, view: View | None) -> Rows:
        batch_session = self._spark().newSession()
        in_job_group(batch_session)
        batch_session.conf.set(*COUNTS_SURVIVE)
        try:
            known, frame = self._app.broken.names(), self._frame(batch_session, plan, view)
            rows.check_names(frame.schema, view.name if view else "query")
            looks: list[SetAsideLook] = []
            return Rows(
                rows.schema_of(frame.schema), self._lines(batch_session, frame, plan, view, known, looks), lambda: looks[-1].found() if looks else ()
            )
        except Exception as error:
            raise explained(error, view) from error

    def _frame(self, batch_session: SparkSession, plan: Node, view: View | None) -> DataFrame:
        app = self._app if view is None else self._app.seen_by(view)
        register_history(batch_session, app, plan, {}, counted=True)
        self._register_kept(batch_session, plan)
        return plan_frame(batch_session, app, plan)

    def _lines(
        self, batch_session: SparkSession, frame: DataFrame, plan: Node, view: View | None, known: Set[str], looks: list[SetAsideLook]
    ) -> Iterator[str]:
        """Rows as they are asked for, one partition of results at a time, so that a large answer needs little memory.

        Files that turn out to be broken are named, and the rows start over without what cannot be read of them: unless some were given already.
        """
        lines = frame.selectExpr(f"{rows.as_json(frame.schema, frame.columns)} AS r")
        looks.append(SetAsideLook(batch_session, self._app if view is None else self._app.seen_by(view), lines, names_read(plan)))
        given = False
        try:
            for row in lines.toLocalIterator(prefetchPartitions=True):
                given = True
                yield row.r
            looks[-1].found()
            return
        except PenstockError:
            raise
        except Exception as error:
            found = [] if given else newly_broken(error, batch_session, self._app, known, lambda: dict.fromkeys(names_read(plan), Span()))
            if not found:
                raise explained(error, view) from error
        for file in found:
            log.warning("rows are left out: %s", file)
        known = self._app.broken.names()
        yield from self._lines(batch_session, self._frame(batch_session, plan, view), plan, view, known, looks)

    def _register_kept(self, batch_session: SparkSession, plan: Node) -> None:
        for name in names_read(plan):
            if name.endswith(DEAD) and name not in self._app.declared.declarations:
                rows.from_json(batch_session, list(self.dead(name.removesuffix(DEAD)).lines), DEAD_COLUMNS.ddl).createOrReplaceTempView(quote(name))
            if name in self._app.declared.views:
                found = self.results().schema(name)
                assert found is not None
                rows.from_json(batch_session, list(self.results().rows(name)), found[0]).createOrReplaceTempView(quote(name))

    def kept(self, view: str) -> Rows | None:
        if not self._has_results():
            return None
        found = self.results().schema(view)
        return None if found is None else Rows(columns(found[0]), self.results().rows(view))

    def filtered(self, view: str, lines: Sequence[str], condition: str) -> Rows:
        found = self.results().schema(view)
        assert found is not None
        batch_session = self._spark().newSession()
        in_job_group(batch_session)
        try:
            kept = rows.from_json(batch_session, lines, found[0], as_they_are=True).where(condition).select("__line").toArrow()
        except Exception as error:
            raise explained(error, None) from error
        return Rows(columns(found[0]), iter(kept["__line"].to_pylist()))

    def unfit(self, stream: str, lines: Sequence[bytes]) -> int:
        batch_session = self._spark().newSession()
        try:
            return unfit(batch_session, self._app, self._app.declared.streams[stream], lines)
        except Exception as error:
            raise explained(error, None) from error

    def cancel(self, thread: int, ended: threading.Event) -> None:
        cancel_question(thread, ended)

    def caught_up(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while self._busy and self._fleet is None and time.monotonic() < deadline:
            time.sleep(0.05)
        guards = self._fleet.guards if self._fleet is not None else []
        return wait_until_caught_up(guards, deadline - time.monotonic(), lambda: self._busy)

    def trouble(self, view: str) -> str | None:
        if not self._has_results():
            return None
        job, member = next((job, member) for job in jobs(self._app.declared) for member in job.members if member.name == view)
        if has_changed(self.results(), Catalog(self._app.state), job, member):
            return f"{CHANGED}; these rows are of what it was before"
        found = last_status(self.results(), job.name)
        return f"failed in its last run, so its rows may not be all: {found.detail}" if found is not None and found.status == "failed" else None

    def status(self) -> list[ViewStatus]:
        if not self._has_results():
            return [ViewStatus(member.name, job.name, "not run") for job in jobs(self._app.declared) for member in job.members]
        store, catalog = self.results(), Catalog(self._app.state)
        alive = is_held(self._app.state)
        found = [view_status(store, catalog, job, member, alive=alive) for job in jobs(self._app.declared) for member in job.members]
        if not alive or not is_full(self._app.state):
            return found
        full = f"the disk of the state folder {self._app.state} is full"  # so the run could not note it
        return [replace(view, status="outage", detail=full) if view.status == "running" else view for view in found]

    def rebuild(self, view: str) -> list[str]:
        if is_held(self._app.state):
            raise StateError(f"a run works from the state folder {self._app.state}", hint="stop it first; the next run then computes the view again")
        job = next(job for job in jobs(self._app.declared) if any(member.name == view for member in job.members))
        if not Catalog(self._app.state).rebuild(job.name):
            raise StateError(f"view `{view}` has not run yet from the state folder {self._app.state}", hint="its first run computes it from history")
        return [member.name for member in job.members]

    def _has_results(self) -> bool:
        return self._store is not None or bool(self._app.settings.text("store")) or (self._app.state / "results.db").exists()

    def dead(self, name: str) -> Rows:
        if self._is_kept(name):
            return Rows(DEAD_COLUMNS, map(letter, self.results().dead(name)))
        try:
            letters = first_letters(self._spark().newSession(), self._app, name, None)
        except Exception as error:
            raise explained(error, None) from error
        seen = datetime.now(UTC).isoformat()
        return Rows(DEAD_COLUMNS, (letter(DeadRow(*found, seen)) for found in letters))

    def replay(self, stream: str) -> str:
        if not self._has_results():
            return NOTHING.format(stream)
        return replayed(self._spark().newSession(), self._app, self.results(), self._app.declared.streams[stream])

    def _is_kept(self, stream: str) -> bool:
        """Whether the store has a stream's dead letters: a view that reads it has run as it is now. Those of a table are not kept."""
        if stream not in self._app.declared.streams or not self._has_results():
            return False
        catalog = Catalog(self._app.state)
        readers = [job for job in jobs(self._app.declared) if stream in job.streams]
        return any(
            catalog.present_generation(job.name) is not None and not any(has_changed(self.results(), catalog, job, member) for member in job.members)
            for job in readers
        )

    def run(self, request: RunRequest) -> None:
        self._busy = True
        try:
            self._run(request)
        finally:
            self._busy = False

    def _run(self, request: RunRequest) -> None:
        stop, notes = request.stop, StatusNotes(self.results)
        with StateLock(self._app.state, take_over=request.take_over) as hold, Parts() as parts:

            def reported(progress: list[Progress]) -> None:
                if hold.lost:
                    stop.set()
                else:
                    notes.show(progress)
                request.report(progress)

            catalog = Catalog(self._app.state)
            if self._app.declared.file is not None:
                catalog.claim(self._app.declared.folder, self._app.declared.file)
            spark = self._spark()
            self._look_at_tables()
            accepted = set(request.accept_gaps)
            start_slots = threading.Semaphore(2 * max(2, spark.sparkContext.defaultParallelism))

            def guarded(job: Job) -> Guard:
                open_run = partial(self._open_run, spark, job, accepted, hold)
                parts.add(job.name, parts_of(self._app, job))
                return Guard(
                    job,
                    open_run,
                    catalog,
                    self._app.settings,
                    threading.Event(),
                    start_slots,
                    self._backlog(job),
                    lambda: not hold.lost,
                    parts,
                    partial(self._noted, job.name),
                )

            fleet = Fleet(guarded, drain=request.drain, stop=stop, report=reported)
            with self._sources(request.drain) as unreached, self._running(fleet, catalog):
                fleet.run(stay=request.stay)
            notes.end()
            if hold.lost:
                raise hold.fenced()
            note_status(self.results, fleet.progress)
        raise_failed(fleet.guards)
        if unreached:
            raise unreached[0]

    @contextmanager
    def _running(self, fleet: Fleet, catalog: Catalog) -> Iterator[None]:
        """All jobs of the app at work; while they are, views come and go."""
        with self._changing:
            found = jobs(self._app.declared)
            self._tidy(found, catalog)
            for job in found:
                fleet.start(job)
            self._fleet = fleet
        try:
            yield
        finally:
            self._fleet = None

    def _tidy(self, found: Sequence[Job], catalog: Catalog) -> None:
        """Finish what a crash left half done; a store that is away now can wait for that, unless rows of a view are about to change places."""
        try:
            finish_swaps(catalog, self.results())
            forget_former_jobs(found, catalog, self.results())
        except OutageError:
            if catalog.intended():
                raise

    def change(self, declared: Declared, keep: Callable[[], None]) -> int:
        with self._changing:
            before, fleet, after = self._app, self._fleet, replace(self._app, declared=declared)
            if fleet is None:
                keep()
                self._see(after)
                return -1
            views = changed_views(before.declared, declared)
            analyse(self._spark(), after, views)
            keep()
            self._see(after)
            jobs_change = JobsChange(fleet, Catalog(self._app.state), self.results())
            with fleet.changing():
                try:
                    return jobs_change.apply(before, after)
                except Exception as error:
                    self._see(before)
                    jobs_change.undo(after, before)
                    raise explained(error, views[0] if views else None) from error

    def _see(self, app: AppContext) -> None:
        self._app = self._left_out.app = app
        if self._fleet is not None:
            self._look_at_tables()

    def _look_at_tables(self) -> None:
        self._left_out.look(self._spark(), [name for view in self._app.declared.views.values() for name in names_read(view.query)])

    def _noted(self, job: str) -> Ending | None:
        return last_status(self.results(), job)

    def _backlog(self, job: Job) -> Backlog:
        streams = (self._app.declared.streams[name] for name in job.streams)
        return Backlog({stream.name: self._app.spec(stream) for stream in streams if stream.options.get("connector") == "kafka"})

    def _open_run(self, spark: SparkSession, job: Job, accepted: set[str], hold: StateLock, generation: Generation) -> JobRun:
        """`accepted` names the views whose gaps may be passed; the user's word is for the gap of this start, not for later ones.

        A generation that has not planned an epoch would find the same gap again.
        """
        if hold.lost:  # else a driver that hung while it started would raise the fence over its own successor
            raise hold.fenced()
        if (replaced := replaces(job)) is not None and (before := Catalog(self._app.state).current(replaced)) is not None:
            generation = replace(generation, former=before[1])  # what that one has read and a broker has deleted since is missing here too
        store = self.results()
        run = JobRun(spark, self._app, job, store, generation)
        try:
            names = {member.name for member in job.members}
            pass_gaps(self._app, job, run.occurrences, generation, store, accepted=bool(names & accepted))
            accepted -= names if last_epoch(generation.checkpoint / "offsets") >= 0 else set()
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
            for stream in self._app.declared.streams.values():  # those there are by now
                self._app.source(stream).close()

    def close(self) -> None:
        self._left_out.close()
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._session is not None and self._given is None:
            if not self._warm:
                stop_session()
            self._session = None

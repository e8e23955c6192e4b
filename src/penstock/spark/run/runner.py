"""The engine's verbs done by Spark: one session, one store, one state folder, held by one process at a time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from penstock.catalog import Catalog
from penstock.change import DEAD_COLUMNS, Rows
from penstock.errors import OutageError, SourceError
from penstock.observe.progress import Progress
from penstock.observe.request import RunRequest
from penstock.observe.status import ViewStatus
from penstock.plan.model.declare import Declared, View
from penstock.plan.model.nodes import Node, names_read
from penstock.schema import columns
from penstock.share.difference import changed_views
from penstock.share.jobs import Job, jobs
from penstock.source import Recorded
from penstock.spark.compile.frames import AppContext, unfit
from penstock.spark.run.dead.letters import letter
from penstock.spark.run.dead.replay import NOTHING, replayed
from penstock.spark.run.dead.set_aside import first_letters
from penstock.spark.run.dead.table_letters import LeftOut
from penstock.spark.run.faults.outage import explained
from penstock.spark.run.faults.parts import Parts
from penstock.spark.run.forget import forget_former_jobs
from penstock.spark.run.last_run import LastRun
from penstock.spark.run.lock import StateLock
from penstock.spark.run.members.beside import finish_swaps
from penstock.spark.run.members.catching_up import wait_until_caught_up
from penstock.spark.run.members.changing import JobsChange, analyse
from penstock.spark.run.members.fleet import Fleet
from penstock.spark.run.opening import Opening
from penstock.spark.run.outcome import StatusNotes, note_status, raise_failed
from penstock.spark.run.question import Question, filtered
from penstock.spark.session.release import release_frames
from penstock.spark.session.session import open_session, stop_session
from penstock.spark.session.warm import cancel_question, warm_session
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
        return Question(self._spark(), self._app, self.results, self.dead, plan, view).rows()

    def kept(self, view: str) -> Rows | None:
        if not self._has_results():
            return None
        found = self.results().schema(view)
        return None if found is None else Rows(columns(found[0]), self.results().rows(view))

    def filtered(self, view: str, lines: Sequence[str], condition: str) -> Rows:
        return filtered(self._spark(), self.results(), view, lines, condition)

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
        return self._last_run().trouble(view) if self._has_results() else None

    def status(self) -> list[ViewStatus]:
        if not self._has_results():
            return [ViewStatus(member.name, job.name, "not run") for job in jobs(self._app.declared) for member in job.members]
        return self._last_run().status()

    def rebuild(self, view: str) -> list[str]:
        return self._last_run().rebuild(view)

    def _last_run(self) -> LastRun:
        return LastRun(self._app, self.results)

    def _has_results(self) -> bool:
        return self._store is not None or bool(self._app.settings.text("store")) or (self._app.state / "results.db").exists()

    def dead(self, name: str) -> Rows:
        if name in self._app.declared.streams and self._has_results() and self._last_run().keeps_dead(name):
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

    def run(self, request: RunRequest) -> None:
        self._busy = True
        try:
            self._run(request)
        finally:
            release_frames()
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
            start_slots = threading.Semaphore(2 * max(2, spark.sparkContext.defaultParallelism))
            opening = Opening(spark, lambda: self._app, self.results, hold, parts, catalog, start_slots, request.accept_gaps)
            fleet = Fleet(opening.guard, drain=request.drain, stop=stop, report=reported)
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

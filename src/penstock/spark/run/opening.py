"""The jobs of one run, each under supervision: opened as the app is declared by then, and only by who holds the state folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from penstock.catalog import Catalog, Generation
from penstock.share.jobs import Job
from penstock.spark.checkpoint.gap import pass_gaps
from penstock.spark.checkpoint.offset_log import last_epoch
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.backlog import Backlog
from penstock.spark.run.faults.parts import Parts, parts_of
from penstock.spark.run.job import JobRun
from penstock.spark.run.lock import StateLock
from penstock.spark.run.members.beside import replaces
from penstock.spark.run.outcome import last_status
from penstock.spark.run.supervisor import Guard
from penstock.store.protocol import Store


class Opening:
    """What the jobs of a run share. `app` gives the app as it is declared now; one of `start_slots` is held while a job starts.

    `accepted` names the views whose gaps may be passed; the user's word is for the gap of this start, not for later ones.
    """

    def __init__(
        self,
        spark: SparkSession,
        app: Callable[[], AppContext],
        results: Callable[[], Store],
        hold: StateLock,
        parts: Parts,
        catalog: Catalog,
        start_slots: AbstractContextManager[object],
        accepted: Iterable[str],
    ) -> None:
        self._spark, self._app, self._results, self._hold, self._parts, self._catalog = spark, app, results, hold, parts, catalog
        self._start_slots, self._accepted = start_slots, set(accepted)

    def guard(self, job: Job) -> Guard:
        app = self._app()
        self._parts.add(job.name, parts_of(app, job))
        streams = (app.declared.streams[name] for name in job.streams)
        return Guard(
            job,
            partial(self.open_run, job),
            self._catalog,
            app.settings,
            threading.Event(),
            self._start_slots,
            Backlog({stream.name: app.spec(stream) for stream in streams if stream.options.get("connector") == "kafka"}),
            lambda: not self._hold.lost,
            self._parts,
            lambda: last_status(self._results(), job.name),
        )

    def open_run(self, job: Job, generation: Generation) -> JobRun:
        """A generation that has not planned an epoch would find the gap that was passed again, so the word for it holds until one is planned."""
        if self._hold.lost:  # else a driver that hung while it started would raise the fence over its own successor
            raise self._hold.fenced()
        if (replaced := replaces(job)) is not None and (before := self._catalog.current(replaced)) is not None:
            generation = replace(generation, former=before[1])  # what that one has read and a broker has deleted since is missing here too
        app, store = self._app(), self._results()
        run = JobRun(self._spark, app, job, store, generation)
        try:
            names = {member.name for member in job.members}
            pass_gaps(app, job, run.occurrences, generation, store, accepted=bool(names & self._accepted))
            self._accepted -= names if last_epoch(generation.checkpoint / "offsets") >= 0 else set()
        except BaseException:
            run.stop(0)
            raise
        return run

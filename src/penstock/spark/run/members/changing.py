"""A running app becomes another one: what goes first, then what changes in place, then what is new; and back again, if that fails."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyspark.sql import SparkSession

from penstock.catalog import Catalog
from penstock.errors import UserError
from penstock.plan.cut.inline import meaning
from penstock.plan.model.declare import View
from penstock.share.difference import JobChanges, changed_jobs
from penstock.share.jobs import Job, jobs
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_history
from penstock.spark.compile.operators import plan_frame
from penstock.spark.run.faults.spark_errors import in_users_words
from penstock.spark.run.forget import committed, forget_former_jobs, forget_job
from penstock.spark.run.members.beside import build, take_place
from penstock.spark.run.members.fleet import Fleet
from penstock.spark.run.outcome import note_status
from penstock.store.protocol import Store

log = logging.getLogger("penstock.spark")


def analyse(spark: SparkSession, app: AppContext, views: Iterable[View]) -> None:
    """Let Spark look at views that are new or changed, before anything else is: it finds mistakes that `check` does not."""
    for view in views:
        batch_session, plan = spark.newSession(), meaning(view, app.declared.declarations)
        try:
            register_history(batch_session, app.seen_by(view), plan, {})
            rows.check_names(plan_frame(batch_session, app, plan).schema, view.name)
        except Exception as error:
            found = in_users_words(error, view)
            if isinstance(found, UserError):
                raise found from error
            log.debug("view %s could not be looked at", view.name, exc_info=True)


class JobsChange:
    """Changes the jobs of a running app."""

    def __init__(self, fleet: Fleet, catalog: Catalog, store: Store) -> None:
        self._fleet, self._catalog, self._store = fleet, catalog, store

    def apply(self, before: AppContext, after: AppContext) -> int:
        """Make the running jobs those of `after`; the newest epoch of those that changed. Returns when all of them have caught up."""
        found = changed_jobs(before.declared, after.declared)
        beside = [job for job in found.rebuilt if self._has_rows_to_show(job)]
        for job in beside:
            build(self._fleet, job, self._catalog, self._store)
        started = self._change(found, after, beside, catch_up=True)
        for job in started:
            self._fleet.wait(job)
        for job in beside:
            take_place(self._fleet, job, self._catalog, self._store)
            self._fleet.start(job)
            self._fleet.wait_until_open(job)
        self._forget(found, before, after)
        return max((committed(job, self._catalog, self._store) for job in tuple(found) or jobs(after.declared)), default=-1)

    def undo(self, after: AppContext, before: AppContext) -> None:
        """Back to what was before; a job that had not got far goes on with its former generation."""
        found = changed_jobs(after.declared, before.declared)
        goes_on = [job for job in found.rebuilt if self._fleet.is_at_work(job.name) and self._fleet.runs(job)]
        self._change(found, before, goes_on, catch_up=False)
        self._forget(found, after, before)

    def _change(self, found: JobChanges, app: AppContext, apart: list[Job], *, catch_up: bool) -> list[Job]:
        """All but the jobs in `apart`; gives those that were started. What goes first, so that no view is in two jobs at once."""
        for job in (*found.gone, *found.rebuilt):
            if job not in apart:
                self._fleet.end(job.name)
        for job in found.regrouped:
            self._fleet.regroup(app, job)
        for job in found.reopened:
            self._fleet.reopen(job)
        started = [job for job in (*found.rebuilt, *found.added) if job not in apart]
        for job in started:
            self._fleet.start(job, catch_up=catch_up)
        return started

    def _forget(self, found: JobChanges, before: AppContext, after: AppContext) -> None:
        """What is left of jobs and streams that are gone; last, for until then there is a way back."""
        for job in found.gone:
            forget_job(job, after.declared, self._catalog, self._store)
        forget_former_jobs(jobs(after.declared), self._catalog, self._store)
        for name, stream in before.declared.streams.items():
            if after.declared.streams.get(name) != stream:  # what runs beside Spark ends with its stream
                before.source(stream).close()
        note_status(lambda: self._store, self._fleet.progress)

    def _has_rows_to_show(self, job: Job) -> bool:
        """Where there are rows to go on showing, and the new ones have a place of their own meanwhile."""
        return job.members[0].stored and self._fleet.is_at_work(job.name) and committed(job, self._catalog, self._store) >= 0

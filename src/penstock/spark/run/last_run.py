"""What the last run of an app left: how its views stand, whose results may be wrong, and what of them is kept. Needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.catalog import Catalog
from penstock.errors import StateError
from penstock.observe.status import ViewStatus
from penstock.share.jobs import Job, Member, jobs
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.faults.parts import is_full
from penstock.spark.run.lock import is_held
from penstock.spark.run.outcome import CHANGED, has_changed, last_status, view_status
from penstock.store.protocol import Store


class LastRun:
    """The state folder and the store of an app, as they are between runs, or beside one."""

    def __init__(self, app: AppContext, results: Callable[[], Store]) -> None:
        self._app, self._results, self._catalog = app, results, Catalog(app.state)
        self._jobs = jobs(app.declared)

    def trouble(self, view: str) -> str | None:
        """Why the view's rows may not be what it says now; None: they are."""
        job, member = self._member(view)
        if has_changed(self._results(), self._catalog, job, member):
            return f"{CHANGED}; these rows are of what it was before"
        found = last_status(self._results(), job.name)
        return f"failed in its last run, so its rows may not be all: {found.detail}" if found is not None and found.status == "failed" else None

    def status(self) -> list[ViewStatus]:
        alive = is_held(self._app.state)
        found = [view_status(self._results(), self._catalog, job, member, alive=alive) for job in self._jobs for member in job.members]
        if not alive or not is_full(self._app.state):
            return found
        full = f"the disk of the state folder {self._app.state} is full"  # so the run could not note it
        return [replace(view, status="outage", detail=full) if view.status == "running" else view for view in found]

    def rebuild(self, view: str) -> list[str]:
        """Let the next run compute the view, and the others of its job, again from history."""
        if is_held(self._app.state):
            raise StateError(f"a run works from the state folder {self._app.state}", hint="stop it first; the next run then computes the view again")
        job, _ = self._member(view)
        if not self._catalog.rebuild(job.name):
            raise StateError(f"view `{view}` has not run yet from the state folder {self._app.state}", hint="its first run computes it from history")
        return [member.name for member in job.members]

    def keeps_dead(self, stream: str) -> bool:
        """Whether the store has a stream's dead letters: a view that reads it has run as it is now. Those of a table are not kept."""
        return any(self._is_current(job) for job in self._jobs if stream in job.streams)

    def _is_current(self, job: Job) -> bool:
        changed = (has_changed(self._results(), self._catalog, job, member) for member in job.members)
        return self._catalog.present_generation(job.name) is not None and not any(changed)

    def _member(self, view: str) -> tuple[Job, Member]:
        return next((job, member) for job in self._jobs for member in job.members if member.name == view)

"""The tables of a job: which versions its epochs join, noted before an epoch is committed, and logged when they change."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from penstock.catalog import Generation
from penstock.plan.cut.decide import Strategy
from penstock.plan.model.nodes import names_read
from penstock.share.jobs import Job
from penstock.spark.checkpoint.offset_log import last_epoch
from penstock.spark.checkpoint.table_log import NAME, add_changes, needed, read_changes, versions_at
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.table_versions import TableVersions, drop_copies

log = logging.getLogger("penstock.spark")


class TablesHaveChanged(Exception):
    """Raised inside an epoch that has not started: the job is to be opened again, and reads its tables as they are now."""


class JobTables:
    """The tables that one run of a job reads; all of it goes through the app that `seen` gives."""

    def __init__(self, app: AppContext, job: Job, generation: Generation) -> None:
        self._versions = TableVersions(app.state / "tables")
        self._job, self._checkpoint = job, generation.checkpoint
        recomputed = job.cut.strategy is Strategy.RECOMPUTE
        self._below = frozenset(() if recomputed else names_read(job.cut.lower))
        above = (names_read(plan) for member in job.members for plan in member.cut.above)
        self._whole = frozenset(app.declared.tables if recomputed else (name for names in above for name in names))
        self._state = app.state
        self._noted: dict[str, str] = {}
        self._repeats = -1

    def seen(self, app: AppContext) -> AppContext:
        return replace(app, versions=self._versions)

    def repeat(self, committed: int) -> None:
        """An epoch that is in the ledger but not in Spark's commit log comes again: with the tables that it joined, for its state's sake."""
        last = last_epoch(self._checkpoint / "offsets")
        if last_epoch(self._checkpoint / "commits") < last <= committed:
            self._versions.wanted = versions_at(read_changes(self._checkpoint), last)
            self._repeats = last if self._versions.wanted else -1

    def check(self, number: int) -> None:
        """TablesHaveChanged where the epoch would join what is not there any more."""
        if -1 < self._repeats < number or self._versions.changed():
            raise TablesHaveChanged

    def note(self, number: int, *, above: bool) -> None:
        """Note what the epoch joins: below the cut always, `above` it where there was something to evaluate."""
        used = {name: version for name, version in self._versions.used.items() if above or name in self._below}
        if all(self._noted.get(name) == version for name, version in used.items()):
            return
        self._noted |= used
        changes = add_changes(self._checkpoint, number, used, self._whole)
        for change in changes:
            log.warning(
                "table `%s` has changed: epochs from %d on join its new rows, what was computed before keeps the old values;"
                " `penstock rebuild APP %s` computes it again",
                change.table,
                number,
                self._job.name,
                extra={"job": self._job.name},
            )
        if changes:
            drop_unneeded(self._state)


def drop_unneeded(state: Path) -> None:
    """Remove the copies of tables that no epoch of a generation that is kept has joined."""
    checkpoints = (log.parent for log in (state / "checkpoints").glob(f"*/*/{NAME}"))
    drop_copies(state / "tables", {pair for checkpoint in checkpoints for pair in needed(checkpoint)})

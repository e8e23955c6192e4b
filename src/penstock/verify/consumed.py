"""What a job has consumed, as its checkpoint says: the generation it is in, and the part of every source that each epoch took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from penstock.catalog import Catalog
from penstock.errors import StateError
from penstock.plan.cut.decide import Strategy
from penstock.plan.model.declare import Declared
from penstock.plan.model.nodes import Scan, walk
from penstock.share.jobs import Job
from penstock.source import Span
from penstock.spark.checkpoint.epoch_log import kept_epochs, logged_epochs
from penstock.spark.checkpoint.offset_log import LoggedEpoch, first_epoch, last_epoch, log_of, source_order
from penstock.store.generations import ViewGeneration

_NEVER_RAN = "run the app first: `penstock run APP --drain`"


@dataclass(frozen=True)
class Consumed:
    """One generation of a job: from a new checkpoint to now. `streams` are those of its sources, in the order of the plan.

    `own` is the generation that a view's change log and sinks go by where that is not the job's, and `since` when it started.
    """

    job: Job
    generation: str
    checkpoint: Path
    since: datetime
    occurrences: tuple[str, ...]
    own: str = ""

    @property
    def view_generation(self) -> str:
        return self.own or self.generation

    def of_view(self, found: ViewGeneration | None) -> Consumed:
        """The same as one of the job's views sees it, by what the store notes of that."""
        if found is None or (found.job, found.job_generation) != (self.job.name, self.generation):
            return self
        return replace(self, own=found.name, since=self.since if found.name == self.generation else datetime.fromisoformat(found.since))

    @property
    def last(self) -> int:
        """The last epoch that was planned, perhaps not yet done; -1: nothing was consumed yet."""
        return last_epoch(self.checkpoint / "offsets")

    def source(self, stream: str, sources: int) -> int:
        """The place of a stream among the sources of the offset log."""
        return source_order(list(self.occurrences), sources).index(stream)

    def span(self, stream: str, end: LoggedEpoch) -> Span:
        """What was taken of a stream by the epochs up to `end`."""
        offset = end.ends[self.source(stream, len(end.ends))]
        return Span(None, offset, self.folder(stream, end), nothing=offset is None)

    def folder(self, stream: str, end: LoggedEpoch) -> Path:
        """The folder of a stream's source in the checkpoint."""
        names = source_order(list(self.occurrences), len(end.ends))
        return log_of(self.checkpoint, names, names.index(stream))

    def logged(self, epoch: int) -> list[LoggedEpoch]:
        """What the epochs up to `epoch` took, as far back as it is kept without a gap; StateError when Spark has forgotten `epoch` itself."""
        if epoch < first_epoch(self.checkpoint / "offsets") and epoch not in kept_epochs(self.checkpoint):
            raise StateError(
                f"what epoch {epoch} took is not known any more: Spark keeps the last hundred epochs",
                hint="run the app, so that every sink has the newest epoch, and verify again",
            )
        return logged_epochs(self.checkpoint, epoch)


def has_changed(names: str) -> StateError:
    """What to raise for views whose rows were made by another plan than theirs."""
    return StateError(
        f"view {names} has changed since it ran: what was delivered belongs to what it was before",
        hint="run the app, which rebuilds the view, or verify the app as it was",
    )


def consumed_of(job: Job, declared: Declared, state: Path) -> Consumed:
    """The generation that the state folder knows of; StateError when the job never ran, or ran with another plan."""
    names = ", ".join(f"`{member.name}`" for member in job.members)
    if not (state / "catalog.db").exists():
        raise StateError(f"nothing has run yet from the state folder {state}", hint=_NEVER_RAN)
    found = Catalog(state).present_generation(job.name)
    if found is None:
        raise StateError(f"view {names} has not run yet from the state folder {state}", hint=_NEVER_RAN)
    if found.fingerprint != job.fingerprint:
        raise has_changed(names)
    plan = job.cut.lower
    streams: Mapping[str, object] = declared.streams
    occurrences = (
        job.cut.streams
        if job.cut.strategy is Strategy.RECOMPUTE
        else tuple(part.name for part in walk(plan) if isinstance(part, Scan) and part.name in streams)
    )
    return Consumed(job, found.generation, found.checkpoint, datetime.fromisoformat(found.since), occurrences)

"""What a job has consumed, as its checkpoint says: the life it is in, and the part of every source that each epoch took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from penstock.catalog import Catalog
from penstock.errors import StateError
from penstock.plan.cut import Strategy
from penstock.plan.declare import Declared
from penstock.plan.nodes import Scan, walk
from penstock.share.jobs import Job
from penstock.source import Span
from penstock.spark.checkpoint import LoggedEpoch, first_epoch, last_epoch, log_of, source_order
from penstock.spark.epochlog import kept_epochs, logged_epochs

_NEVER_RAN = "run the app first: `penstock run APP --drain`"


@dataclass(frozen=True)
class Life:
    """One life of a job: from a new checkpoint to now. `streams` are those of its sources, in the order of the plan."""

    job: Job
    incarnation: str
    checkpoint: Path
    since: datetime
    occurrences: tuple[str, ...]

    @property
    def last(self) -> int:
        """The last epoch that was planned, perhaps not yet done; -1: nothing was consumed yet."""
        return last_epoch(self.checkpoint / "offsets")

    def source(self, stream: str, sources: int) -> int:
        """The place of a stream among the sources of the offset log."""
        return source_order(list(self.occurrences), sources).index(stream)

    def span(self, stream: str, end: LoggedEpoch) -> Span:
        """What was taken of a stream by the epochs up to `end`."""
        told = end.ends[self.source(stream, len(end.ends))]
        return Span(None, told, self.folder(stream, end), nothing=told is None)

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


def life_of(job: Job, declared: Declared, state: Path) -> Life:
    """The life that the state folder knows of; StateError when the job never ran, or ran with another plan."""
    names = ", ".join(f"`{member.name}`" for member in job.members)
    if not (state / "catalog.db").exists():
        raise StateError(f"nothing has run yet from the state folder {state}", hint=_NEVER_RAN)
    found = Catalog(state).life(job.name)
    if found is None:
        raise StateError(f"view {names} has not run yet from the state folder {state}", hint=_NEVER_RAN)
    if not job.is_known_by(found.fingerprint):
        raise StateError(
            f"view {names} has changed since it ran: what was delivered belongs to what it was before",
            hint="run the app, which builds the view anew, or verify the app as it was",
        )
    plan = job.cut.lower
    streams: Mapping[str, object] = declared.streams
    occurrences = (
        job.cut.streams
        if job.cut.strategy is Strategy.RECOMPUTE
        else tuple(part.name for part in walk(plan) if isinstance(part, Scan) and part.name in streams)
    )
    return Life(job, found.incarnation, found.checkpoint, datetime.fromisoformat(found.since), occurrences)

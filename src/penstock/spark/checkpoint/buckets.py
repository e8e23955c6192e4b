"""Into how many buckets the keys of a job's operators were put when its state was first made: the state can be read by no other number."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import StateError
from penstock.plan.model.nodes import Operate, walk
from penstock.share.jobs import Job
from penstock.spark.checkpoint.offset_log import last_epoch

NAME = "buckets"


def buckets_of(job: Job, checkpoint: Path, wanted: int) -> int | None:
    """The number that the checkpoint says, or the one that is `wanted` where there is no state yet; None: the job has no keyed operator."""
    if not any(isinstance(part, Operate) and part.is_keyed for part in walk(job.cut.lower)):
        return None
    path = checkpoint / NAME
    if path.exists():
        try:
            return int(path.read_text(encoding="ascii"))
        except ValueError:
            raise StateError(f"{path} cannot be read", hint="restore it from a copy, or rebuild the view") from None
    if last_epoch(checkpoint / "offsets") >= 0:
        raise StateError(f"{path} is missing, which says how the state of view `{job.name}` is laid out", hint="restore it, or rebuild the view")
    checkpoint.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{wanted}\n", encoding="ascii")
    return wanted

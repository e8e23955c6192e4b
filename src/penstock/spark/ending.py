"""How jobs ended: told to the one who started the run, and noted in the results store for those who read it afterwards."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol

from penstock.catalog import Catalog
from penstock.errors import PenstockError
from penstock.share.jobs import Job, Member
from penstock.share.progress import Progress
from penstock.share.status import ViewStatus
from penstock.sink.store import Store
from penstock.spark.checkpoint import last_epoch
from penstock.spark.missing import passed_gaps

log = logging.getLogger("penstock.spark")
CHANGED = "has changed since it ran: the next run makes it anew"


class Ended(Protocol):
    """A job under supervision, as it stands now."""

    @property
    def progress(self) -> Progress: ...

    @property
    def error(self) -> PenstockError | None: ...


@dataclass(frozen=True)
class Ending:
    """The status that a job had when it was last heard of, why it failed, and when that was."""

    status: str
    detail: str
    at: str


def note_status(store: Store, progress: Sequence[Progress]) -> None:
    """Keep how every job stands; a store that cannot be reached has told so elsewhere, and is not waited for once more for each job."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    for job in progress:
        status = "running" if job.status == "starting" else job.status
        found = Ending(status, job.detail if status == "failed" else "", at)
        try:
            store.note(_name(job.job), json.dumps(asdict(found), ensure_ascii=False))
        except PenstockError:
            log.debug("the end of job %s could not be noted", job.job, exc_info=True)
            return


def last_status(store: Store, job: str) -> Ending | None:
    """How a job stood when it was last heard of; None: it never ran."""
    found = store.noted(_name(job))
    return None if found is None else Ending(**json.loads(found))


def view_status(store: Store, catalog: Catalog, job: Job, member: Member, *, alive: bool) -> ViewStatus:
    """All that is known of a view without running it; `alive`: a process runs from the state folder."""
    last, life = last_status(store, job.name), catalog.current(job.name)
    status, detail, at = (last.status, last.detail, last.at) if last is not None else ("not run", "", None)
    status = "killed" if status == "running" and not alive else status
    detail = f"it {CHANGED}" if not detail and has_changed(catalog, job) else detail
    epoch = -1 if life is None else last_epoch(life[1] / "commits")
    return ViewStatus(member.name, job.name, status, detail, at, epoch, store.count(member.name), passed_gaps(store, job.name))


def has_changed(catalog: Catalog, job: Job) -> bool:
    """Whether a job has run with another meaning than it has now."""
    life = catalog.life(job.name)
    return life is not None and not job.is_known_by(life.fingerprint)


def raise_failed(guards: Sequence[Ended]) -> None:
    """Raise what made jobs fail; where several did, one error of the first one's kind names them all."""
    failed = [(guard.progress.job, guard.error) for guard in guards if guard.error is not None]
    if not failed:
        return
    first = failed[0][1]
    if len(failed) == 1:
        raise first
    reasons = "".join(f"\n  {job}: {str(error).splitlines()[0]}" for job, error in failed)
    hints = dict.fromkeys(error.hint for _, error in failed if error.hint)
    raise type(first)(f"{len(failed)} jobs failed:{reasons}", hint="\nhint: ".join(hints) or None) from first


def _name(job: str) -> str:
    return f"status:{job}"

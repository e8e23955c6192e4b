"""How jobs ended: reported to the one who started the run, and noted in the results store for those who read it afterwards."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Protocol

from penstock.catalog import Catalog
from penstock.errors import PenstockError
from penstock.observe.progress import Progress
from penstock.observe.status import ViewStatus
from penstock.share.jobs import Job, Member
from penstock.spark.checkpoint.missing import passed_gaps
from penstock.spark.checkpoint.offset_log import last_epoch
from penstock.spark.checkpoint.table_log import changed_tables
from penstock.store.generations import note_of, read_generation
from penstock.store.protocol import Store

log = logging.getLogger("penstock.spark")
_LAST_NOTE_S, _NOTE_AGAIN_S = 5.0, 2.0
CHANGED = "has changed since it ran: the next run rebuilds it"


class Ended(Protocol):
    """A job under supervision, as it stands now."""

    @property
    def progress(self) -> Progress: ...

    @property
    def error(self) -> PenstockError | None: ...


@dataclass(frozen=True)
class Ending:
    """The status that a job had when it was last heard of, why it failed, and when that was; and the figures that only a run knows."""

    status: str
    detail: str
    at: str
    lag: int | None = None
    lag_unit: str = "rows"
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0


def note_status(open_store: Callable[[], Store], progress: Sequence[Progress], since: Mapping[str, str] = MappingProxyType({})) -> bool:
    """Keep how every job stands, by name `since` when; a store that cannot be reached is named elsewhere, and not waited for once for each job."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for job in progress:
        status, at = _noted_as(job), since.get(job.job, now)
        detail = job.detail if status in ("failed", "outage", "restarting") else ""
        found = Ending(status, detail, at, job.lag, job.lag_unit, job.watermark, job.state_rows, job.state_bytes)
        try:
            before = last_status(open_store(), job.job) if not job.batches and job.epoch < 0 else None
            if before is not None:  # it has not come so far as to know its figures: they are as the run before left them
                found = replace(before, status=status, detail=detail, at=at)
            open_store().note(_name(job.job), json.dumps(asdict(found), ensure_ascii=False))
        except PenstockError:
            log.debug("the status of job %s could not be noted", job.job, exc_info=True)
            return False
    return True


class StatusNotes:
    """Keeps in the results store how jobs stand while they run, whenever that changes; on a thread, for the store may let one wait."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open_store = open_store
        self._latest: Sequence[Progress] = ()
        self._noted: dict[str, tuple[object, ...]] = {}
        self._since: dict[str, tuple[str, str]] = {}
        self._news, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="status", daemon=True)

    def show(self, progress: Sequence[Progress]) -> None:
        self._latest = tuple(progress)
        if not self._thread.is_alive() and not self._over.is_set():
            self._thread.start()
        self._news.set()

    def end(self) -> None:
        """No more notes from here; one that hangs in a store that does not answer is left to itself."""
        self._over.set()
        self._news.set()
        self._thread.join(_LAST_NOTE_S)

    def _work(self) -> None:
        while not self._over.is_set():
            self._news.wait()
            self._news.clear()
            fresh = [job for job in self._latest if self._noted.get(job.job) != _news_of(job)]
            for job in fresh:
                if self._since.get(job.job, ("", ""))[0] != _noted_as(job):
                    self._since[job.job] = _noted_as(job), datetime.now(UTC).isoformat(timespec="seconds")
            if fresh and not self._over.is_set():
                if note_status(self._open_store, fresh, {name: at for name, (_, at) in self._since.items()}):
                    self._noted |= {job.job: _news_of(job) for job in fresh}
                self._over.wait(_NOTE_AGAIN_S)


def _noted_as(job: Progress) -> str:
    return "running" if job.status == "starting" else job.status


def _news_of(job: Progress) -> tuple[object, ...]:
    return job.status, job.detail, job.epoch, job.lag, job.state_rows


def last_status(store: Store, job: str) -> Ending | None:
    """How a job stood when it was last heard of; None: it never ran."""
    found = store.noted(_name(job))
    fields = {} if found is None else json.loads(found)
    return Ending(**{name: value for name, value in fields.items() if name in Ending.__dataclass_fields__}) if fields else None


def forget_status(store: Store, job: str) -> None:
    """The job is no more."""
    store.drop_note(_name(job))


def view_status(store: Store, catalog: Catalog, job: Job, member: Member, *, alive: bool) -> ViewStatus:
    """All that is known of a view without running it; `alive`: a process runs from the state folder."""
    last, generation = last_status(store, job.name), catalog.current(job.name)
    status, detail, at = (last.status, last.detail, last.at) if last is not None else ("not run", "", None)
    status = "killed" if status in ("running", "outage", "restarting") and not alive else status
    detail = f"it {CHANGED}" if not detail and has_changed(store, catalog, job, member) else detail
    epoch = -1 if generation is None else last_epoch(generation[1] / "commits")
    figures = {} if last is None else {name: getattr(last, name) for name in ("lag", "lag_unit", "watermark", "state_rows")}
    changed = {} if generation is None else changed_tables(generation[1])
    tables = tuple(f"table `{name}` changed at epoch {', '.join(str(at.epoch) for at in changes[1:])}" for name, changes in changed.items())
    dead = sum(store.dead_count(stream) for stream in job.streams)
    gaps = passed_gaps(store, job.name)
    return ViewStatus(member.name, job.name, status, detail, at, epoch, store.count(member.name), gaps, **figures, tables=tables, dead=dead)


def has_changed(store: Store, catalog: Catalog, job: Job, member: Member) -> bool:
    """Whether a view has run with another meaning than it has now: its job's, or its own above what is stored."""
    generation = catalog.present_generation(job.name)
    if generation is None:
        return False
    noted = read_generation(store.noted(note_of(member.name)))
    own = noted is not None and noted.job_generation == generation.generation and noted.fingerprint != member.fingerprint
    return own or generation.fingerprint != job.fingerprint


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

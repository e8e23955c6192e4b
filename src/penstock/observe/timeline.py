"""What happened to the jobs of a run, and when: epochs, restarts, outages, recoveries.

Epochs are many and are kept in memory, the newest of each job. What is rare is also appended to a file of the state folder, so that a restart of the
whole process is seen among the others; the file is cut to its newest lines when it is opened.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.observe.progress import Progress

_EPOCHS_KEPT = 500
_EVENTS_KEPT = 1000


@dataclass(frozen=True)
class Event:
    """`kind` is start, restart, outage, failure, recovery or stop; `at` in seconds since 1970; `job` is empty for the whole process."""

    at: float
    job: str
    kind: str
    detail: str = ""


@dataclass(frozen=True)
class EpochDone:
    """An epoch, or several where more than one was done between two looks."""

    at: float
    job: str
    epoch: int
    rows: int


class TimeLine:
    """Fed with the progress of all jobs again and again; any thread may read it."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._guard = threading.Lock()
        self._events: deque[Event] = deque(_read(file), _EVENTS_KEPT)
        self._epochs: dict[str, deque[EpochDone]] = {}
        self._before: dict[str, Progress] = {}
        if file is not None and self._events:
            _write(file, list(self._events), "w")

    @property
    def events(self) -> list[Event]:
        """The rare ones, oldest first."""
        with self._guard:
            return list(self._events)

    @property
    def epochs(self) -> list[EpochDone]:
        """The newest of each job, oldest first."""
        with self._guard:
            return sorted((done for kept in self._epochs.values() for done in kept), key=lambda done: done.at)

    def take(self, progress: Sequence[Progress], now: float) -> None:
        """Notes what is new since the last call."""
        found = [event for job in progress for event in _news(self._before.get(job.job), job, now)]
        with self._guard:
            for job in progress:
                before = self._before.get(job.job)
                if before is not None and job.epoch > before.epoch and job.batches:
                    kept = self._epochs.setdefault(job.job, deque(maxlen=_EPOCHS_KEPT))
                    kept.append(EpochDone(now, job.job, job.epoch, job.rows - before.rows))
            self._before = {job.job: job for job in progress}
        self.add(*found)

    def add(self, *events: Event) -> None:
        with self._guard:
            self._events.extend(events)
            if self._file is not None and events:
                _write(self._file, events, "a")


def _news(before: Progress | None, job: Progress, now: float) -> list[Event]:
    if before is None:
        return [Event(now, job.job, "start", f"from epoch {job.epoch + 1}" if job.epoch >= 0 else "")]
    found = []
    if job.restarts > before.restarts:
        found.append(Event(now, job.job, "restart", job.detail.partition("\n")[0]))
    if job.status != before.status and job.status in ("outage", "failed"):
        found.append(Event(now, job.job, "outage" if job.status == "outage" else "failure", job.detail.partition("\n")[0]))
    ran_before = job.restarts > 0 or job.epoch >= job.batches
    if ran_before and job.recovery_s is not None and job.recovery_s != before.recovery_s:
        found.append(Event(now, job.job, "recovery", f"first new epoch {job.recovery_s:.1f} s after the {'failure' if job.restarts else 'start'}"))
    return found


def _read(file: Path | None) -> list[Event]:
    """A line that was cut by a crash is left out."""
    if file is None or not file.exists():
        return []
    found = []
    for line in deque(file.read_text(encoding="utf-8", errors="replace").splitlines(), _EVENTS_KEPT):
        try:
            found.append(Event(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def _write(file: Path, events: Sequence[Event], mode: str) -> None:
    """A full disk costs the line, not the run."""
    try:
        with file.open(mode, encoding="utf-8") as lines:
            lines.writelines(json.dumps(asdict(event), ensure_ascii=False) + "\n" for event in events)
    except OSError:
        return

"""The app behind a server: what runs, how it is, and what is asked of it. No web library in here."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.engine import Engine
from penstock.errors import NameFault
from penstock.observe.health import Health, health
from penstock.observe.progress import Progress
from penstock.observe.timeline import Event, TimeLine
from penstock.schema import Schema, columns
from penstock.store.protocol import Store
from penstock.subscribe.epochs import PublicEpochs

_IDLE_S = 3.0
_COUNTED_S = 1.0


@dataclass(frozen=True)
class Known:
    """A view's columns and key, as the store has them."""

    schema: Schema
    key: tuple[str, ...] | None


@dataclass
class Host:
    """One engine that runs on another thread, and the latest that it reported."""

    engine: Engine
    progress: Sequence[Progress] = ()
    has_run: bool = False
    changing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.store: Store = self.engine.results()
        self.epochs = PublicEpochs(self.store)
        self._counting = threading.Lock()
        self._counts: dict[str, tuple[tuple[str, int] | None, int]] = {}
        self._counted_at = float("-inf")
        self.started_at = time.time()
        self.timeline = TimeLine(self.engine.state / "timeline.jsonl")
        last = next((event for event in reversed(self.timeline.events) if not event.job), None)
        killed = last is not None and last.kind != "stop"
        self.timeline.add(Event(self.started_at, "", "restart" if killed else "start", "it had not been stopped in order" if killed else ""))

    def close(self) -> None:
        """The server was asked to end."""
        self.timeline.add(Event(time.time(), "", "stop"))

    def report(self, progress: Sequence[Progress]) -> None:
        """Called by the run, again and again."""
        self.progress = tuple(progress)
        self.timeline.take(self.progress, time.time())

    def health(self) -> Health:
        """Of all jobs; an app without views is well. At first a job is waited for until it has taken what was there, if anything was."""
        if not self.progress and not self.engine.declared.views:
            return Health("ok", ())
        found = health(self.progress, time.time(), self.engine.settings.seconds("stalled_after_s"))
        if found.ok and not self.has_run:
            waiting = [f"job {job.job} is at its first epoch" for job in self.progress if not _has_started(job, time.time())]
            found = Health("starting", tuple(waiting)) if waiting else found
        self.has_run = self.has_run or found.ok
        return found

    @property
    def ready(self) -> bool:
        """Whether the views have run since the server started."""
        return self.has_run or self.health().ok

    def view(self, name: str) -> str | None:
        """A view's name as it was declared; None where there is none."""
        if name in self.engine.declared.views:
            return name
        try:
            return self.engine.view_name(name)
        except NameFault:
            return None

    def alert_views(self) -> set[str]:
        """The views whose rows are alerts."""
        return {name for name, view in self.engine.declared.views.items() if view.alerts}

    def known(self, view: str) -> Known | None:
        """None as long as a view has not run."""
        found = self.store.schema(view)
        return None if found is None else Known(columns(found[0]), found[1])

    def epoch(self, view: str) -> int:
        """The newest epoch of a view, as readers see it."""
        return self.epochs.public(view, *(self.store.latest(view) or ("", -1)))

    def figures(self) -> dict[str, tuple[int, int]]:
        """Epoch and number of rows of every view: looked at once a second at most, whoever asks, and counted only after a new epoch."""
        with self._counting:
            now = time.monotonic()
            if now - self._counted_at >= _COUNTED_S:
                counts: dict[str, tuple[tuple[str, int] | None, int]] = {}
                for view in list(self.engine.declared.views):
                    place = self.store.latest(view)
                    before = self._counts.get(view)
                    counts[view] = before if before is not None and before[0] == place else (place, self.store.count(view))
                self._counts, self._counted_at = counts, now
            return {view: (self.epochs.public(view, *(place or ("", -1))), count) for view, (place, count) in self._counts.items()}

    def job_of(self, view: str) -> Progress | None:
        return next((job for job in self.progress if view in job.views), None)


def _has_started(job: Progress, now: float) -> bool:
    """An epoch is done, or there was none to do for a moment."""
    return job.epoch >= 0 or (job.busy_since is None and now - job.moved_at > _IDLE_S)

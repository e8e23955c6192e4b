"""How much flows along each arrow of the app's graph: rows that a job reads of a stream, changes that a view gives to those who read it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.observe.progress import Progress
from penstock.store.protocol import Store

_EVERY_S = 1.0
_OVER_S = 10.0
_STALE_S = 30.0


class _Sample(NamedTuple):
    at: float
    read: dict[tuple[str, str], int]
    """Rows so far, by view and stream."""
    changed: dict[str, int]
    """Changes so far, by view."""


class Rates:
    """Over the last ten seconds; looks at most once a second, whoever asks."""

    def __init__(self, store: Store, progress: Callable[[], Sequence[Progress]], views: Callable[[], set[str]]) -> None:
        self._store, self._progress, self._views = store, progress, views
        self._guard = threading.Lock()
        self._samples: deque[_Sample] = deque()
        self._places: dict[str, tuple[str, int]] = {}
        self._changed: dict[str, int] = {}

    def of(self, arrows: tuple[tuple[str, str], ...]) -> list[float | None]:
        """For each arrow, in rows or changes per second; None: nothing is known, as of a table, which does not flow."""
        with self._guard:
            now = time.monotonic()
            if self._samples and now - self._samples[-1].at > _STALE_S:
                self._samples.clear()
            if not self._samples or now - self._samples[-1].at >= _EVERY_S:
                self._samples.append(self._sample(now, {source for source, _ in arrows}))
            while now - self._samples[0].at > _OVER_S:
                self._samples.popleft()
            first, last = self._samples[0], self._samples[-1]
        return [_rate(first, last, source, target) for source, target in arrows]

    def _sample(self, now: float, sources: set[str]) -> _Sample:
        read = {(view, intake.stream): intake.rows for job in self._progress() for view in job.views for intake in job.streams}
        for view in sources & self._views():
            place = self._store.latest(view)
            before = self._places.get(view)
            if place is not None and place != before:
                if before is not None and before[0] == place[0]:
                    self._changed[view] = self._changed.get(view, 0) + self._store.change_count(view, before[1], place[0])
                self._places[view] = place
            self._changed.setdefault(view, 0)
        return _Sample(now, read, dict(self._changed))


def _rate(first: _Sample, last: _Sample, source: str, target: str) -> float | None:
    elapsed_s = last.at - first.at
    if elapsed_s <= 0:
        return None
    if source in last.changed:
        return (last.changed[source] - first.changed.get(source, last.changed[source])) / elapsed_s
    rows = last.read.get((target, source))
    return None if rows is None else max(0, rows - first.read.get((target, source), 0)) / elapsed_s

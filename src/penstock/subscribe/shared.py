"""One read of the change log for all who follow a view: a thousand readers at the same place cost about as much as one.

A bounded memory of the newest epochs and snapshots that were read; who asks for something older reads the store itself. Whether there is
news is looked up once per view and moment, by whoever calls `look`; all others see what it found. `AtHand` is the memory alone, for an event loop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import closing
from itertools import islice

from penstock.change import Epoch
from penstock.store.protocol import Store
from penstock.subscribe.recent import Recent

_CHANGES_MAX = 200_000
_SNAPSHOT_ROWS_MAX = 1_000_000
_SNAPSHOT_S = 2.0
_AHEAD_MAX = 100


class NotAtHand(Exception):
    """Only the store knows. Not an error."""


class SharedReads:
    """The part of a store that a subscription reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._looking = threading.Lock()
        self._latest: dict[str, tuple[str, int] | None] = {}
        self._reported: dict[str, tuple[str, int] | None] = {}
        self._trimmed: dict[tuple[str, str], int] = {}
        self.recent = Recent(_CHANGES_MAX)
        self._snapshots: dict[str, tuple[float, Epoch]] = {}

    def look(self, view: str) -> bool:
        """Whether the view has moved since the last look."""
        found = self._refreshed(view)
        moved = view not in self._reported or self._reported[view] != found
        self._reported[view] = found
        return moved

    def read_ahead(self, view: str, since: tuple[str, int] | None) -> None:
        """Have what came after `since` at hand; no more than a few epochs."""
        if since is not None:
            generation, after = since
            for epoch in islice(self.epochs(view, after, generation), _AHEAD_MAX):
                if any(change.key is not None for change in epoch.changes):
                    self.replaced(view, generation, epoch.epoch)

    def reported(self, view: str) -> tuple[str, int] | None:
        """What the last `look` found."""
        return self._reported.get(view)

    def forget(self, view: str) -> None:
        """Nobody follows the view any more."""
        with self._looking:
            self._latest.pop(view, None)
            self._reported.pop(view, None)
        with self._guard:
            self._snapshots.pop(view, None)

    def latest(self, view: str) -> tuple[str, int] | None:
        """As of now: who reads may be given what nobody has looked at yet, and must not be taken for ahead of the log."""
        return self._refreshed(view) if view in self._latest else self._store.latest(view)

    def known_latest(self, view: str) -> tuple[str, int] | None:
        """By the last look alone; NotAtHand for a view that nobody looks at."""
        try:
            return self._latest[view]
        except KeyError:
            raise NotAtHand from None

    def _refreshed(self, view: str) -> tuple[str, int] | None:
        """Read under a lock: what is known never goes back."""
        with self._looking:
            found = self._latest[view] = self._store.latest(view)
            return found

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]:
        while True:
            known = self.recent.get(("epoch", view, generation, after)) or self._next(view, after, generation)
            if known is None:
                return
            yield known
            after = known.epoch

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]:
        known: dict[str, str] | None = self.recent.get(("replaced", view, generation, epoch))
        if known is None:
            known = self._store.replaced(view, generation, epoch)
            if self._checked(view, generation) < epoch:
                self.recent.put(("replaced", view, generation, epoch), known, 1 + len(known))
        return known

    def trimmed(self, view: str, generation: str) -> int:
        """As the newest read of this log has found it."""
        return self._trimmed.get((view, generation), -1)

    def snapshot(self, view: str) -> Epoch:
        with self._guard:
            self._drop_old_snapshots()
            known = self._snapshots.get(view)
        if known is not None and self._holds(known[1]):
            return known[1]
        found = self._store.snapshot(view)
        with self._guard:
            if sum(len(kept.changes) for _, kept in self._snapshots.values()) + len(found.changes) <= _SNAPSHOT_ROWS_MAX:
                self._snapshots[view] = (time.monotonic(), found)
        return found

    def _holds(self, snapshot: Epoch) -> bool:
        """Whether one can go on from it: its generation is there, and the log reaches back to it."""
        latest = self.latest(snapshot.view)
        return latest is not None and latest[0] == snapshot.generation and self.trimmed(snapshot.view, snapshot.generation) <= snapshot.epoch

    def _drop_old_snapshots(self) -> None:
        now = time.monotonic()
        self._snapshots = {view: kept for view, kept in self._snapshots.items() if now - kept[0] < _SNAPSHOT_S}

    def _next(self, view: str, after: int, generation: str) -> Epoch | None:
        with closing(self._store.epochs(view, after, generation)) as epochs:
            found = next(epochs, None)
        if self._checked(view, generation) <= after and found is not None:
            self.recent.put(("epoch", view, generation, after), found, 1 + len(found.changes))
        return found

    def _checked(self, view: str, generation: str) -> int:
        """What was dropped of the log, asked after every read of it: what is remembered was whole. It never goes back."""
        found = self._store.trimmed(view, generation)
        with self._guard:
            self._trimmed[view, generation] = max(found, self._trimmed.get((view, generation), -1))
            return self._trimmed[view, generation]


class AtHand:
    """What shared reads remember, and nothing else: NotAtHand instead of reading, and where an epoch has more than `most` changes."""

    def __init__(self, reads: SharedReads, most: int) -> None:
        self._reads, self._most = reads, most

    def latest(self, view: str) -> tuple[str, int] | None:
        return self._reads.known_latest(view)

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]:
        while True:
            known: Epoch | None = self._reads.recent.get(("epoch", view, generation, after))
            if known is None or len(known.changes) > self._most:
                raise NotAtHand
            yield known
            after = known.epoch

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]:
        known: dict[str, str] | None = self._reads.recent.get(("replaced", view, generation, epoch))
        if known is None:
            raise NotAtHand
        return known

    def trimmed(self, view: str, generation: str) -> int:
        return self._reads.trimmed(view, generation)

    def snapshot(self, view: str) -> Epoch:
        raise NotAtHand

"""One read of the change log for all who follow a view: a thousand readers at the same place cost about as much as one.

A bounded memory of the newest epochs and snapshots that were read; who asks for something older reads the store itself. Whether there is
news is looked up once per view and moment, by whoever calls `look`; all others see what it found.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Generator
from typing import Any

from penstock.change import Epoch
from penstock.store.protocol import Store

_CHANGES_MAX = 200_000
_SNAPSHOT_ROWS_MAX = 1_000_000
_SNAPSHOT_S = 2.0


class SharedReads:
    """The part of a store that a subscription reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._guard = threading.Lock()
        self._looking = threading.Lock()
        self._latest: dict[str, tuple[str, int] | None] = {}
        self._reported: dict[str, tuple[str, int] | None] = {}
        self._read: OrderedDict[tuple[object, ...], Any] = OrderedDict()
        self._weight = 0
        self._snapshots: dict[str, tuple[float, Epoch]] = {}

    def look(self, view: str) -> bool:
        """Whether the view has moved since the last look."""
        found = self._refreshed(view)
        moved = view not in self._reported or self._reported[view] != found
        self._reported[view] = found
        return moved

    def forget(self, view: str) -> None:
        """Nobody follows the view any more."""
        with self._looking:
            self._latest.pop(view, None)
            self._reported.pop(view, None)
        with self._guard:
            self._snapshots.pop(view, None)

    def latest(self, view: str) -> tuple[str, int] | None:
        with self._looking:
            if view in self._latest:
                return self._latest[view]
        return self._store.latest(view)

    def _refreshed(self, view: str) -> tuple[str, int] | None:
        """Read under a lock: what is known never goes back."""
        with self._looking:
            found = self._latest[view] = self._store.latest(view)
            return found

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]:
        while True:
            known = self._remembered(("epoch", view, generation, after))
            if known is None:
                known = self._next(view, after, generation)
                if known is None:
                    return
                self._remember(("epoch", view, generation, after), known, 1 + len(known.changes))
            yield known
            after = known.epoch

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]:
        known: dict[str, str] | None = self._remembered(("replaced", view, generation, epoch))
        if known is None:
            known = self._store.replaced(view, generation, epoch)
            self._remember(("replaced", view, generation, epoch), known, 1 + len(known))
        return known

    def trimmed(self, view: str, generation: str) -> int:
        return self._store.trimmed(view, generation)

    def snapshot(self, view: str) -> Epoch:
        with self._guard:
            self._drop_old_snapshots()
            known = self._snapshots.get(view)
        if known is not None:
            return known[1]
        found = self._store.snapshot(view)
        if view in self._reported:  # who has this snapshot must not be shown a log that ends before it
            self._refreshed(view)
        with self._guard:
            if sum(len(kept.changes) for _, kept in self._snapshots.values()) + len(found.changes) <= _SNAPSHOT_ROWS_MAX:
                self._snapshots[view] = (time.monotonic(), found)
        return found

    def _drop_old_snapshots(self) -> None:
        now = time.monotonic()
        self._snapshots = {view: kept for view, kept in self._snapshots.items() if now - kept[0] < _SNAPSHOT_S}

    def _next(self, view: str, after: int, generation: str) -> Epoch | None:
        epochs = self._store.epochs(view, after, generation)
        try:
            return next(epochs, None)
        finally:
            epochs.close()

    def _remembered(self, key: tuple[object, ...]) -> Any:
        with self._guard:
            if key not in self._read:
                return None
            self._read.move_to_end(key)
            return self._read[key][1]

    def _remember(self, key: tuple[object, ...], found: object, weight: int) -> None:
        if weight > _CHANGES_MAX // 4:
            return
        with self._guard:
            if key not in self._read:
                self._read[key] = (weight, found)
                self._weight += weight
            while self._weight > _CHANGES_MAX:
                _, (dropped, _) = self._read.popitem(last=False)
                self._weight -= dropped

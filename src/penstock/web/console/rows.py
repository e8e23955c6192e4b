"""The rows of one view for one page: a snapshot, then the changes, as any subscriber gets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web.follow import Feed

_EPOCHS_AT_ONCE = 200


class LiveRows:
    """Kept up to date by `take`, which never waits for news."""

    def __init__(self, feed: Feed, view: str) -> None:
        self._subscription = Subscription(feed.reads, view)
        self._copies: dict[str, tuple[str, int]] = {}

    def take(self) -> bool:
        """Applies what has come since the last call; whether there was anything."""
        moved = False
        for _ in range(_EPOCHS_AT_ONCE):
            found = self._subscription.next_changes()
            if found is None:
                break
            self._apply(found)
            moved = True
        return moved

    def __len__(self) -> int:
        return sum(copies for _, copies in self._copies.values())

    def first(self, most: int) -> list[dict[str, Any]]:
        """Rows as they are in JSON, at most so many."""
        return [json.loads(line) for line in islice(self._lines(), most)]

    def last(self, most: int) -> list[dict[str, Any]]:
        """The same, those that changed last."""
        return [json.loads(line) for line in list(self._lines())[-most:]]

    def _lines(self) -> Iterator[str]:
        for line, copies in self._copies.values():
            for _ in range(copies):
                yield line

    def _apply(self, found: Snapshot | Changes) -> None:
        if isinstance(found, Snapshot):
            self._copies = {}
        for op, key, row in found.rows if isinstance(found, Snapshot) else found.changes:
            if key is not None:
                self._copies.pop(key, None)
                if op == "+":
                    self._copies[key] = (row, 1)
                continue
            copies = self._copies.pop(row, (row, 0))[1] + (1 if op == "+" else -1)
            if copies > 0:
                self._copies[row] = (row, copies)

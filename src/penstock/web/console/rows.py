"""The rows of one view for one page: a snapshot, then the changes, as any subscriber gets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, repeat
from typing import Any

from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web.follow import Feed

_EPOCHS_AT_ONCE = 200


class LiveRows:
    """Kept up to date by `take`, which never waits for news."""

    def __init__(self, feed: Feed, view: str) -> None:
        self._subscription = Subscription(feed.reads, view)
        self._copies: dict[str, tuple[str, int]] = {}
        self._total = 0

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
        return self._total

    def last(self, most: int) -> list[dict[str, Any]]:
        """Rows as they are in JSON, at most so many: those that changed last. Costs no more than what is given."""
        return [json.loads(line) for line in islice(self._newest(), most)][::-1]

    def _newest(self) -> Iterator[str]:
        for line, copies in reversed(self._copies.values()):
            yield from repeat(line, copies)

    def _apply(self, found: Snapshot | Changes) -> None:
        if isinstance(found, Snapshot):
            self._copies, self._total = {}, 0
        for op, key, row in found.rows if isinstance(found, Snapshot) else found.changes:
            name = row if key is None else key
            before = self._copies.pop(name, (row, 0))[1]
            now = max(0, (before if key is None else 0) + (1 if op == "+" else -1))
            if now:
                self._copies[name] = (row, now)
            self._total += now - before

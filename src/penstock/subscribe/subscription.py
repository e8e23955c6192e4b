"""One reader of one view: a snapshot, then the changes of one epoch after the other, read from the store's change log.

Delivery: every change once and in order, as long as the log reaches back to the reader's place; where it does not (`expired`), or the view
was built again (`replaced`), a new snapshot takes the place of everything before. A reader costs one small query per look, and none while
it is not asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Protocol

from penstock.change import Change, Epoch
from penstock.subscribe.token import ALL, Place, decode, encode

_LOOK_EVERY_S = 0.1
Reason = Literal["start", "expired", "replaced"]


class ChangeLog(Protocol):
    """What a subscription reads of a store; see `store.protocol.Store` for what each method promises."""

    def latest(self, view: str) -> tuple[str, int] | None: ...

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]: ...

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]: ...

    def trimmed(self, view: str, generation: str) -> int: ...

    def snapshot(self, view: str) -> Epoch: ...


@dataclass(frozen=True)
class Snapshot:
    """The whole view as of an epoch, and the place after it."""

    reason: Reason
    epoch: int
    rows: Sequence[Change]
    token: str
    generation: str = ""


@dataclass(frozen=True)
class Changes:
    """Changes of one epoch, in order; `first` is the number of the first of them in its epoch."""

    view: str
    generation: str
    epoch: int
    changes: Sequence[Change]
    first: int = 0

    def token(self, index: int) -> str:
        """The place after the change at `index`."""
        return encode(Place(self.view, self.generation, self.epoch, self.first + index + 1))


class Subscription:
    """Follows a view from its snapshot, or from where a token says. One thread asks at a time; `wake` may come from any."""

    def __init__(self, store: ChangeLog, view: str, resume: str | None = None, *, look_every_s: float = _LOOK_EVERY_S) -> None:
        self._store = store
        self._view = view
        self._place = None if resume is None else decode(resume, view)
        self._look_every_s = look_every_s
        self._bell = threading.Event()

    def wake(self) -> None:
        """Look at once: somebody knows that an epoch was committed."""
        self._bell.set()

    def next_changes(self, timeout_s: float = 0.0) -> Snapshot | Changes | None:
        """What comes next; None when nothing came in that time. With no time it never waits, as an event loop needs it."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._bell.clear()
            found = self._look(self._store)
            left = deadline - time.monotonic()
            if found is not None or left <= 0:
                return found
            self._bell.wait(min(left, self._look_every_s))

    def at_hand(self, memory: ChangeLog) -> Snapshot | Changes | None:
        """What comes next by what `memory` knows; nothing has happened where it raises."""
        return self._look(memory)

    def _look(self, log: ChangeLog) -> Snapshot | Changes | None:
        if self._place is None:
            return self._snapshot(log, "start")
        latest = log.latest(self._view)
        if latest is None:
            return None
        generation, newest = latest
        place = self._place if self._place.generation else Place(self._view, generation, -1)
        if place.generation != generation:
            return self._snapshot(log, "replaced")
        if place.epoch > newest:
            return self._snapshot(log, "expired")
        if place.epoch == newest and place.seen == ALL:
            return None
        return self._logged(log, place)

    def _logged(self, log: ChangeLog, place: Place) -> Snapshot | Changes | None:
        """The changes of the next epoch that has any; what was dropped of the log is looked for afterwards, so that nothing is missed unseen."""
        after = place.epoch if place.seen == ALL else place.epoch - 1
        found: Changes | None = None
        with closing(log.epochs(self._view, after, place.generation)) as epochs:
            for epoch in epochs:
                first = max(0, place.seen) if epoch.epoch == place.epoch else 0
                rest = self._with_replaced(log, epoch)[first:]
                if rest:
                    found = Changes(self._view, place.generation, epoch.epoch, rest, first)
                    break
                place = Place(self._view, place.generation, epoch.epoch)
        if log.trimmed(self._view, place.generation) > after:
            return self._snapshot(log, "expired")
        self._place = place if found is None else Place(self._view, place.generation, found.epoch)
        return found

    def _with_replaced(self, log: ChangeLog, epoch: Epoch) -> Sequence[Change]:
        """A row that another one of its key took the place of is taken back first, as it was."""
        old = log.replaced(self._view, epoch.generation, epoch.epoch) if any(change.key is not None for change in epoch.changes) else {}
        if not old:
            return epoch.changes
        given: list[Change] = []
        for change in epoch.changes:
            if change.op == "+" and change.key is not None and change.key in old:
                given.append(Change("-", change.key, old[change.key]))
            given.append(change)
        return given

    def _snapshot(self, log: ChangeLog, reason: Reason) -> Snapshot:
        found = log.snapshot(self._view)
        self._place = Place(self._view, found.generation, found.epoch)
        return Snapshot(reason, found.epoch, found.changes, encode(self._place), found.generation)

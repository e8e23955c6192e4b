"""What subscribers are sent: events, in batches that are written once however many get them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from penstock.change import Change
from penstock.subscribe.recent import Recent
from penstock.subscribe.subscription import Changes, Snapshot

_EVENT_ROWS = 1000
_TEXT_LETTERS = 64 * 1024
_WRITTEN_CHANGES, _WRITTEN_AT_ONCE = 20_000, 1000


class Event(NamedTuple):
    """One message; `data` is JSON already."""

    event: str
    id: str | None
    data: str

    @property
    def as_sse(self) -> str:
        place = "" if self.id is None else f"id: {self.id}\n"
        return f"event: {self.event}\n{place}data: {self.data}\n\n"

    @property
    def as_message(self) -> str:
        return f'{{"event": "{self.event}", "id": {json.dumps(self.id)}, "data": {self.data}}}'


@dataclass(frozen=True, eq=False)
class Batch:
    """Events that are sent at once; without any it is a comment, for whoever waits."""

    events: tuple[Event, ...] = ()

    @cached_property
    def as_sse(self) -> bytes:
        return "".join(event.as_sse for event in self.events).encode() if self.events else b": nothing new\n\n"

    @cached_property
    def as_messages(self) -> tuple[str, ...]:
        return tuple(event.as_message for event in self.events)


class Writer:
    """Writes what a subscription gives; an epoch that all subscribers of a view get is written once."""

    def __init__(self) -> None:
        self._written = Recent(_WRITTEN_CHANGES)

    def whole(self, found: Changes, epoch: int) -> Iterable[Batch]:
        """An epoch's changes as they are; of a large one each subscriber has no more in memory than is being sent to it."""
        if found.first or len(found.changes) > _WRITTEN_AT_ONCE:
            return changes(found, None, epoch)
        key = (found.view, found.generation, found.epoch)
        written: Sequence[Batch] | None = self._written.get(key)
        if written is None:
            written = tuple(changes(found, None, epoch))
            self._written.put(key, written, len(found.changes))
        return written


def snapshot(found: Snapshot, kept: Sequence[bool] | None, epoch: int) -> Iterator[Batch]:
    """In events of so many rows; all but the last say that more come."""

    def written(more: bool) -> Batch:
        head = f'"epoch": {epoch}, "more": {json.dumps(more)}, "reason": "{found.reason}"'
        return Batch((Event("snapshot", None if more else found.token, f'{{{head}, "rows": [{", ".join(waiting)}]}}'),))

    waiting: list[str] = []
    size = 0
    for place, change in enumerate(found.rows):
        if kept is not None and not kept[place]:
            continue
        if len(waiting) == _EVENT_ROWS or size > _TEXT_LETTERS:
            yield written(True)
            waiting, size = [], 0
        waiting.append(change.row)
        size += len(change.row)
    yield written(False)


def changes(found: Changes, kept: Sequence[bool] | None, epoch: int) -> Iterator[Batch]:
    """An event for each change, those of one epoch together as far as they are not too many."""
    waiting: list[Event] = []
    size = 0
    for place, change in enumerate(found.changes):
        if kept is not None and not kept[place]:
            continue
        waiting.append(_change(change, found.token(place), epoch))
        size += len(change.row)
        if size > _TEXT_LETTERS:
            yield Batch(tuple(waiting))
            waiting, size = [], 0
    if waiting:
        yield Batch(tuple(waiting))


def _change(change: Change, token: str, epoch: int) -> Event:
    return Event("change", token, f'{{"op": "{change.op}", "key": {change.key or "null"}, "row": {change.row}, "epoch": {epoch}}}')

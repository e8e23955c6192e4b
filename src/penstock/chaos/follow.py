"""The reader's judgement: what a stranger sees of a view, held against the view's change log, one look after another.

A look may come at any moment, so it must always show a whole epoch; what was once seen must stay; nothing may be there twice. The
classes here are fed by hand in tests; `sinks` feeds them from the real places.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from penstock.change import Change
from penstock.schema import Schema

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_SHOWN = 20
TOMBSTONE = "(removed)"
Bag = Counter[Hashable]


@dataclass
class Seen:
    """What was wrong in a reader's eyes: counts, and the first few in words."""

    lost: int = 0
    duplicated: int = 0
    partial: int = 0
    retracted: int = 0
    words: list[str] = field(default_factory=list)

    def note(self, kind: str, rows: int, what: str) -> None:
        setattr(self, kind, getattr(self, kind) + rows)
        if len(self.words) < _SHOWN:
            self.words.append(f"{kind}: {what}")

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.partial or self.retracted)


def canonical(value: object) -> Hashable:
    """Equal values as equal keys, however they were written: times in any zone, decimals as text or number, objects in any order."""
    if isinstance(value, dict):
        return tuple(sorted((str(name), canonical(inner)) for name, inner in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(canonical(inner) for inner in value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float, Decimal)):
        return _number(str(value))
    return str(value)


def _text(value: str) -> Hashable:
    if _TIME.match(value):
        try:
            at = datetime.fromisoformat(value)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
        except ValueError:
            return value
    return _number(value) if value[:1] in "-0123456789" and value else value


def _number(value: str) -> Hashable:
    try:
        return str(Decimal(value).normalize())
    except InvalidOperation:
        return value


@lru_cache(maxsize=200_000)
def row(line: str) -> Hashable:
    """A row's canonical form from its JSON."""
    return canonical(json.loads(line))


@dataclass
class Log:
    """A view's change log as it was read from the store: every epoch once, never another way later. `columns` as soon as they are known."""

    view: str
    keyed: bool
    seen: Seen
    epochs: dict[int, list[Change]] = field(default_factory=dict)
    first: int = -1
    columns: Schema | None = None
    held: list[tuple[str | None, str]] = field(default_factory=list)

    def begin(self, epoch: int, rows: list[tuple[str | None, str]]) -> None:
        """The view as it stood when the reader came: (key, row) of `epoch`, from which the log is followed."""
        self.first, self.held = epoch, rows

    def learn(self, epoch: int, changes: list[Change]) -> None:
        known = self.epochs.get(epoch)
        if known is None:
            if self.epochs and epoch < max(self.epochs):
                self.seen.note("retracted", 1, f"the log of `{self.view}` got epoch {epoch} after {max(self.epochs)}")
            self.epochs[epoch] = changes
        elif known != changes:
            self.seen.note("retracted", 1, f"epoch {epoch} of `{self.view}` was logged with {len(known)} changes, then with {len(changes)}")

    @property
    def newest(self) -> int:
        return max(self.epochs, default=self.first)

    def records(self, epoch: int) -> Bag:
        """The changes of an epoch, as a sink that gives them one by one shows them."""
        removed = ("-", TOMBSTONE)
        return Counter(removed if change.op == "-" and self.keyed else (change.op, row(change.row)) for change in self.epochs.get(epoch, []))


@dataclass
class Table:
    """A place that shows the view as it stands, with the epoch that it has: the results store, a table of Postgres.

    `read` makes of a row in the log what the place shows of it.
    """

    name: str
    log: Log
    seen: Seen
    epoch: int = -1
    read: Callable[[str], Hashable] = row
    _keyed: dict[str, Hashable] = field(default_factory=dict)
    _bag: Bag = field(default_factory=Counter)
    _started: bool = False

    def look(self, epoch: int, rows: Iterable[Hashable]) -> None:
        """One look at `epoch` and all rows, in one snapshot; the log must have been read after it."""
        if not self._started:
            self._begin()
        if epoch < self.log.first:  # it is not yet where the reader came in
            return
        if epoch < self.epoch:
            self.seen.note("retracted", 1, f"{self.name} went back from epoch {self.epoch} to {epoch}")
            return
        if epoch > self.log.newest:
            self.seen.note("duplicated", 1, f"{self.name} has epoch {epoch}, which the log of `{self.log.view}` does not have")
            return
        self._advance(epoch)
        wanted = Counter(self._keyed.values()) if self.log.keyed else self._bag
        found = Counter(rows)
        if found == wanted:
            return
        more, less = found - wanted, wanted - found
        doubled = sum(count for one, count in more.items() if wanted[one])
        if doubled:
            self.seen.note("duplicated", doubled, f"{self.name} at epoch {epoch}: {doubled} rows more than once, e.g. {next(iter(more))}")
        if less or more.total() > doubled:
            rest = less.total() or more.total() - doubled
            example = next(iter(less or more))
            self.seen.note("partial", rest, f"{self.name} at epoch {epoch}: {less.total()} rows missing, {more.total()} extra, e.g. {example}")

    def _begin(self) -> None:
        self._started, self.epoch = True, self.log.first
        for key, line in self.log.held:
            self._apply(Change("+", key, line))

    def _advance(self, epoch: int) -> None:
        for number in sorted(number for number in self.log.epochs if self.epoch < number <= epoch):
            for change in self.log.epochs[number]:
                self._apply(change)
        self.epoch = epoch

    def _apply(self, change: Change) -> None:
        shown = self.read(change.row)
        if change.key is not None and self.log.keyed:
            if change.op == "+":
                self._keyed[change.key] = shown
            else:
                self._keyed.pop(change.key, None)
        elif change.op == "+":
            self._bag[shown] += 1
        else:
            self._bag[shown] -= 1
            if self._bag[shown] <= 0:
                del self._bag[shown]


@dataclass
class Records:
    """A place that gives changes one by one, each with its epoch: a topic. Epochs up to the log's first are not judged."""

    name: str
    log: Log
    seen: Seen
    repeats: bool = False
    _got: dict[int, Bag] = field(default_factory=lambda: defaultdict(Counter))
    _newest: dict[int, int] = field(default_factory=dict)

    def take(self, partition: int, epoch: int, record: Hashable) -> None:
        """One record of a partition, in its order; `repeats` says that the sink promises no more than at least once."""
        if epoch < self._newest.get(partition, -1) and not self.repeats:
            self.seen.note("duplicated", 1, f"{self.name}: epoch {epoch} again after {self._newest[partition]} in partition {partition}")
        self._newest[partition] = max(epoch, self._newest.get(partition, -1))
        self._got[epoch][record] += 1

    def finish(self) -> None:
        """Nothing more comes: every epoch of the log must be there, whole and once."""
        for epoch in sorted(number for number in {*self._got, *self.log.epochs} if number > self.log.first):
            wanted, got = self.log.records(epoch), self._got.get(epoch, Counter())
            more, less = got - wanted, wanted - got
            if more and not self.repeats:
                self.seen.note("duplicated", more.total(), f"{self.name} epoch {epoch}: {more.total()} records too many, e.g. {next(iter(more))}")
            if less:
                self.seen.note("partial" if got else "lost", less.total(), f"{self.name} epoch {epoch}: {less.total()} of {wanted.total()} missing")


@dataclass
class Epochs:
    """A place that shows each epoch by itself: folders of files."""

    name: str
    log: Log
    seen: Seen
    _had: dict[int, Bag] = field(default_factory=dict)

    def look(self, found: Mapping[int, Bag]) -> None:
        """All epochs that are there, each with its records; the log must have been read after it."""
        for epoch in self._had.keys() - found.keys():
            self.seen.note("retracted", 1, f"{self.name}: epoch {epoch} was there and is gone")
            del self._had[epoch]
        for epoch, records in found.items():
            before = self._had.get(epoch)
            if before is None:
                if epoch > self.log.first:
                    self._judge(epoch, records)
            elif before != records:
                self.seen.note("retracted", 1, f"{self.name}: epoch {epoch} has changed since it was first seen")
            self._had[epoch] = records

    def finish(self) -> None:
        for epoch, changes in self.log.epochs.items():
            if changes and epoch > self.log.first and epoch not in self._had:
                self.seen.note("lost", len(changes), f"{self.name}: epoch {epoch} with {len(changes)} changes never came")

    def _judge(self, epoch: int, records: Bag) -> None:
        wanted: Bag = Counter((change.op, row(change.row)) for change in self.log.epochs.get(epoch, []))
        more, less = records - wanted, wanted - records
        if more:
            self.seen.note("duplicated", more.total(), f"{self.name} epoch {epoch}: {more.total()} records too many, e.g. {next(iter(more))}")
        if less:
            self.seen.note("partial", less.total(), f"{self.name} epoch {epoch}: {less.total()} of {wanted.total()} records missing")

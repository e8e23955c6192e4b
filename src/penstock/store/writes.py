"""What an epoch writes, as values: decided before the store's transaction begins, so that nothing slow happens inside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from penstock.store.difference import Fresh
from penstock.store.protocol import Store
from penstock.store.writer import EpochWriter


@dataclass(frozen=True)
class Reset:
    """Forget the view's rows and its change log; and, as of a first epoch, all that its plan kept."""

    view: str
    kept: bool = False


@dataclass(frozen=True)
class Append:
    """Add one copy of each row to a view without a key."""

    view: str
    rows: Sequence[str]
    parts: Sequence[str] | None = None
    log: bool = True


@dataclass(frozen=True)
class Put:
    """Put (key, row) pairs, remove the keys that are `gone`; `keyed` is False where the key is hidden, so that readers see a bag."""

    view: str
    pairs: Sequence[tuple[str, str]]
    gone: Sequence[str] = ()
    parts: Sequence[str] | None = None
    keyed: bool = True
    log: bool = True


@dataclass(frozen=True)
class Replace:
    """The whole result, or that of its `parts`, is now `rows`; `part[i]` is the partition of `rows[i]`."""

    view: str
    rows: Sequence[tuple[str | None, str]]
    part: Sequence[str] | None = None
    parts: Sequence[str] | None = None
    ordered: bool = False
    log: bool = True


Write = Reset | Append | Put | Replace


def apply(writer: EpochWriter, writes: Iterable[Write]) -> None:
    """Write them, in order, in the transaction that `writer` has open."""
    for write in writes:
        match write:
            case Reset():
                writer.reset(write.view, kept=write.kept)
            case Append():
                writer.append(write.view, write.rows, parts=write.parts, log=write.log)
            case Put():
                put = writer.upsert if write.keyed else writer.upsert_bag
                put(write.view, write.pairs, write.gone, parts=write.parts, log=write.log)
            case Replace():
                writer.replace(write.view, write.rows, part=write.part, parts=write.parts, ordered=write.ordered, log=write.log)
            case _:
                assert_never(write)


def after(held: Sequence[Fresh], write: Write) -> list[Fresh]:
    """The rows that a view holds once the write is done, in the store's order."""
    match write:
        case Reset():
            return []
        case Append():
            return [*held, *(Fresh(None, part, row) for row, part in zip(write.rows, _each(write.parts, write.rows), strict=True))]
        case Put():
            put = {key: Fresh(key, part, row) for (key, row), part in zip(write.pairs, _each(write.parts, write.pairs), strict=True)}
            gone = set(write.gone) - put.keys()
            return list(({row.key: row for row in held if row.key not in gone} | put).values())
        case Replace():
            new = [Fresh(key, part, row) for (key, row), part in zip(write.rows, _each(write.part, write.rows), strict=True)]
            touched = None if write.parts is None else set(write.parts)
            left = [] if touched is None else [row for row in held if row.part not in touched]
            keyed = any(row.key is not None for row in new)
            return list({row.key: row for row in (*left, *new)}.values()) if keyed else [*left, *new]
        case _:
            assert_never(write)


@dataclass(frozen=True)
class Changed:
    """What an epoch makes of a view's rows: those that go, and those that come; one that stays as it is, is neither."""

    old: Sequence[str]
    new: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.old or self.new)

    @property
    def touched(self) -> Sequence[str]:
        return [*self.old, *self.new]


class RowsAsOf:
    """What views hold as of an epoch that is decided but not written: the store's rows, and on top of them what was decided so far.

    Nobody else writes the views of a job: its fence sees to that. In the `first` epoch of a generation whatever the store holds is about to go.
    """

    def __init__(self, store: Store, number: int, *, first: bool) -> None:
        self._store, self.number, self.first = store, number, first
        self.writes: list[Write] = []

    def add(self, *writes: Write) -> None:
        self.writes += writes

    def rows(self, view: str, parts: Sequence[str] | None = None) -> list[str]:
        """The view's rows, or those of its `parts`, in order of insertion."""
        own = [write for write in self.writes if write.view == view]
        known = self.first or any(isinstance(write, Reset) or (isinstance(write, Replace) and write.parts is None) for write in own)
        held = [] if known else self._store.held(view, parts)
        for write in own:
            held = after(held, write)
        chosen = None if parts is None else set(parts)
        return [row.row for row in held if chosen is None or row.part in chosen]

    def changed(self, view: str) -> Changed:
        """What the writes that were decided make of the view's rows."""
        own = [write for write in self.writes if write.view == view and not isinstance(write, Reset)]
        if self.first or not own:
            return Changed([], self.rows(view) if own else [])
        (write,) = own
        match write:
            case Append():
                return Changed([], write.rows)
            case Put():
                held = self._store.held_by_key(view, [*(key for key, _ in write.pairs), *write.gone])
                new = list(dict(write.pairs).values())
            case Replace():
                held, new = self._store.held(view, write.parts), [row for _, row in write.rows]
            case _:
                assert_never(write)
        old = [row.row for row in held]
        return Changed(without(old, new), without(new, old))

    def rows_of(self, view: str, keys: Sequence[str]) -> list[str]:
        """The view's rows with these keys, as they were before this epoch."""
        return [] if self.first else [row.row for row in self._store.held_by_key(view, keys)]

    def rows_like(self, view: str, columns: Sequence[str], changed: Changed, others: Sequence[tuple[Sequence[str], Sequence[str]]] = ()) -> list[str]:
        """The view's rows, as of this epoch, that have the values of a changed row in these columns, or of one of the `others` in theirs."""
        held = [] if self.first else [row.row for row in self._store.held_like(view, columns, changed.touched, others)]
        return [*without(held, changed.old), *changed.new]


def without(rows: Sequence[str], others: Sequence[str]) -> list[str]:
    """The rows but for the others, as bags: of a row that occurs twice one may stay."""
    taken = Counter(others)
    left: list[str] = []
    for row in rows:
        if taken[row] > 0:
            taken[row] -= 1
        else:
            left.append(row)
    return left


def _each(parts: Sequence[str] | None, rows: Sequence[object]) -> Sequence[str | None]:
    return [None] * len(rows) if parts is None else parts

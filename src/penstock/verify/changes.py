"""What a stranger holds after following a sink's changes, one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from penstock.verify.rows import Reader, Row, Values


@dataclass(frozen=True)
class ReadChange:
    """One change as it stands in a sink; `key` where the sink gives a key alone, as a tombstone does."""

    op: str
    row: Row
    key: Values | None = None


@dataclass(frozen=True)
class Delivered:
    """What a stranger finds. `epoch`: how far the view has come there. `earlier`: records that an earlier generation of the view left."""

    epoch: int
    rows: list[Row]
    repeated: list[Row]
    earlier: int = 0


def followed(reader: Reader, changes: Iterable[ReadChange], before: Iterable[ReadChange] = ()) -> tuple[list[Row], list[Row]]:
    """The rows that are there in the end, and the changes that were delivered twice; `before` is what an earlier generation of the view delivered."""
    return _by_key(reader, changes, before) if reader.key is not None else _as_bag(reader, changes)


def _by_key(reader: Reader, changes: Iterable[ReadChange], before: Iterable[ReadChange]) -> tuple[list[Row], list[Row]]:
    """The last of a key holds. An epoch changes a key once: the same change again in it was delivered twice."""
    held: dict[Values | None, Row] = {}
    for change in before:
        if change.op == "+":
            held[_key(reader, change)] = change.row
        else:
            held.pop(_key(reader, change), None)
    seen: set[tuple[int | None, str, Values | None, str]] = set()
    repeated: list[Row] = []
    for change in changes:
        key = _key(reader, change)
        mark = (change.row.epoch, change.op, key, change.row.text)
        if mark in seen:
            repeated.append(replace(change.row, place=f"{change.row.place} (delivered twice)"))
        seen.add(mark)
        if change.op == "+":
            held[key] = change.row
        else:
            held.pop(key, None)
    return list(held.values()), repeated


def _key(reader: Reader, change: ReadChange) -> Values | None:
    return change.key if change.key is not None else reader.key_of(reader.values(change.row.text))


def _as_bag(reader: Reader, changes: Iterable[ReadChange]) -> tuple[list[Row], list[Row]]:
    """Every `+` is one more copy, every `-` one less; taking back what is not there is itself a fault."""
    held: defaultdict[Values, list[Row]] = defaultdict(list)
    wrong: list[Row] = []
    for change in changes:
        values = reader.values(change.row.text)
        if change.op == "+":
            held[values].append(change.row)
        elif held.get(values):
            held[values].pop()
        else:
            wrong.append(replace(change.row, place=f"{change.row.place} (taken back, but it was not there)"))
    return [row for copies in held.values() for row in copies], wrong

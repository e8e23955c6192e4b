"""What turns one result into another: pure comparisons of rows as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class Stored(NamedTuple):
    """A row as the store holds it."""

    id: int
    key: str | None
    part: str | None
    row: str


class Fresh(NamedTuple):
    """A row as it is to be held, or is held, wherever in the store that is."""

    key: str | None
    part: str | None
    row: str


class Difference(NamedTuple):
    """`gone` are removed and `added` put; `moved` stay as they are but for their partition."""

    gone: list[Stored]
    added: list[Fresh]
    moved: list[tuple[int, str | None]]


def by_key(old: Sequence[Stored], new: Sequence[Fresh]) -> Difference:
    """Keyed rows: a key that is no longer there is gone, a new or different row is added (and replaces that of its key)."""
    wanted = {row.key: row for row in new}
    held = {row.key: row for row in old}
    gone = [row for row in old if row.key not in wanted]
    added: list[Fresh] = []
    moved: list[tuple[int, str | None]] = []
    for fresh in wanted.values():
        there = held.get(fresh.key)
        if there is None or there.row != fresh.row:
            added.append(fresh)
        elif there.part != fresh.part:
            moved.append((there.id, fresh.part))
    return Difference(gone, added, moved)


def as_bag(old: Sequence[Stored], new: Sequence[Fresh]) -> Difference:
    """Rows without keys: multiplicities count, so a row that occurs twice stays twice."""
    free: dict[str, list[Stored]] = defaultdict(list)
    for stored in reversed(old):
        free[stored.row].append(stored)
    added: list[Fresh] = []
    moved: list[tuple[int, str | None]] = []
    for fresh in new:
        same = free.get(fresh.row)
        if not same:
            added.append(fresh)
            continue
        there = same.pop()
        if there.part != fresh.part:
            moved.append((there.id, fresh.part))
    left = {stored.id for rest in free.values() for stored in rest}
    return Difference([stored for stored in old if stored.id in left], added, moved)


def common_prefix(old: Sequence[Stored], new: Sequence[Fresh]) -> int:
    """How many rows at the beginning are the same in both."""
    length = 0
    for there, fresh in zip(old, new, strict=False):
        if there[1:] != tuple(fresh):
            break
        length += 1
    return length

"""One change of a view's result, and the rows of one epoch.

A row travels as one line of JSON with the view's columns (timestamps ISO 8601 in UTC, decimals as strings, no field left
out), made by Spark. It is the one form in which rows are kept, compared, logged, delivered and printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, overload

from penstock.schema import Schema


class Change(NamedTuple):
    """`+` puts a row, `-` takes one back.

    In a keyed view `key` is a JSON object of the key's columns: `+` replaces the row of that key, `-` removes it. A view
    without a key is a bag: `key` is None, `+` adds one copy of the row, `-` removes one.
    """

    op: str
    key: str | None
    row: str


class Additions(Sequence[Change]):
    """Changes that only add rows to a bag, kept as the rows themselves: making an object of each costs as much as delivering it."""

    def __init__(self, rows: Sequence[str]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Change]:
        return map(Change, repeat("+"), repeat(None), self.rows)

    @overload
    def __getitem__(self, index: int) -> Change: ...

    @overload
    def __getitem__(self, index: slice) -> Additions: ...

    def __getitem__(self, index: int | slice) -> Change | Additions:
        return Additions(self.rows[index]) if isinstance(index, slice) else Change("+", None, self.rows[index])


class Epoch(NamedTuple):
    """What one epoch did to one view, in order; an epoch without changes is still an epoch."""

    view: str
    incarnation: str
    epoch: int
    changes: Sequence[Change]


@dataclass(frozen=True)
class Rows:
    """An answer: its columns, and its rows as JSON lines in order."""

    schema: Schema
    lines: Iterator[str]

"""One change of a view's result, and the rows of one epoch.

A row travels as one line of JSON with the view's columns (timestamps ISO 8601 in UTC, decimals as strings, no field left
out), made by Spark. It is the one form in which rows are kept, compared, logged, delivered and printed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, overload

from penstock.schema import Column, Schema

DEAD = "__dead"
"""What the name of a stream or table ends with for its dead letters."""
DEAD_COLUMNS = Schema(tuple(Column(name, "string") for name in ("position", "reason", "raw", "base64", "seen_at")))
_SHOWN_CHARS = 200


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
    generation: str
    epoch: int
    changes: Sequence[Change]


@dataclass(frozen=True)
class SetAside:
    """Records of one stream or table that are not in an answer: how many, and the first of them with its place (JSON), reason and bytes."""

    source: str
    count: int
    position: str
    reason: str
    raw: bytes

    @property
    def of_function(self) -> bool:
        """Whether they decoded, and a function of the app raised for them: the place is in its file, the bytes are what it was given."""
        return "function" in json.loads(self.position)

    @property
    def first(self) -> str:
        """The first record for people: where it is, why it was set aside, and how it begins."""
        text = self.raw.decode("utf-8", "backslashreplace")
        begin = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
        shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in begin)
        return f"{place_of(self.position)}: {self.reason}" + (f": `{shown}`" if shown else "")


def place_of(position: str) -> str:
    """A position (JSON) for people: `orders.csv line 7`, or `topic orders, partition 0, offset 12`."""
    place = json.loads(position)
    if "file" in place:
        number = next((f" {word} {place[name]}" for name, word in (("line", "line"), ("element", "record")) if place.get(name) is not None), "")
        return f"{place['file']}{number}"
    return ", ".join(f"{name} {value}" for name, value in place.items()) or "its place is not known"


@dataclass(frozen=True)
class Rows:
    """An answer: its columns, its rows as JSON lines in order, and what was set aside on the way, which is known once the rows were read."""

    schema: Schema
    lines: Iterator[str]
    dead: Callable[[], Sequence[SetAside]] = tuple

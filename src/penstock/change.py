"""One change of a view's result, and the rows of one epoch.

A row travels as one line of JSON with the view's columns (timestamps ISO 8601 in UTC, decimals as strings, no field left
out), made by Spark. It is the one form in which rows are kept, compared, logged, delivered and printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from penstock.schema import Schema


class Change(NamedTuple):
    """`+` puts a row, `-` takes one back.

    In a keyed view `key` is a JSON object of the key's columns: `+` replaces the row of that key, `-` removes it. A view
    without a key is a bag: `key` is None, `+` adds one copy of the row, `-` removes one.
    """

    op: str
    key: str | None
    row: str


class Epoch(NamedTuple):
    """What one epoch did to one view, in order; an epoch without changes is still an epoch."""

    view: str
    incarnation: str
    epoch: int
    changes: list[Change]


@dataclass(frozen=True)
class Rows:
    """An answer: its columns, and its rows as JSON lines in order."""

    schema: Schema
    lines: Iterator[str]

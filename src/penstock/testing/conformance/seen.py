"""What a condition or a measure sees of a match, for the brute force: plain Python over plain rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.testing.brute import Rows, Undecided


@dataclass(frozen=True)
class Seen:
    """The rows of a key; `labels` are the variables of the rows from `start` on, as far as they are seen. `union` names the members of subsets."""

    rows: Rows
    start: int
    labels: Sequence[str]
    whole: Sequence[str] = ()
    number: int | None = None
    union: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def final(self) -> Seen:
        """The same with all rows of the match."""
        return replace(self, labels=self.whole)

    @property
    def label(self) -> str | None:
        return self.labels[-1] if self.labels else None

    @property
    def x(self) -> Any:
        """Of the row that is tried, or shown."""
        return self.at(self.start + len(self.labels) - 1)

    def at(self, row: int | None, name: str = "x") -> Any:
        """A value of a row; None where the key has no such row."""
        return self.rows[row][name] if row is not None and 0 <= row < len(self.rows) else None

    def places(self, *names: str) -> list[int]:
        """The rows of some variables; of all, where none is named."""
        members = {member for name in names for member in dict(self.union).get(name, (name,))}
        return [self.start + place for place, label in enumerate(self.labels) if label != "\0" and (not names or label in members)]

    def first(self, *names: str, offset: int = 0) -> int | None:
        places = self.places(*names)
        return places[offset] if offset < len(places) else None

    def last(self, *names: str, offset: int = 0) -> int | None:
        places = self.places(*names)
        return places[-1 - offset] if offset < len(places) else None

    def of(self, row: int | None, shift: int = 0, name: str = "x") -> Any:
        """A value some rows before or after a row."""
        return None if row is None else self.at(row + shift, name)

    def values(self, *names: str) -> list[Any]:
        """The values of rows that are not null."""
        return [value for value in map(self.at, self.places(*names)) if value is not None]

    def total(self, *names: str) -> Any:
        return sum(self.values(*names)) if self.values(*names) else None

    def coming(self) -> Any:
        """The value of the row after the one that is tried, which may not have come yet."""
        if self.start + len(self.labels) >= len(self.rows):
            raise Undecided
        return self.at(self.start + len(self.labels))


Asked = Callable[[Seen], Any]


def asked(call: Asked, seen: Seen) -> Any:
    """What a function says; None where it compares or counts with a null."""
    try:
        return call(seen)
    except TypeError:
        return None

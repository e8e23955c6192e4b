"""What was set aside while an answer was made: records that did not decode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.change import SetAside
from penstock.interactive.html import table_html

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("source", "count", "reason", "position", "raw")


class Dead:
    """Per stream or table: how many records, and the first of them with its reason. `count` is their number in all."""

    def __init__(self, found: Sequence[SetAside]) -> None:
        self._found = tuple(found)

    @property
    def count(self) -> int:
        return sum(entry.count for entry in self._found)

    @property
    def reasons(self) -> list[str]:
        """The first reason of each stream or table."""
        return [entry.reason for entry in self._found]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[SetAside]:
        return iter(self._found)

    def __getitem__(self, index: int) -> SetAside:
        return self._found[index]

    def to_pandas(self) -> pd.DataFrame:
        """One line for each stream or table."""
        import pandas as pd

        return pd.DataFrame([[getattr(entry, name) for name in _COLUMNS] for entry in self._found], columns=list(_COLUMNS))

    def __repr__(self) -> str:
        if not self._found:
            return "nothing was set aside"
        return "; ".join(f"{entry.count:,} record{'s' * (entry.count != 1)} of `{entry.source}` set aside: {entry.reason}" for entry in self._found)

    def _repr_html_(self) -> str:
        rows = [[entry.source, f"{entry.count:,}", entry.reason, entry.position] for entry in self._found]
        return table_html(_COLUMNS[:4], rows, "" if rows else "nothing was set aside", [False, True])

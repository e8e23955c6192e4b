"""What a client gets: rows, changes, and what became of statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from penstock.schema import Column, Schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from penstock.interactive.result import Result

Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """One change: `+` a row that is there now, `-` one that is not any more, as it was.

    `token` is the place after it; the rows of a snapshot have none but the last. `reason` says why there is a snapshot (start, expired or
    replaced: it takes the place of everything before), and is None for a change. One that takes the place of others and has no rows is a
    single `-` with an empty row.
    """

    op: str
    key: Row | None
    row: Row
    epoch: int
    token: str | None
    reason: str | None = None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


@dataclass(frozen=True)
class Statements:
    """Statements that took effect, and the epoch as of which they hold."""

    epoch: int


class Rows(Sequence[Row]):
    """Rows as dicts of JSON values; as Arrow and pandas they have the view's own types."""

    def __init__(self, rows: list[Row], schema: Callable[[], Schema], *, epoch: int | None = None, truncated: bool = False) -> None:
        self._rows, self._schema = rows, schema
        self.epoch, self.truncated = epoch, truncated

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def to_dicts(self) -> list[Row]:
        return list(self._rows)

    def to_arrow(self) -> pa.Table:
        return self._result().to_arrow()

    def to_pandas(self) -> pd.DataFrame:
        return self._result().to_pandas()

    def _result(self) -> Result:
        from penstock.interactive.result import Result

        return Result(self._schema(), [json.dumps(row) for row in self._rows], epoch=self.epoch)

    def __repr__(self) -> str:
        return repr(self._result())

    def _repr_html_(self) -> str:
        return self._result()._repr_html_()


def schema_of(columns: Sequence[dict[str, str]]) -> Schema:
    """The columns of a view as the server lists them."""
    return Schema(tuple(Column(column["name"], column["type"]) for column in columns))


def rows_of_query(body: dict[str, Any]) -> Rows:
    schema = Schema(tuple(Column(name, kind) for name, kind in zip(body["columns"], body["types"], strict=True)))
    return Rows(body["rows"], lambda: schema, truncated=body["truncated"])

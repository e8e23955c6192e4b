"""Arrow columns as Python values and back, quickly: what a plain loop over rows needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

import pyarrow as pa

_PLAIN = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)


def values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values as `to_pylist` gives them; by way of numpy where that says the same."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = whole.type
    if pa.types.is_string(kind) or (whole.null_count == 0 and any(test(kind) for test in _PLAIN)):
        return list(whole.to_numpy(zero_copy_only=False).tolist())
    if whole.null_count == 0 and pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in ("UTC", None):
        naive = whole.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False).tolist()
        return naive if kind.tz is None else [value.replace(tzinfo=UTC) for value in naive]
    return list(whole.to_pylist())


def dicts(table: pa.Table) -> list[dict[str, Any]]:
    """Every row as a dict; columns that start with `__` are for the engine and left out."""
    names = [name for name in table.column_names if not name.startswith("__")]
    columns = [values(table.column(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class Unfit(Exception):
    """Values that are not what is declared."""


def table(rows: Sequence[Any], schema: pa.Schema, what: str) -> pa.Table:
    """Dicts as a table of exactly these columns; Unfit says in what they differ."""
    names = schema.names
    wanted = frozenset(names)
    for row in rows:
        if not isinstance(row, dict):
            raise Unfit(f"returned {type(row).__name__} as {what}, and not a dict of {', '.join(names)}")
        if row.keys() != wanted:
            raise Unfit(f"returned {what} with {', '.join(map(str, row)) or '(nothing)'}, but declares {', '.join(names)}")
    return pa.Table.from_arrays([array([row[entry.name] for row in rows], entry.type, entry.name) for entry in schema], schema=schema)


def array(found: list[Any], kind: pa.DataType, name: str) -> pa.Array:
    """Values as a column of the declared type."""
    try:
        return pa.array(found, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError) as error:
        raise Unfit(f"returned in `{name}` a value that is not {kind}: {str(error).splitlines()[0]}") from None

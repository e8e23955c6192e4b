"""The rows of a bucket by key and in order: which rows belong together, and which comes first, whatever order they came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int64]
_KEY = "__key"


def key_codes(tables: Sequence[pa.Table], keys: Sequence[str]) -> list[Codes]:
    """A number for the key of every row, the same for equal keys in all the tables."""
    total = sum(table.num_rows for table in tables)
    codes: Codes = np.zeros(total, dtype=np.int64)
    for key in keys:
        chunks = [chunk for table in tables for chunk in table.column(key).chunks]
        encoded = pa.chunked_array(chunks, type=tables[0].schema.field(key).type).combine_chunks().dictionary_encode()
        found = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        codes = found + 1 if key == keys[0] else np.unique(codes * (len(encoded.dictionary) + 1) + found + 1, return_inverse=True)[1].astype(np.int64)
    return list(np.split(codes, np.cumsum([table.num_rows for table in tables])[:-1]))


def in_order(rows: pa.Table, keys: Sequence[str], order: Sequence[str]) -> pa.Table:
    """The rows of a key together, by `order`; rows that are equal in it by all of their columns, so that the way they came does not matter."""
    if rows.num_rows < 2:
        return rows
    named = [*order, *(name for name in rows.column_names if name not in order and name not in keys)]
    columns = [pa.array(key_codes([rows], keys)[0]), *(_sortable(rows.column(name)) for name in named)]
    names = [_KEY, *(f"c{index}" for index in range(len(named)))]
    indices = pc.sort_indices(pa.table(columns, names=names), sort_keys=[(name, "ascending") for name in names])
    return rows.take(indices).combine_chunks()


def _sortable(column: pa.ChunkedArray) -> Any:
    """The column itself, or its texts where Arrow has no order for its type."""
    whole = column.combine_chunks()
    if pa.types.is_nested(whole.type) or pa.types.is_null(whole.type) or pa.types.is_dictionary(whole.type):
        return pa.array([repr(value) for value in whole.to_pylist()], pa.string())
    return whole


def groups(codes: Codes) -> list[tuple[int, int]]:
    """Where the rows of each key begin and end, of rows that are in order."""
    if not len(codes):
        return []
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1]))).tolist()
    return list(zip(starts, [*starts[1:], len(codes)], strict=True))


def micros(column: pa.ChunkedArray) -> Codes:
    """A column of times as microseconds since 1970."""
    whole = column.combine_chunks()
    found: Codes = whole.cast(pa.timestamp("us", whole.type.tz)).cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found

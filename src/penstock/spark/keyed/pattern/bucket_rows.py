"""The rows of a step with those that were kept, key by key: one Arrow table, and arrays that say where each key's rows stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.pattern.matches import Flags, Ints

ROW, START, NUMBER, CUT, COVERED, DEADLINE = "__row", "__start", "__number", "__cut", "__covered", "__deadline"
BOOKS = (
    pa.field(ROW, pa.bool_()),
    pa.field(START, pa.int64()),
    pa.field(NUMBER, pa.int64()),
    pa.field(CUT, pa.bool_()),
    pa.field(COVERED, pa.bool_()),
    pa.field(DEADLINE, pa.int64()),
)
"""What is kept with each row: whether it is one (else it only keeps the rest), how many rows of its key stand before the next start, the
number of the last match, whether earlier rows of the key are gone, whether the row belongs to a match, and when the start's time is over."""


@dataclass(frozen=True)
class BucketRows:
    """`table` holds the rows of the keys that this step is about; key k has rows low[k] to high[k] and goes on at start[k].

    `untouched` are the state's rows of all other keys.
    """

    table: pa.Table
    untouched: pa.Table
    low: Ints
    high: Ints
    start: Ints
    number: Ints
    cut: Flags
    covered: Flags


def state_schema(rows: pa.Schema, keys: tuple[str, ...]) -> pa.Schema:
    """The columns of a row of state: the keys, what is noted of the key, and all other columns of a row."""
    fields = [rows.field(name) for name in keys]
    rest = [field for field in rows if field.name not in keys]
    return pa.schema([*fields, *BOOKS, *rest])


def together(rows: pa.Table, state: pa.Table, keys: tuple[str, ...], clock: Clock) -> BucketRows:
    """The rows that this step is about: of keys with new rows, and of those for which a time has passed."""
    fresh = _as_state(rows, state.schema)
    both = pa.concat_tables([state, fresh])
    codes = _codes(both, keys)
    kept = state.num_rows
    touched = np.zeros(int(codes.max()) + 1 if len(codes) else 0, np.bool_)
    touched[codes[kept:]] = True
    if kept:
        deadline = _integers(state[DEADLINE], np.iinfo(np.int64).max)
        due = np.ones(kept, np.bool_) if clock.final else deadline <= (np.iinfo(np.int64).min if clock.watermark is None else clock.watermark)
        touched[codes[:kept][due]] = True
    mine = touched[codes]
    places = np.flatnonzero(mine)
    places = places[np.argsort(codes[places], kind="stable")]
    table = both.take(pa.array(places))
    return _bounded(table, state.filter(pa.array(~mine[:kept])), codes[places])


def _bounded(table: pa.Table, untouched: pa.Table, codes: Ints) -> BucketRows:
    begins = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1]))) if len(codes) else np.empty(0, np.int64)
    high = np.concatenate((begins[1:], [len(codes)])).astype(np.int64) if len(begins) else np.empty(0, np.int64)
    real, start, number = (_integers(table[name], 0) for name in (ROW, START, NUMBER))
    cut, covered = (_integers(table[name], 0).astype(np.bool_) for name in (CUT, COVERED))
    low = begins + (1 - real[begins]) if len(begins) else np.empty(0, np.int64)
    return BucketRows(table, untouched, low.astype(np.int64), high, low + start[begins], number[begins], cut[begins], covered)


def kept_rows(
    rows: BucketRows, resume: Ints, number: Ints, covered: Flags, lookback: int, deadline: Ints | None, waits: Flags, remembers: bool
) -> pa.Table:
    """The state after a step: of each key its rows from the next start on, with those before it that may be looked back at."""
    first = np.maximum(rows.low, resume - lookback)
    lengths = rows.high - first
    empty = lengths == 0
    cut = rows.cut | (first > rows.low)
    # a key without rows is kept only for what is noted of it; any of its rows may stand for it
    counts = np.where(empty & remembers, 1, lengths)
    places = _ranges(np.where(empty, rows.high - 1, first), counts)
    owner = np.repeat(np.arange(len(counts)), counts)
    table = rows.table.take(pa.array(places))
    noted = {
        ROW: pa.array(~empty[owner]),
        START: pa.array((resume - first)[owner]),
        NUMBER: pa.array(number[owner]),
        CUT: pa.array((cut | empty)[owner]),
        COVERED: pa.array(covered[places]),
        DEADLINE: pa.nulls(len(places), pa.int64()) if deadline is None else pa.array(deadline[owner], mask=~waits[owner]),
    }
    for name, values in noted.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    return pa.concat_tables([rows.untouched, table]).combine_chunks()


def _ranges(begin: Ints, counts: Ints) -> Ints:
    offsets = np.concatenate(([0], np.cumsum(counts)))[:-1]
    return np.repeat(begin - offsets, counts) + np.arange(int(counts.sum()), dtype=np.int64)


def _as_state(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    count = rows.num_rows
    noted = {
        ROW: pa.array(np.ones(count, np.bool_)),
        START: pa.array(np.zeros(count, np.int64)),
        NUMBER: pa.array(np.zeros(count, np.int64)),
        CUT: pa.array(np.zeros(count, np.bool_)),
        COVERED: pa.array(np.zeros(count, np.bool_)),
        DEADLINE: pa.nulls(count, pa.int64()),
    }
    return pa.table([noted[field.name] if field.name in noted else rows[field.name].cast(field.type) for field in schema], schema=schema)


def _codes(table: pa.Table, keys: tuple[str, ...]) -> Ints:
    """A whole number for each row, the same for rows of the same key."""
    codes = np.zeros(table.num_rows, np.int64)
    for name in keys:
        column = table[name].combine_chunks()
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        one = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = codes * (len(encoded.dictionary) + 1) + one
        if len(keys) > 1:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes


def _integers(column: pa.ChunkedArray, missing: int) -> Ints:
    values: npt.NDArray[np.int64] = pc.fill_null(column.cast(pa.int64()), missing).to_numpy()
    return values

"""What measures ask of matches, for a whole bucket: rows are found by arithmetic on flat arrays, values taken from Arrow columns as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.plan.expression.navigation import LABEL, ROWS, Aggregation, MatchNumber, Navigation, Primitive
from penstock.plan.model.matching import VALUE, Matching
from penstock.spark.keyed.pattern.history import add, result, start
from penstock.spark.keyed.pattern.matches import Flags, Ints, Matches

_DIGITS = 38


@dataclass(frozen=True)
class Shown:
    """The rows of an output: `match` each belongs to (-1: none), and how many of its rows it sees so far and in the end."""

    match: Ints
    so_far: Ints
    in_all: Ints


@dataclass(frozen=True)
class Measured:
    """Matches over a table of rows; `low` and `high` bound the partition of each match, `number` counts it (None: it does not count)."""

    matching: Matching
    table: pa.Table
    matches: Matches
    low: Ints
    high: Ints
    number: Ints | None

    def answer(self, asked: Primitive, shown: Shown, type_: pa.DataType) -> pa.Array:
        """One primitive for every row that is shown."""
        if isinstance(asked, MatchNumber):
            if self.number is None:
                return pa.nulls(len(shown.match), pa.int64())
            number = np.append(self.number, 0)[shown.match]
            return pa.array(number, pa.int64(), mask=shown.match < 0)
        upto = shown.in_all if asked.final else shown.so_far
        places, base, count = self._places(asked.variable, shown, upto)
        if isinstance(asked, Navigation):
            return self._navigated(asked, shown, places, base, count, upto)
        if asked.value == ROWS or (asked.function == "count" and not asked.distinct and self._has_no_null(asked.value)):
            return pa.array(count, pa.int64())
        return self._aggregated(asked, places, base, count, type_)

    def _places(self, variable: str | None, shown: Shown, upto: Ints) -> tuple[Ints, Ints, Ints]:
        """The places of all rows of a variable; for each row shown where its match's begin among them, and how many it sees."""
        matches = self.matches
        members = self.matching.members(variable)
        mine = np.isin(matches.labels, np.fromiter(members, np.int64, len(members)))
        counted = np.concatenate(([0], np.cumsum(mine))).astype(np.int64)
        begin = np.append(matches.offsets[:-1], 0)[shown.match]
        base = counted[begin]
        return np.flatnonzero(mine), base, counted[begin + upto] - base

    def _navigated(self, asked: Navigation, shown: Shown, places: Ints, base: Ints, count: Ints, upto: Ints) -> pa.Array:
        wanted = np.full(len(base), asked.offset) if asked.first else count - 1 - asked.offset
        there = (wanted >= 0) & (wanted < count)
        flat = np.append(places, 0)[np.where(there, base + wanted, len(places))]
        if asked.value == LABEL:
            return self._labelled(shown, flat + asked.shift, there, upto)
        row = np.append(self.matches.rows, 0)[flat] + asked.shift
        there &= (row >= np.append(self.low, 0)[shown.match]) & (row < np.append(self.high, 0)[shown.match])
        column = self.table[f"{VALUE}{self.matching.value(asked.value)}"]
        return _one(column.take(pa.array(row, mask=~there)))

    def _labelled(self, shown: Shown, flat: Ints, there: Flags, upto: Ints) -> pa.Array:
        begin = np.append(self.matches.offsets[:-1], 0)[shown.match]
        there = there & (flat >= begin) & (flat < begin + upto)
        label = np.append(self.matches.labels, 0)[np.where(there, flat, len(self.matches.labels))]
        return pa.array(self.matching.program.variables, pa.string()).take(pa.array(label, mask=~there))

    def _has_no_null(self, value: str) -> bool:
        return value != LABEL and self.table[f"{VALUE}{self.matching.value(value)}"].null_count == 0

    def _aggregated(self, asked: Aggregation, places: Ints, base: Ints, count: Ints, type_: pa.DataType) -> pa.Array:
        function = f"distinct {asked.function}" if asked.distinct else asked.function
        values = self._values(asked, places)
        found: list[Any] = []
        for begin, size in zip(base.tolist(), count.tolist(), strict=True):
            total = start(function)
            for value in values[begin : begin + size]:
                total = add(function, total, value)
            found.append(_fitted(result(function, total), type_))
        return pa.array(found, type_)

    def _values(self, asked: Aggregation, places: Ints) -> Sequence[Any]:
        if asked.value == LABEL:
            names = self.matching.program.variables
            return [names[label] for label in self.matches.labels[places].tolist()]
        column = self.table[f"{VALUE}{self.matching.value(asked.value)}"]
        values: list[Any] = column.take(pa.array(self.matches.rows[places])).to_pylist()
        return values


def _fitted(value: Any, type_: pa.DataType) -> Any:
    """An average of decimals rounded as Spark rounds it."""
    if isinstance(value, Decimal) and pa.types.is_decimal(type_):
        return value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
    return float(value) if value is not None and pa.types.is_float64(type_) else value


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def answer_type(asked: Primitive, matching: Matching, rows: pa.Schema) -> pa.DataType:
    """The type of what is asked, as Spark would give it."""
    if isinstance(asked, MatchNumber):
        return pa.int64()
    if isinstance(asked, Aggregation) and asked.function == "count":
        return pa.int64()
    value = pa.string() if asked.value == LABEL else rows.field(f"{VALUE}{matching.value(asked.value)}").type
    if isinstance(asked, Navigation) or asked.function in ("min", "max"):
        return value
    if asked.function == "collect_list":
        return pa.list_(value)
    if pa.types.is_decimal(value):
        extra = 10 if asked.function == "sum" else 4
        return pa.decimal128(min(_DIGITS, value.precision + extra), value.scale if asked.function == "sum" else min(_DIGITS, value.scale + extra))
    return (
        pa.int64() if asked.function == "sum" and pa.types.is_integer(value) else pa.duration("us") if pa.types.is_duration(value) else pa.float64()
    )


def taken(column: pa.ChunkedArray, rows: Ints) -> pa.Array:
    """The values of some rows."""
    return _one(column.take(pa.array(rows)))

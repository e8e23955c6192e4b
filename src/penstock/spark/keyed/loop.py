"""`map_with_state`: a function of the app, `fn(row, state) -> (outputs, state)`, called for every row in a plain loop over the bucket.

The state of a key is None before its first row and wherever the function returned None; else it is what the function returned: a dict of the
declared columns, one value of the declared type, or any value at all (pickled) where nothing is declared.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.keyed.bucket import Clock, Dead, Step
from penstock.spark.keyed.order import Codes, groups, key_codes, micros
from penstock.spark.keyed.pythonic import Unfit, array, dicts, table, values

VALUE = "__value"
TOUCHED = "__touched"


@dataclass(frozen=True)
class Kept:
    """How the state of a key is kept: the columns that are declared, for how long, and by which time."""

    keys: pa.Schema
    declared: pa.Schema | None
    ttl: int | None = None
    time: str | None = None

    @property
    def schema(self) -> pa.Schema:
        columns = [(VALUE, pa.binary())] if self.declared is None else list(self.declared)
        return pa.schema([*self.keys, *columns, *([] if self.ttl is None else [pa.field(TOUCHED, pa.int64())])])

    def read(self, state: pa.Table) -> list[Any]:
        """The state of every row as the function is given it."""
        if self.declared is None:
            return [pickle.loads(value) for value in values(state.column(VALUE))]
        if self.declared.names == [VALUE]:
            return values(state.column(VALUE))
        return _rows(state.select(self.declared.names))

    def write(self, keys: pa.Table, found: list[Any], touched: list[int]) -> pa.Table:
        """Keys with their states as a table; those without one are left out."""
        there = [index for index, value in enumerate(found) if value is not None]
        kept = [found[index] for index in there]
        if self.declared is None:
            columns = [pa.array([pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in kept], pa.binary())]
        elif self.declared.names == [VALUE]:
            columns = [array(kept, self.declared.field(0).type, "state")]
        else:
            columns = table(kept, self.declared, "a state").columns
        times = [] if self.ttl is None else [pa.array([touched[index] for index in there], pa.int64())]
        return pa.Table.from_arrays([*keys.take(pa.array(there, pa.int64())).columns, *columns, *times], schema=self.schema)

    def not_expired(self, state: pa.Table, clock: Clock) -> pa.Table:
        """Without what no row can ask for any more."""
        now = clock.processing_time if self.time is None else clock.watermark
        if self.ttl is None or now is None or not state.num_rows:
            return state
        return state.filter(pc.greater(state.column(TOUCHED), now - self.ttl))


def _rows(state: pa.Table) -> list[dict[str, Any]]:
    columns = [values(column) for column in state.columns]
    return [dict(zip(state.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Parted:
    """The rows of a step by key: where each key begins and ends, and what is kept of it; `others` is the state of keys without a row."""

    spans: list[tuple[int, int]]
    keys: pa.Table
    known: pa.Table
    place: list[int]
    others: pa.Table


def parted(rows: pa.Table, state: pa.Table, keys: list[str]) -> Parted:
    """`place` is the row of `known` for each key, -1 for a key that has none."""
    codes, kept = key_codes([rows, state], keys)
    spans = groups(codes)
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    position: Codes = np.full(int(max(codes.max(initial=-1), kept.max(initial=-1))) + 1, -1, dtype=np.int64)
    position[kept] = np.arange(len(kept))
    asked = position[codes[starts]]
    found = asked[asked >= 0]
    place = np.full(len(asked), -1, dtype=np.int64)
    place[asked >= 0] = np.arange(len(found))
    other = np.ones(len(kept), dtype=bool)
    other[found] = False
    return Parted(spans, rows.select(keys).take(pa.array(starts)), state.take(pa.array(found)), place.tolist(), state.filter(pa.array(other)))


@dataclass(frozen=True)
class Loop:
    """The bucket function of a scalar function."""

    call: Callable[[dict[str, Any], Any], Any]
    output: pa.Schema
    kept: Kept

    @property
    def state(self) -> pa.Schema:
        return self.kept.schema

    def step(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        parts = parted(rows, state, self.kept.keys.names)
        known = self.kept.read(parts.known)
        touched = [] if self.kept.ttl is None else values(parts.known.column(TOUCHED))
        run = _Run(self, dicts(rows), self._times(rows, clock))
        for (start, end), place in zip(parts.spans, parts.place, strict=True):
            run.key(start, end, known[place] if place >= 0 else None, touched[place] if touched and place >= 0 else None)
        new = self.kept.write(parts.keys, run.states, run.touched)
        everything = pa.concat_tables([parts.others, new]) if parts.others.num_rows else new
        return Step(table(run.outputs, self.output, "a row"), self.kept.not_expired(everything, clock), dead=tuple(run.dead))

    def _times(self, rows: pa.Table, clock: Clock) -> list[int]:
        if self.kept.ttl is None:
            return []
        return [clock.processing_time] * rows.num_rows if self.kept.time is None else micros(rows.column(self.kept.time)).tolist()


@dataclass
class _Run:
    """One step: what the keys gave so far."""

    of: Loop
    rows: list[dict[str, Any]]
    times: list[int]
    outputs: list[Any] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)

    def key(self, start: int, end: int, state: Any, touched: int | None) -> None:
        """The rows of one key; its state after them, and when it last had one."""
        call, times, ttl = self.of.call, self.times, self.of.kept.ttl
        for index in range(start, end):
            if ttl is not None:
                if touched is not None and times[index] - touched >= ttl:
                    state = None
                touched = times[index]
            try:
                answer = call(self.rows[index], state)
                if type(answer) is not tuple or len(answer) != 2:
                    raise Unfit(f"returned {_shown(answer)}, and not (outputs, state)")
                made = rows_of(answer[0])
            except Unfit:
                raise
            except Exception as error:
                self.dead.append(Dead(self.rows[index], error))
                continue
            self.outputs.extend(made)
            state = answer[1]
        self.states.append(state)
        self.touched.append(touched or 0)


def _shown(answer: Any) -> str:
    return f"{len(answer)} values" if isinstance(answer, tuple) else type(answer).__name__


def rows_of(made: Any) -> list[Any]:
    """What a function gave for a row: None, one row as a dict, or several."""
    if made is None:
        return []
    if isinstance(made, dict):
        return [made]
    if isinstance(made, Iterable) and not isinstance(made, str | bytes):
        return list(made)
    raise Unfit(f"returned {type(made).__name__} as outputs, and not a dict or a list of them")

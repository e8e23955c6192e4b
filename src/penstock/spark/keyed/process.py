"""A `ps.ProcessFunction` at work on a bucket: named states, timers and side outputs of every key.

In the order of event time rows and timers of a key alternate: a timer comes after the rows up to its time and before those behind it. So it
makes no difference in which epochs they come.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.keyed.bucket import Clock, Dead, Step
from penstock.spark.keyed.loop import VALUE, parted, rows_of
from penstock.spark.keyed.order import micros
from penstock.spark.keyed.process_state import KeyContext
from penstock.spark.keyed.pythonic import Unfit, dicts, table, values

_TIMER, _WAKE, _EXPIRES = "__timer", "__wake", "__expires"


@dataclass(frozen=True)
class Process:
    """The bucket function of a process function; `time` is the column of the event time, None where rows are taken as they come.

    `side` is the output whose columns are `output`; None: the rows that the methods return.
    """

    function: Any
    output: pa.Schema
    keys: pa.Schema
    time: str | None = None
    side: str | None = None

    @property
    def state(self) -> pa.Schema:
        return pa.schema([*self.keys, (VALUE, pa.binary()), (_TIMER, pa.int64()), (_WAKE, pa.int64()), (_EXPIRES, pa.int64())])

    def step(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        parts = parted(rows, state, self.keys.names)
        due = self._due(parts.others, clock)
        run = _Run(self, clock)
        given, times = dicts(rows), [None] * rows.num_rows if self.time is None else micros(rows.column(self.time)).tolist()
        known, keys = values(parts.known.column(VALUE)), dicts_of(parts.keys)
        for key, (start, end), place in zip(keys, parts.spans, parts.place, strict=True):
            run.key(key, known[place] if place >= 0 else None, given[start:end], times[start:end])
        woken = parts.others.filter(due)
        for key, value in zip(dicts_of(woken.select(self.keys.names)), values(woken.column(VALUE)), strict=True):
            run.key(key, value, [], [])
        new = pa.Table.from_pylist(run.states, schema=self.state)
        kept = self._lasting(pa.concat_tables([parts.others.filter(pc.invert(due)), new]), clock)
        output = table([dict(row) for row in run.rows], self.output, "a row")
        sides = {} if self.side is None else {self.side: output}
        timer, wake = pc.min(kept.column(_TIMER)).as_py(), pc.min(kept.column(_WAKE)).as_py()
        return Step(output if self.side is None else self.output.empty_table(), kept, timer, sides, tuple(run.dead), wake)

    def _due(self, state: pa.Table, clock: Clock) -> pa.Array:
        """Which keys have a timer that has come."""
        timers = pc.less_equal(state.column(_TIMER), clock.watermark if clock.watermark is not None else -1)
        wakes = pc.less_equal(state.column(_WAKE), clock.processing_time)
        return pc.or_(pc.fill_null(timers, False), pc.fill_null(wakes, False))

    def _lasting(self, state: pa.Table, clock: Clock) -> pa.Table:
        now = clock.processing_time if self.time is None else clock.watermark
        return state if now is None else state.filter(pc.fill_null(pc.greater(state.column(_EXPIRES), now), True))


def dicts_of(found: pa.Table) -> list[dict[str, Any]]:
    """Keys as dicts."""
    return dicts(found) if found.num_columns else [{}] * found.num_rows


@dataclass
class _Run:
    """One step: what the keys gave so far."""

    of: Process
    clock: Clock
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)

    def key(self, key: dict[str, Any], value: bytes | None, rows: list[dict[str, Any]], times: list[int | None]) -> None:
        """Rows and timers of one key, in the order of their times."""
        cells, timers, wakes = pickle.loads(value) if value is not None else ({}, [], [])
        context = KeyContext(key, cells, timers, wakes, self.clock, self._side, has_time=self.of.time is not None)
        for row, time in zip(rows, times, strict=True):
            if time is not None:
                self._timers(context, before=time)
            context.at(time)
            self._call(self.of.function.process, context, row)
        if self.clock.watermark is not None:
            self._timers(context, before=self.clock.watermark + 1)
        while context.wakes and context.wakes[0] <= self.clock.processing_time:
            context.wakes.pop(0)
            context.at(None)
            self._call(self.of.function.on_timer, context, None)
        if context.is_empty():
            return
        kept = pickle.dumps((context.cells, context.timers, context.wakes), pickle.HIGHEST_PROTOCOL)
        found = {VALUE: kept, _TIMER: _first(context.timers), _WAKE: _first(context.wakes), _EXPIRES: context.expires()}
        self.states.append({**key, **found})

    def _timers(self, context: KeyContext, before: int) -> None:
        while context.timers and context.timers[0] < before:
            time = context.timers.pop(0)
            context.at(time)
            self._call(self.of.function.on_timer, context, None)

    def _call(self, method: Any, context: KeyContext, row: dict[str, Any] | None) -> None:
        try:
            made = rows_of(method(context) if row is None else method(row, context))
        except Unfit:
            raise
        except Exception as error:
            self.dead.append(Dead({**context.key, "timer": context.time} if row is None else row, error))
            return
        if self.of.side is None:
            self.rows.extend(made)

    def _side(self, output: str, row: Mapping[str, Any]) -> None:
        if output == self.of.side:
            self.rows.append(row)


def _first(times: list[int]) -> int | None:
    return times[0] if times else None

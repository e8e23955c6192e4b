"""A row pattern as the function of a bucket: the kept rows and the new ones are searched, matches become output rows, what waits is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import DataFault
from penstock.plan.expression.condition import Own
from penstock.plan.model.automaton import FIRST
from penstock.plan.model.matching import ANSWER, MATCHED, VALUE, Matching, lookback, numbered
from penstock.plan.model.pattern_shape import shape_of
from penstock.spark.keyed.bucket import Clock, Step
from penstock.spark.keyed.pattern.bucket_rows import BucketRows, kept_rows, state_schema, together
from penstock.spark.keyed.pattern.evaluate import conditions
from penstock.spark.keyed.pattern.history import History
from penstock.spark.keyed.pattern.kernels import Kernel
from penstock.spark.keyed.pattern.matches import Flags, Ints, Matches, Scanned
from penstock.spark.keyed.pattern.measures import Measured, Shown, answer_type, taken
from penstock.spark.keyed.pattern.scan import Scan
from penstock.spark.keyed.pattern.search import Searcher
from penstock.spark.keyed.pythonic import Unfit

TIMED_OUT = "timed_out"


@dataclass(frozen=True)
class MatchFunction:
    """`rows` are the columns of an input row: keys, the time in `time`, the values of the matching by place, and for ALL ROWS all columns.

    `kernels` may be turned off, so that tests compare them with the general matcher.
    """

    matching: Matching
    rows: pa.Schema
    keys: tuple[str, ...]
    time: str
    kernels: bool = True

    @cached_property
    def output(self) -> pa.Schema:
        shown = [field for field in self.rows if not field.name.startswith(VALUE)] if self.matching.pattern.all_rows else self._key_fields()
        asked = [pa.field(f"{ANSWER}{place}", answer_type(entry, self.matching, self.rows)) for place, entry in enumerate(self.matching.answers)]
        return pa.schema([*shown, *asked, pa.field(MATCHED, pa.bool_())])

    @cached_property
    def state(self) -> pa.Schema:
        return state_schema(self.rows, self.keys)

    def _key_fields(self) -> list[pa.Field]:
        return [self.rows.field(name) for name in self.keys]

    def step(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        """Search the rows that are ready; a start that waits for more rows is kept, with all after it."""
        try:
            return self._stepped(rows, state, clock)
        except DataFault as fault:
            raise Unfit(f"{fault.message}; {fault.hint}") from None

    def _stepped(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        bucket = together(rows, state, self.keys, clock)
        if not len(bucket.low):
            return Step(self.output.empty_table(), bucket.untouched, _earliest(bucket.untouched))
        scanned = self._scanned(bucket, clock)
        counts = np.bincount(scanned.matches.key, minlength=len(bucket.low)).astype(np.int64)
        covered = _covered(bucket, scanned.matches)
        output = self._shown(bucket, scanned.matches, self._unmatched(bucket, scanned, covered), counted=True)
        sides = {TIMED_OUT: self._shown(bucket, scanned.partial, None, counted=False)} if self.matching.pattern.timed_out else {}
        within = self.matching.within
        times = self._times(bucket)
        # a start that still waits though its time is over waits for a row, not for the clock
        deadline = None if within is None else times[np.minimum(scanned.resume, len(times) - 1)] + within
        waits = scanned.resume < bucket.high
        waits &= True if deadline is None or clock.watermark is None else deadline > clock.watermark
        remembers = numbered(self.matching) or any(step.kind == FIRST for step in self.matching.program.steps)
        kept = kept_rows(bucket, scanned.resume, bucket.number + counts, covered, lookback(self.matching), deadline, waits, remembers)
        return Step(output, kept, _earliest(kept), sides)

    def _times(self, bucket: BucketRows) -> Ints:
        column = bucket.table[self.time]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        else:
            column = pa.chunked_array([pa.nulls(len(column), pa.int64())])
        times: Ints = pc.fill_null(column, 0).to_numpy()
        return times

    def _holds(self, bucket: BucketRows) -> list[Flags | None]:
        """For each variable the truth of its condition by row, where it needs no other row."""
        found: list[Flags | None] = []
        for entry in self.matching.conditions:
            if entry is None:
                found.append(np.ones(bucket.table.num_rows, np.bool_))
            elif isinstance(entry, Own):
                column = bucket.table[f"{VALUE}{self.matching.value(entry.text)}"]
                found.append(pc.fill_null(column.cast(pa.bool_()), False).to_numpy(zero_copy_only=False).astype(np.bool_))
            else:
                found.append(None)
        return found

    def _scanned(self, bucket: BucketRows, clock: Clock) -> Scanned:
        holds, times, pattern = self._holds(bucket), self._times(bucket), self.matching.pattern
        shape = shape_of(self.matching) if self.kernels else None
        if shape is not None:
            flags = [entry for entry in holds if entry is not None]
            owner = np.repeat(np.arange(len(bucket.low)), _lengths(bucket))
            kernel = Kernel(
                bucket, flags, times, owner, self.matching.within, clock.watermark, clock.final, pattern.skip.to == "past", pattern.timed_out
            )
            scanned = kernel.scan(shape)
            if scanned is not None:
                return scanned
        history = History(self.matching)
        asks = conditions(self.matching, history)
        searcher = Searcher(
            self.matching.program,
            history,
            [None if entry is None else entry.tolist() for entry in holds],
            asks,
            times.tolist(),
            self._columns(bucket, needed=any(entry is None for entry in holds)),
            self.matching.within,
            pattern.every,
        )
        return Scan(self.matching, searcher, bucket, clock, holds).run()

    def _columns(self, bucket: BucketRows, *, needed: bool) -> Sequence[Sequence[Any]]:
        """The values of rows as Python values, for conditions that join rows."""
        if not needed:
            return ()
        return [_plain(bucket.table[f"{VALUE}{place}"]) for place in range(len(self.matching.values))]

    def _unmatched(self, bucket: BucketRows, scanned: Scanned, covered: Flags) -> Ints | None:
        """The rows that the search has passed and that belong to no match."""
        if not self.matching.pattern.unmatched:
            return None
        owner = np.repeat(np.arange(len(bucket.low)), _lengths(bucket))
        rows = np.arange(len(owner))
        return rows[(rows >= bucket.start[owner]) & (rows < scanned.resume[owner]) & ~covered]

    def _shown(self, bucket: BucketRows, matches: Matches, unmatched: Ints | None, *, counted: bool) -> pa.Table:
        """The output rows of matches."""
        pattern = self.matching.pattern
        lengths = np.diff(matches.offsets)
        every = np.arange(len(matches), dtype=np.int64)
        if not pattern.all_rows:
            rows = matches.start
            shown = Shown(every, lengths, lengths)
        else:
            kept = np.flatnonzero(~matches.excluded)
            match = np.repeat(every, lengths)[kept]
            empty = every[lengths == 0] if pattern.show_empty else every[:0]
            lone = np.empty(0, np.int64) if unmatched is None else unmatched
            nothing = np.zeros(len(empty) + len(lone), np.int64)
            rows = np.concatenate((matches.rows[kept], matches.start[empty], lone))
            shown = Shown(
                np.concatenate((match, empty, np.full(len(lone), -1, np.int64))),
                np.concatenate((kept - matches.offsets[match] + 1, nothing)),
                np.concatenate((lengths[match], nothing)),
            )
        ranks = every - np.searchsorted(matches.key, matches.key, side="left")
        number = bucket.number[matches.key] + ranks + 1 if counted else None
        measured = Measured(self.matching, bucket.table, matches, bucket.low[matches.key], bucket.high[matches.key], number)
        asked = {f"{ANSWER}{place}": entry for place, entry in enumerate(self.matching.answers)}
        columns = [
            measured.answer(asked[field.name], shown, field.type) if field.name in asked
            else pa.array(shown.match >= 0) if field.name == MATCHED
            else taken(bucket.table[field.name], rows)
            for field in self.output
        ]  # fmt: skip
        return pa.table([column.cast(field.type) for column, field in zip(columns, self.output, strict=True)], schema=self.output)


def _lengths(bucket: BucketRows) -> Ints:
    """How many rows of the table belong to each key, with a row that only keeps what is noted of the key."""
    lengths: Ints = np.diff(np.concatenate(([0], bucket.high)))
    return lengths


def _covered(bucket: BucketRows, matches: Matches) -> Flags:
    covered = bucket.covered.copy()
    covered[matches.rows] = True
    covered[matches.start] = True
    return covered


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Values as Python has them; times without a zone, for all are UTC."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"))
    values: list[Any] = column.to_pylist()
    return values


def _earliest(state: pa.Table) -> int | None:
    """When the first of the starts that wait is out of time."""
    found = pc.min(state["__deadline"]).as_py() if state.num_rows else None
    return None if found is None else int(found)

"""The general matcher: the program of a pattern run over the rows of one key, the preferred way first.

Ways that stand at the same step before the same row and remember the same go on alike, so that only the first of them is followed: the work
for one start is bounded by steps x rows wherever conditions look at the row itself or at its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.errors import DataFault
from penstock.plan.model.automaton import ABSENT, CHOOSE, DONE, FIRST, JUMP, LAST, MARK, MOVED, NOT_NEXT, TAKE, Program
from penstock.spark.keyed.pattern.evaluate import Asking, Place, Waiting
from penstock.spark.keyed.pattern.history import History, Memory

WAYS_MAX = 1_000_000
Way: TypeAlias = "tuple[Way | None, int, bool]"


@dataclass(frozen=True)
class Partition:
    """The rows of one key that there are: `low` to `high`, after rows that are gone if `cut`. `ended`: no row comes after them."""

    low: int
    high: int
    cut: bool
    ended: bool


@dataclass(frozen=True)
class Taken:
    """The rows of a match from `start`, as the variables they were taken for; `excluded` marks those that are left out of the output."""

    start: int
    labels: tuple[int, ...]
    excluded: tuple[bool, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a start: its matches (one, or every one), or the partial match that time ended."""

    matches: tuple[Taken, ...] = ()
    partial: Taken | None = None


@dataclass(frozen=True)
class Searcher:
    """A program with the rows of a bucket: for each variable a list of truth values by row, or a function that is asked."""

    program: Program
    history: History
    holds: Sequence[Sequence[bool] | None]
    asks: Sequence[Asking | None]
    times: Sequence[int]
    columns: Sequence[Sequence[Any]]
    within: int | None
    every: bool = False

    def at(self, start: int, rows: Partition, watermark: int | None, number: int) -> Outcome:
        """What matches from one row on; Waiting where that depends on rows that have not come."""
        return _Attempt(self, start, rows, watermark, number).run()


class _Attempt:
    def __init__(self, searcher: Searcher, start: int, rows: Partition, watermark: int | None, number: int) -> None:
        self._searcher = searcher
        self._start = start
        self._rows = rows
        self._until = None if searcher.within is None else searcher.times[start] + searcher.within
        self._over = rows.ended or (self._until is not None and watermark is not None and watermark >= self._until)
        self._place = Place(searcher.columns, rows.low, rows.high, rows.ended, start=start, number=number)
        self._partial: Way | None = None

    def run(self) -> Outcome:
        searcher, steps = self._searcher, self._searcher.program.steps
        stack: list[tuple[int, int, Way | None, Memory, tuple[int, ...]]] = [
            (0, self._start, None, searcher.history.empty, (-1,) * searcher.program.registers)
        ]
        seen: set[Any] = set()
        found: list[Taken] = []
        ways = 0
        while stack:
            at, row, way, memory, marks = stack.pop()
            ways += 1
            if ways > WAYS_MAX:
                raise DataFault(f"a pattern has more than {WAYS_MAX:,} ways from one row", hint="bound it with WITHIN, or skip to the next match")
            while True:
                step = steps[at]
                if step.kind == TAKE:
                    state = (at, row, memory, marks)
                    if not self._is_there(row, way) or state in seen:
                        break
                    if not searcher.every and not searcher.history.labels:
                        seen.add(state)
                    after = self._taken(step.variable, row, way, memory)
                    if after is None:
                        break
                    memory, way, row, at = after, (way, step.variable, step.excluded), row + 1, at + 1
                elif step.kind == CHOOSE:
                    stack.append((step.to[1], row, way, memory, marks))
                    at = step.to[0]
                elif step.kind == JUMP:
                    at = step.to[0]
                elif step.kind == DONE:
                    found.append(_unrolled(self._start, way))
                    if not searcher.every:
                        return Outcome((found[0],))
                    break
                elif step.kind == MARK:
                    marks, at = (*marks[: step.register], row, *marks[step.register + 1 :]), at + 1
                elif not self._passes(step.kind, step.variable, row, way, memory, marks[step.register] if step.kind == MOVED else -1):
                    break
                else:
                    at = step.to[0]
        partial = None if found or self._partial is None else _unrolled(self._start, self._partial)
        return Outcome(tuple(dict.fromkeys(found)), partial)

    def _is_there(self, row: int, way: Way | None) -> bool:
        """Whether there is a row that may belong to the match; Waiting where it may still come."""
        in_time = self._until is None or row >= self._rows.high or self._searcher.times[row] <= self._until
        if row < self._rows.high and in_time:
            return True
        if row >= self._rows.high and not self._over:
            raise Waiting
        if self._until is not None and way is not None and self._partial is None:
            self._partial = way
        return False

    def _taken(self, variable: int, row: int, way: Way | None, memory: Memory) -> Memory | None:
        """The memory with the row as `variable`; None where its condition does not hold."""
        searcher = self._searcher
        holds = searcher.holds[variable]
        if holds is not None:
            return searcher.history.after(memory, variable, row, searcher.columns) if holds[row] else None
        after = searcher.history.after(memory, variable, row, searcher.columns)
        asks, place = searcher.asks[variable], self._place
        if asks is None:
            return after
        place.row, place.memory = row, after
        if searcher.history.labels:
            place.labels = (*_unrolled(self._start, way).labels, variable)
        return after if asks(place) is True else None

    def _passes(self, kind: str, variable: int, row: int, way: Way | None, memory: Memory, mark: int) -> bool:
        """Whether a step that takes no row lets the way through."""
        rows = self._rows
        if kind == MOVED:
            return row > mark
        if kind == FIRST:
            return row == rows.low and not rows.cut
        if kind == LAST:
            if row >= rows.high and not rows.ended:
                raise Waiting
            return row >= rows.high
        assert kind in (ABSENT, NOT_NEXT)
        last = min(rows.high, row + 1) if kind == NOT_NEXT else rows.high
        for later in range(row, last):
            if self._until is not None and self._searcher.times[later] > self._until:
                return True
            if self._taken(variable, later, way, memory) is not None:
                return False
        if (kind == ABSENT or row >= rows.high) and not self._over:
            raise Waiting
        return True


def _unrolled(start: int, way: Way | None) -> Taken:
    labels: list[int] = []
    excluded: list[bool] = []
    while way is not None:
        way, variable, left_out = way
        labels.append(variable)
        excluded.append(left_out)
    return Taken(start, tuple(reversed(labels)), tuple(reversed(excluded)))

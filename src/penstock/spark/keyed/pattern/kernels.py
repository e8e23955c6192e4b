"""Common shapes of patterns over a whole bucket at once, in numpy: no loop over rows or keys.

a b c, a{3}        so many rows in a row
a z*? b            a, then the first b; z may be any row, or what lies between
a NOT b            a, and no b in time

They serve conditions that need no other row, and AFTER MATCH SKIP PAST LAST ROW or TO NEXT ROW. The same tests hold them to the general matcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.plan.expression.condition import Own
from penstock.plan.model.matching import Matching
from penstock.plan.model.pattern import Absent, Exclude, Repeat, Term, Variable
from penstock.plan.model.pattern import Sequence as InOrder
from penstock.spark.keyed.pattern.bucket_rows import BucketRows
from penstock.spark.keyed.pattern.matches import Flags, Ints, Matches, Scanned, none, of_columns, spans

_NEVER = np.iinfo(np.int64).max
_RUN_MAX = 64


@dataclass(frozen=True)
class Shape:
    """`kind` is run, then or absent; `labels` are the variables of its places."""

    kind: str
    labels: tuple[int, ...]


def shape_of(matching: Matching) -> Shape | None:
    """The shape of a pattern, where a kernel serves it."""
    pattern = matching.pattern
    if pattern.every or pattern.skip.to not in ("past", "next") or not all(entry is None or isinstance(entry, Own) for entry in matching.conditions):
        return None
    index = {name.lower(): place for place, name in enumerate(matching.program.variables)}
    parts = pattern.term.parts if isinstance(pattern.term, InOrder) else (pattern.term,)
    match parts:
        case (Variable(first), Absent(last, next_only=False)):
            return Shape("absent", (index[first.lower()], index[last.lower()]))
        case (Variable(first), Repeat(Variable(gap), 0, None, greedy=False), Variable(last)):
            return Shape("then", (index[first.lower()], index[gap.lower()], index[last.lower()]))
        case (Variable(first), Exclude(Repeat(Variable(gap), 0, None, greedy=False)), Variable(last)) if not pattern.all_rows:
            return Shape("then", (index[first.lower()], index[gap.lower()], index[last.lower()]))
    run = _run(parts)
    return None if not run or len(run) > _RUN_MAX else Shape("run", tuple(index[name.lower()] for name in run))


def _run(parts: Sequence[Term]) -> list[str]:
    names: list[str] = []
    for part in parts:
        match part:
            case Variable(name):
                names.append(name)
            case Repeat(Variable(name), low, high) if low == high:
                names += [name] * low
            case _:
                return []
    return names


@dataclass(frozen=True)
class Kernel:
    """A shape over the rows of a bucket: `holds` gives the truth of each variable for every row, `owner` the partition of each row."""

    rows: BucketRows
    holds: Sequence[Flags]
    times: Ints
    owner: Ints
    within: int | None
    watermark: int | None
    final: bool
    past: bool

    def scan(self, shape: Shape) -> Scanned:
        if shape.kind == "absent":
            return self._absent(*shape.labels)
        if shape.kind == "then":
            return self._then(shape.labels)
        return self._run(shape.labels)

    def _candidates(self, label: int) -> Ints:
        """The rows at which a match may begin."""
        places = np.flatnonzero(self.holds[label])
        return places[places >= self.rows.start[self.owner[places]]]

    def _until(self, start: Ints) -> Ints:
        return np.full(len(start), _NEVER) if self.within is None else self.times[start] + self.within

    def _over(self, start: Ints) -> Flags:
        """For each start whether no row that comes can belong to it."""
        if self.final:
            return np.ones(len(start), np.bool_)
        if self.within is None or self.watermark is None:
            return np.zeros(len(start), np.bool_)
        over: Flags = self._until(start) <= self.watermark
        return over

    def _next(self, label: int, start: Ints) -> Ints:
        """The first row of `label` after each start in its partition; the partition's end where there is none."""
        places = np.flatnonzero(self.holds[label])
        at = np.searchsorted(places, start, side="right")
        found = np.append(places, len(self.owner))[at]
        following: Ints = np.minimum(found, self.rows.high[self.owner[start]])
        return following

    def _resumed(self, waiting: Ints) -> Ints:
        """Where each partition goes on: at the first of its starts that wait."""
        resume = self.rows.high.copy()
        np.minimum.at(resume, self.owner[waiting], waiting)
        return resume

    def _absent(self, first: int, last: int) -> Scanned:
        start = self._candidates(first)
        follows = self._next(last, start)
        high = self.rows.high[self.owner[start]]
        comes = (follows < high) & (self.times[np.minimum(follows, len(self.times) - 1)] <= self._until(start))
        later = self.times[high - 1] > self._until(start)
        over = self._over(start) | later
        found = start[~comes & over]
        return Scanned(of_columns(self.owner[found], (found,), (first,)), none(), self._resumed(start[~comes & ~over]))

    def _then(self, labels: tuple[int, ...]) -> Scanned:
        first, gap, last = labels
        start = self._candidates(first)
        end = self._next(last, start)
        high = self.rows.high[self.owner[start]]
        breaks = np.concatenate(([0], np.cumsum(~self.holds[gap])))
        unbroken = breaks[end] == breaks[start + 1]
        there = end < high
        late = self.times[np.where(there, end, high - 1)] > self._until(start)
        fits = there & unbroken & ~late
        waiting = ~there & unbroken & ~late & ~self._over(start)
        if self.past:
            begun, ended = self._disjoint(start[fits], end[fits], overlap=bool((self.holds[first] & self.holds[last]).any()))
            free = self._free(start, begun, ended)
        else:
            begun, ended, free = start[fits], end[fits], np.ones(len(start), np.bool_)
        timed = free & ~fits & ~waiting & self._broken_by_time(start, end, breaks) if self.within is not None else np.zeros(len(start), np.bool_)
        return Scanned(spans(self.owner[begun], begun, ended, labels), self._cut_short(start[timed], labels), self._resumed(start[waiting & free]))

    def _disjoint(self, start: Ints, end: Ints, *, overlap: bool) -> tuple[Ints, Ints]:
        """The matches that are left when each skips the rows of the one before; `overlap`: a row may end one and begin another."""
        if not overlap:  # starts with the same end follow the match before, so that the first of them is the one
            _, chosen = np.unique(end, return_index=True)
            return start[chosen], end[chosen]
        kept: list[int] = []
        free = -1
        for place, (begin, stop) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
            if begin >= free:
                kept.append(place)
                free = stop + 1
        return start[kept], end[kept]

    def _broken_by_time(self, start: Ints, end: Ints, breaks: Ints) -> Flags:
        """Whether time ended a start, and not a row that may not lie between."""
        high = self.rows.high[self.owner[start]]
        reach = np.minimum(end, self._reach(start, high))
        unbroken: Flags = breaks[reach] == breaks[start + 1]
        return unbroken

    def _reach(self, start: Ints, high: Ints) -> Ints:
        """For each start the first row of its partition beyond its time."""
        reach = start + 1
        until = self._until(start)
        going = np.flatnonzero(reach < high)
        low, top = reach.copy(), high.copy()
        while len(going):
            middle = (low[going] + top[going]) // 2
            inside = self.times[middle] <= until[going]
            low[going] = np.where(inside, middle + 1, low[going])
            top[going] = np.where(inside, top[going], middle)
            going = going[low[going] < top[going]]
        return low

    def _cut_short(self, start: Ints, labels: tuple[int, ...]) -> Matches:
        """Partial matches that time ended: the first row, and what lay between until then."""
        high = self.rows.high[self.owner[start]]
        matches = spans(self.owner[start], start, self._reach(start, high) - 1, labels)
        names = matches.labels.copy()
        names[matches.offsets[1:] - 1] = labels[1]
        names[matches.offsets[:-1]] = labels[0]
        return replace(matches, labels=names)

    def _free(self, start: Ints, begun: Ints, ended: Ints) -> Flags:
        """Which starts are not rows of a match that began before them; matches do not overlap."""
        at = np.searchsorted(begun, start, side="left") - 1
        inside = at >= 0
        inside[inside] = start[inside] <= ended[at[inside]]
        return ~inside

    def _run(self, labels: tuple[int, ...]) -> Scanned:
        width = len(labels)
        start = self._candidates(labels[0])
        high = self.rows.high[self.owner[start]]
        until = self._until(start)
        alive = np.ones(len(start), np.bool_)
        reached = np.zeros(len(start), np.int64)
        timed = np.zeros(len(start), np.bool_)
        short = np.zeros(len(start), np.bool_)
        for place, label in enumerate(labels):
            row = start + place
            there = row < high
            safe = np.minimum(row, len(self.times) - 1)
            late = there & (self.times[safe] > until)
            short |= alive & ~there
            timed |= alive & late
            alive &= there & ~late & self.holds[label][safe]
            reached += alive
        over = self._over(start)
        waiting = short & ~over
        timed |= short & over & (self.within is not None)
        chosen = self._apart(start, alive | waiting, width) if self.past else np.ones(len(start), np.bool_)
        found = start[alive & chosen]
        free = self._free(start, found, found + width - 1) if self.past else chosen
        matches = of_columns(self.owner[found], tuple(found + place for place in range(width)), labels)
        return Scanned(matches, self._begun(start[timed & free], reached[timed & free], labels), self._resumed(start[waiting & free]))

    def _apart(self, start: Ints, taken: Flags, width: int) -> Flags:
        """The starts that are left when each match skips the rows of the one before."""
        chosen = np.zeros(len(start), np.bool_)
        free = -1
        for place in np.flatnonzero(taken).tolist():
            if start[place] >= free:
                chosen[place] = True
                free = min(int(start[place]) + width, int(self.rows.high[self.owner[start[place]]]))
        return chosen

    def _begun(self, start: Ints, reached: Ints, labels: tuple[int, ...]) -> Matches:
        """Partial runs that time ended."""
        begun = reached > 0
        start, reached = start[begun], reached[begun]
        matches = spans(self.owner[start], start, start + reached - 1, (0, 0, 0))
        place = np.arange(len(matches.rows)) - np.repeat(matches.offsets[:-1], reached)
        return replace(matches, labels=np.asarray(labels, np.int64)[place])

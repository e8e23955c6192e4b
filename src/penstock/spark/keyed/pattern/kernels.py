"""Common shapes of patterns over a whole bucket at once, in numpy: no loop over rows or keys.

The shapes are those of `plan/model/pattern_shape.py`. The same tests hold them to the general matcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.plan.model.pattern_shape import Shape
from penstock.spark.keyed.pattern.bucket_rows import BucketRows
from penstock.spark.keyed.pattern.matches import Flags, Ints, Matches, Scanned, chains, none, of_columns, stretches

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Kernel:
    """A shape over the rows of a bucket: `holds` gives the truth of each variable for every row, `owner` the partition of each row.

    `partial`: what time ended is asked for.
    """

    rows: BucketRows
    holds: Sequence[Flags]
    times: Ints
    owner: Ints
    within: int | None
    watermark: int | None
    final: bool
    past: bool
    partial: bool

    def scan(self, shape: Shape) -> Scanned | None:
        """What comes of the rows; None where they are such that a chain does not decide itself step by step."""
        if shape.kind == "absent":
            return self._absent(*shape.labels)
        if shape.kind == "chain":
            return self._chain(shape) if self._decides(shape) else None
        if shape.kind == "loop":
            return self._loop(shape)
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

    def _decides(self, shape: Shape) -> bool:
        """Whether the first row that fits a step is the only one worth trying: no later one could do better after it."""
        breaks = False
        for gap, label in zip(reversed(shape.gaps), reversed(shape.labels), strict=False):
            if breaks and bool((self.holds[gap] & self.holds[label]).any()):
                return False
            breaks = breaks or not bool((self.holds[gap] | self.holds[label]).all())
        return True

    def _chain(self, shape: Shape) -> Scanned:
        start = self._candidates(shape.labels[0])
        high = self.rows.high[self.owner[start]]
        reach = self._reach(start, high)
        places, unbroken, in_time = [start], np.ones(len(start), np.bool_), np.ones(len(start), np.bool_)
        for gap, label in zip(shape.gaps, shape.labels[1:], strict=True):
            breaks = np.concatenate(([0], np.cumsum(~self.holds[gap])))
            begin = np.minimum(places[-1] + 1, high)
            end = self._next(label, begin - 1)
            unbroken &= breaks[end] == breaks[begin]
            in_time &= breaks[np.minimum(end, reach)] == breaks[np.minimum(begin, reach)]
            places.append(end)
        end = places[-1]
        there = end < high
        late = self.times[np.where(there, end, high - 1)] > self._until(start)
        waiting = ~there & unbroken & ~late & ~self._over(start)
        return self._settled(shape, places, there & unbroken & ~late, waiting, in_time & ~waiting, reach)

    def _loop(self, shape: Shape) -> Scanned | None:
        """None where a row could end the loop as well as go on with it."""
        first, last = shape.labels
        if bool((self.holds[first] & self.holds[last]).any()):
            return None
        start = self._candidates(first)
        high = self.rows.high[self.owner[start]]
        reach = self._reach(start, high)
        others = np.append(np.flatnonzero(~self.holds[first]), len(self.owner))
        end = np.minimum(others[np.searchsorted(others, start)], high)
        row = np.minimum(end, high - 1)
        fits = (end < reach) & self.holds[last][row] & (end - start >= shape.low)
        waiting = (end == high) & (reach == high) & ~self._over(start)
        return self._settled(shape, [start, end], fits, waiting, (reach <= end) & ~waiting, reach)

    def _settled(self, shape: Shape, places: list[Ints], fits: Flags, waiting: Flags, timed: Flags, reach: Ints) -> Scanned:
        """The matches of the starts that fit, and of those that time ended what there is of them up to `reach`."""
        start, end = places[0], places[-1]
        found = np.flatnonzero(fits)
        free = np.ones(len(start), np.bool_)
        if self.past:
            found = found[self._disjoint(start[found], end[found])]
            free = self._free(start, start[found], end[found])
        cut = np.flatnonzero(free & ~fits & timed) if self.partial else found[:0]
        matches, partial = (
            chains(self.owner[start[chosen]], [place[chosen] for place in places], stop[chosen], shape)
            for chosen, stop in ((found, end + 1), (cut, reach))
        )
        return Scanned(matches, partial, self._resumed(start[waiting & free]))

    def _disjoint(self, start: Ints, end: Ints) -> list[int]:
        """The matches that are left when each skips the rows of the one before."""
        kept: list[int] = []
        free = -1
        for place, (begin, stop) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
            if begin >= free:
                kept.append(place)
                free = stop + 1
        return kept

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
        timed = (timed | (short & over)) & self.partial
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
        matches = stretches(self.owner[start], start, reached)
        place = np.arange(len(matches.rows)) - np.repeat(matches.offsets[:-1], reached)
        return replace(matches, labels=np.asarray(labels, np.int64)[place])

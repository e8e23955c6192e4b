"""The search of a bucket with the general matcher: key by key, start by start, skipping as AFTER MATCH says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.errors import DataFault
from penstock.plan.model.automaton import ABSENT, DONE, FIRST, LAST, NOT_NEXT, TAKE
from penstock.plan.model.matching import Matching, lookahead
from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.pattern.bucket_rows import BucketRows
from penstock.spark.keyed.pattern.evaluate import Waiting
from penstock.spark.keyed.pattern.matches import Flags, Ints, Scanned, gathered
from penstock.spark.keyed.pattern.search import Outcome, Partition, Searcher, Taken


@dataclass(frozen=True)
class Scan:
    """One search of a bucket; `holds` are the truths of conditions by row where they are known."""

    matching: Matching
    searcher: Searcher
    rows: BucketRows
    clock: Clock
    holds: Sequence[Flags | None]

    def run(self) -> Scanned:
        keys: tuple[list[int], list[int]] = ([], [])
        found: tuple[list[Taken], list[Taken]] = ([], [])
        resume = np.empty(len(self.rows.low), np.int64)
        following = self._following().tolist()
        for key, (low, high, start, cut) in enumerate(
            zip(self.rows.low.tolist(), self.rows.high.tolist(), self.rows.start.tolist(), self.rows.cut.tolist(), strict=True)
        ):
            partition = Partition(low, high, cut, self.clock.final)
            number = int(self.rows.number[key])
            while (start := min(following[start], high)) < high:
                try:
                    outcome = self._tried(start, partition, number + 1)
                except Waiting:
                    break
                for place, entries in enumerate((outcome.matches, () if outcome.partial is None else (outcome.partial,))):
                    keys[place].extend([key] * len(entries))
                    found[place].extend(entries)
                number += len(outcome.matches)
                start = self._next(start, outcome.matches)
            resume[key] = start
        return Scanned(gathered(keys[0], found[0]), gathered(keys[1], found[1]), resume)

    def _tried(self, start: int, partition: Partition, number: int) -> Outcome:
        outcome = self.searcher.at(start, partition, self.clock.watermark, number)
        last = max((start + len(match.labels) - 1 for match in outcome.matches), default=start)
        if outcome.matches and not partition.ended and last + lookahead(self.matching) >= partition.high and lookahead(self.matching):
            raise Waiting
        return outcome

    def _next(self, start: int, matches: tuple[Taken, ...]) -> int:
        """The row at which the search goes on after a start."""
        skip = self.matching.pattern.skip
        if not matches or skip.to == "next" or not matches[0].labels:
            return start + 1
        longest = max(matches, key=lambda match: len(match.labels))
        if skip.to == "past":
            return start + len(longest.labels)
        members = self.matching.members(skip.variable)
        places = [place for place, label in enumerate(longest.labels) if label in members]
        if not places:
            message = f"a match has no row of `{skip.variable}` to skip to"
            raise DataFault(message, hint="skip to a variable that every match has, to the next row, or past the last row")
        place = places[0] if skip.to == "first" else places[-1]
        if place == 0:
            message = f"the row of `{skip.variable}` to skip to is the first of its match: the search would go round in circles"
            raise DataFault(message, hint="skip to a later variable, to the next row, or past the last row")
        return start + place

    def _following(self) -> Ints:
        """For each row the next one, or itself, at which a match may begin as far as conditions that are known say."""
        count = len(self.rows.covered)
        first = _first_variables(self.matching)
        begins = np.ones(count, np.bool_)
        known = [] if first is None else [holds for variable in first if (holds := self.holds[variable]) is not None]
        if first is not None and len(known) == len(first):
            begins = np.logical_or.reduce(known) if known else np.zeros(count, np.bool_)
        places = np.append(np.where(begins, np.arange(count), count), count)
        following: Ints = np.minimum.accumulate(places[::-1])[::-1]
        return following


def _first_variables(matching: Matching) -> set[int] | None:
    """The variables that the first row of a match may be; None where a match may have no row."""
    steps, found, stack, seen = matching.program.steps, set[int](), [0], set[int]()
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        step = steps[at]
        if step.kind in (DONE, ABSENT, NOT_NEXT, FIRST, LAST):
            return None
        if step.kind == TAKE:
            found.add(step.variable)
        else:
            stack.extend(step.to)
    return found

"""Row patterns by their definition: every way in which the rows from a start may be mapped, in the order of preference, the slow way.

It shares no code with the matcher: a second opinion. Conditions and measures are Python functions of the rows and of the mapping so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from penstock.plan.model import pattern as p

Rows = Sequence[Mapping[str, Any]]
Mapped = tuple[tuple[str, bool], ...]
"""The variable of each row of a match, and whether the row is left out of the output."""


class Undecided(Exception):
    """What matches depends on rows that have not come."""


@dataclass(frozen=True)
class Found:
    """A match: where it begins, its mapping, its number in the partition."""

    start: int
    mapped: Mapped
    number: int


@dataclass
class Result:
    """Everything that became of a partition."""

    matches: list[Found] = field(default_factory=list)
    partial: list[Found] = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)


@dataclass
class Brute:
    """One partition. `conditions` take (rows, start, labels so far with this row's); absent ones hold always. `number` is that of the next match."""

    pattern: p.Pattern
    conditions: Mapping[str, Callable[[Rows, int, Sequence[str]], Any]]
    rows: Rows
    watermark: int
    final: bool
    within: int | None = None
    lookahead: int = 0
    number: int = 1
    _partial: Mapped | None = None

    def run(self) -> Result:
        result, start, covered = Result(), 0, set[int]()
        while start < len(self.rows):
            self.number = len(result.matches) + 1
            try:
                found = self._at(start)
            except Undecided:
                break
            if not found:
                if self._partial:
                    result.partial.append(Found(start, self._partial, 0))
                if start not in covered:
                    result.unmatched.append(start)
                start += 1
                continue
            for mapped in found:
                result.matches.append(Found(start, mapped, len(result.matches) + 1))
                covered.update(range(start, start + max(1, len(mapped))))
            after = self._after(start, found)
            result.unmatched.extend(row for row in range(start, after) if row not in covered)
            start = after
        return result

    def _at(self, start: int) -> list[Mapped]:
        self._partial = None
        ways = self._ways(self.pattern.term, start, (), False)
        if self.pattern.every:
            return list(dict.fromkeys(ways))
        first = next(ways, None)
        if first is not None and self.lookahead and not self.final and start + max(1, len(first)) - 1 + self.lookahead >= len(self.rows):
            raise Undecided
        return [] if first is None else [first]

    def _ways(self, term: p.Term, start: int, done: Mapped, out: bool) -> Iterator[Mapped]:
        """Every continuation of a mapping by a term, the preferred ones first."""
        row = start + len(done)
        match term:
            case p.Variable():
                if self._comes(start, row, done) and self._holds(term.name, start, done):
                    yield (*done, (term.name, out))
            case p.Sequence():
                yield from self._sequence(term.parts, start, done, out)
            case p.Choice():
                for part in term.parts:
                    yield from self._ways(part, start, done, out)
            case p.Permute():
                for order in permutations(term.parts):
                    yield from self._sequence(order, start, done, out)
            case p.Exclude():
                yield from self._ways(term.part, start, done, True)
            case p.Repeat():
                yield from self._repeated(term, start, done, out, 0)
            case p.Anchor():
                if self._anchored(term.mark, start, row):
                    yield done
            case p.Absent():
                if self._absent(term, start, done):
                    yield done

    def _sequence(self, parts: Sequence[p.Term], start: int, done: Mapped, out: bool) -> Iterator[Mapped]:
        if not parts:
            yield done
            return
        for way in self._ways(parts[0], start, done, out):
            yield from self._sequence(parts[1:], start, way, out)

    def _repeated(self, term: p.Repeat, start: int, done: Mapped, out: bool, times: int) -> Iterator[Mapped]:
        if times < term.low:
            for way in self._ways(term.part, start, done, out):
                yield from self._repeated(term, start, way, out, times + 1)
            return
        if not term.greedy:
            yield done
        if term.high is None or times < term.high:
            for way in self._ways(term.part, start, done, out):
                if len(way) > len(done):
                    yield from self._repeated(term, start, way, out, times + 1)
        if term.greedy:
            yield done

    def _over(self, start: int) -> bool:
        return self.final or (self.within is not None and self.rows[start]["at"] + self.within <= self.watermark)

    def _in_time(self, start: int, row: int) -> bool:
        return self.within is None or bool(self.rows[row]["at"] - self.rows[start]["at"] <= self.within)

    def _comes(self, start: int, row: int, done: Mapped) -> bool:
        if row < len(self.rows) and self._in_time(start, row):
            return True
        if row >= len(self.rows) and not self._over(start):
            raise Undecided
        if self.within is not None and done and self._partial is None:
            self._partial = done
        return False

    def _holds(self, name: str, start: int, done: Mapped) -> bool:
        condition = self.conditions.get(name)
        return condition is None or condition(self.rows, start, [*(label for label, _ in done), name]) is True

    def _anchored(self, mark: str, start: int, row: int) -> bool:
        if mark == "^":
            return row == 0
        if row >= len(self.rows) and not self.final:
            raise Undecided
        return row >= len(self.rows)

    def _absent(self, term: p.Absent, start: int, done: Mapped) -> bool:
        condition = self.conditions.get(term.name)
        first = start + len(done)
        for row in range(first, min(first + 1, len(self.rows)) if term.next_only else len(self.rows)):
            if not self._in_time(start, row):
                return True
            labels = [*(label for label, _ in done), *["\0"] * (row - first), term.name]
            if condition is None or condition(self.rows, start, labels) is True:
                return False
        if (not term.next_only or first >= len(self.rows)) and not self._over(start):
            raise Undecided
        return True

    def _after(self, start: int, found: list[Mapped]) -> int:
        skip, longest = self.pattern.skip, max(found, key=len)
        if skip.to == "next" or not found[0]:
            return start + 1
        if skip.to == "past":
            return start + len(longest)
        members = {name.lower() for name in self.pattern.members(str(skip.variable))}
        places = [place for place, (label, _) in enumerate(longest) if label.lower() in members]
        place = (places[0] if skip.to == "first" else places[-1]) if places else 0
        if place == 0:
            raise ValueError("nothing to skip to")
        return start + place

"""Common shapes of patterns: those that run as vectorised kernels, and the rows that they can do without.

a b c, a{3}              so many rows in a row
a z*? b y*? c            a, then the first b, then the first c; the gaps may be any rows, or what may lie between
a{3,} b                  so many rows in a row and more, then b
a NOT b                  a, and no b in time

They serve conditions that need no other row, and AFTER MATCH SKIP PAST LAST ROW or TO NEXT ROW.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.expression.condition import Own
from penstock.plan.expression.navigation import Aggregation, MatchNumber, Primitive
from penstock.plan.model.matching import Matching, lookahead
from penstock.plan.model.pattern import Absent, Exclude, Repeat, Sequence, Term, Variable

_ROWS_MAX = 64


@dataclass(frozen=True)
class Shape:
    """`kind` is run, chain, loop or absent; `labels` are the variables of its places, `gaps` those of the rows between them in a chain or a loop.

    A loop takes its first variable `low` times at least.
    """

    kind: str
    labels: tuple[int, ...]
    gaps: tuple[int, ...] = ()
    low: int = 0


def shape_of(matching: Matching) -> Shape | None:
    """The shape of a pattern, where a kernel serves it."""
    pattern = matching.pattern
    if pattern.every or pattern.skip.to not in ("past", "next") or lookahead(matching):
        return None
    if not all(entry is None or isinstance(entry, Own) for entry in matching.conditions):
        return None
    index = {name.lower(): place for place, name in enumerate(matching.program.variables)}
    parts = _flat(pattern.term, whole=not pattern.all_rows)
    if parts is None or len(parts) > _ROWS_MAX:
        return None
    names = [index[part.name.lower()] for part in parts if isinstance(part, Variable)]
    gaps = [index[part.part.name.lower()] for part in parts if isinstance(part, Repeat) and isinstance(part.part, Variable)]
    match parts:
        case [Variable(), Absent(last, next_only=False)]:
            return Shape("absent", (*names, index[last.lower()]))
        case [Repeat(Variable(first), low, None), Variable()] if low:
            return Shape("loop", (index[first.lower()], *names), (index[first.lower()],), low)
        case [Variable(), *_] if len(names) == len(parts):
            return Shape("run", tuple(names))
        case [Variable(), _, _, *_] if len(gaps) + len(names) == len(parts) and len(parts) % 2 and all(map(_is_gap, parts[1::2])):
            return Shape("chain", tuple(names), tuple(gaps))
    return None


def _flat(term: Term, *, whole: bool) -> list[Term] | None:
    """Variables, loops and what is absent, one after the other; None where there is more to the term. `whole`: a match is shown as one row."""
    match term:
        case Variable() | Absent():
            return [term]
        case Repeat(part, low, high) if low == high:
            again = _flat(part, whole=whole)
            return None if again is None or low * len(again) > _ROWS_MAX else again * low
        case Repeat(Variable(), _, None):
            return [term]
        case Exclude(part) if whole:
            return _flat(part, whole=whole)
        case Sequence(parts):
            found = [_flat(part, whole=whole) for part in parts]
            return [each for entry in found if entry is not None for each in entry] if None not in found else None
    return None


def _is_gap(term: Term) -> bool:
    """As few rows of a variable as there may be."""
    return isinstance(term, Repeat) and isinstance(term.part, Variable) and (term.low, term.high, term.greedy) == (0, None, False)


@dataclass(frozen=True)
class Needed:
    """Values by their place: a row counts where one of `steps` is true or one of `gaps` is not."""

    steps: tuple[int, ...]
    gaps: tuple[int, ...]


def needed_rows(matching: Matching) -> Needed | None:
    """Which rows can change what comes of a pattern; None where all of them can.

    A row that no step could take, and that may lie in every gap of a chain, is passed over wherever it stands.
    """
    shape = shape_of(matching)
    if (
        shape is None
        or shape.kind == "run"
        or matching.pattern.all_rows
        or not all(_sees_no_gap(entry, shape, matching) for entry in matching.answers)
    ):
        return None
    steps, gaps = ([_value(matching, variable) for variable in dict.fromkeys(variables)] for variables in (shape.labels, shape.gaps))
    return None if None in steps else Needed(*(tuple(place for place in places if place is not None) for places in (steps, gaps)))


def way(matching: Matching) -> str:
    """How the matcher goes about a pattern, for people."""
    shape = shape_of(matching)
    if shape is None:
        return "row by row on the automaton"
    left_out = "" if needed_rows(matching) is None else "; rows that no step could take are left out before the shuffle"
    return f"vectorised, all keys of a bucket at once{left_out}"


def _value(matching: Matching, variable: int) -> int | None:
    """The place of a variable's condition among the values; None where every row may be it."""
    entry = matching.conditions[variable]
    return matching.value(entry.text) if isinstance(entry, Own) else None


def _sees_no_gap(asked: Primitive, shape: Shape, matching: Matching) -> bool:
    """Whether what a measure asks is the same without rows in gaps."""
    if isinstance(asked, MatchNumber):
        return True
    gaps = matching.members(asked.variable) & set(shape.gaps)
    if isinstance(asked, Aggregation):
        return not gaps
    at_an_end = asked.variable is None and not asked.offset and (asked.first or not matching.pattern.timed_out)
    return not asked.shift and (not gaps or at_an_end)

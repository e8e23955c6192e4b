"""A row pattern as a value: what MATCH_RECOGNIZE and `ps.seq(...)` say, before anything is compiled.

Names of variables keep their case and are compared without it. Expressions are the user's own text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Variable:
    """One row for which the variable's condition holds."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """One after the other; nothing at all where there are no parts: `()`."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Choice:
    """The first part is preferred: `a | b`."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Permute:
    """Its parts in every order; the order that is written first is preferred."""

    parts: tuple[Term, ...]


@dataclass(frozen=True)
class Repeat:
    """`low` to `high` times (None: without end); greedy prefers more, reluctant fewer."""

    part: Term
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Exclude:
    """`{- a -}`: rows that belong to the match and are left out of ALL ROWS PER MATCH."""

    part: Term


@dataclass(frozen=True)
class Anchor:
    """`^` or `$`: the first row of the partition comes next, or its last row is past."""

    mark: str


@dataclass(frozen=True)
class Absent:
    """No row of `name` follows: the very next one (`next_only`), or none until the time of WITHIN has passed."""

    name: str
    next_only: bool = False


Term: TypeAlias = Variable | Sequence | Choice | Permute | Repeat | Exclude | Anchor | Absent


@dataclass(frozen=True)
class Skip:
    """Where the next match may begin: `past`, `next`, `first` or `last` of `variable`."""

    to: str = "past"
    variable: str | None = None


@dataclass(frozen=True)
class Pattern:
    """A row pattern with all its clauses. `within` is an interval in words; `every` gives all matches of a start, not the preferred one alone;
    `timed_out` gives the partial matches that time ended, instead of the matches.

    `show_empty` and `unmatched` are options of `all_rows`.
    """

    term: Term
    define: tuple[tuple[str, str], ...] = ()
    measures: tuple[tuple[str, str], ...] = ()
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    all_rows: bool = False
    show_empty: bool = True
    unmatched: bool = False
    skip: Skip = field(default_factory=Skip)
    within: str | None = None
    every: bool = False
    timed_out: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that rows are mapped to, in the order in which the pattern names them."""
        found: dict[str, str] = {}
        for part in parts_of(self.term):
            if isinstance(part, Variable | Absent):
                found.setdefault(part.name.lower(), part.name)
        return tuple(found.values())

    def condition(self, name: str) -> str | None:
        """The condition of a variable; None where every row may be it."""
        return next((text for defined, text in self.define if defined.lower() == name.lower()), None)

    def members(self, name: str) -> tuple[str, ...]:
        """The variables that a name stands for: itself, or those of a subset."""
        united = next((names for subset, names in self.subsets if subset.lower() == name.lower()), None)
        return (name,) if united is None else united


def parts_of(term: Term) -> Iterator[Term]:
    """The term and everything in it, from the left."""
    yield term
    match term:
        case Sequence() | Choice() | Permute():
            for part in term.parts:
                yield from parts_of(part)
        case Repeat() | Exclude():
            yield from parts_of(term.part)
        case Variable() | Anchor() | Absent():
            return


def is_nullable(term: Term) -> bool:
    """Whether the term is matched by no row at all."""
    match term:
        case Variable():
            return False
        case Sequence() | Permute():
            return all(map(is_nullable, term.parts))
        case Choice():
            return any(map(is_nullable, term.parts))
        case Repeat():
            return term.low == 0 or is_nullable(term.part)
        case Exclude():
            return is_nullable(term.part)
        case Anchor() | Absent():
            return True


def is_open_ended(term: Term) -> bool:
    """Whether a match may wait for more rows: it has more than one of them, or waits for what does not come."""
    match term:
        case Variable():
            return False
        case Sequence() | Permute():
            return len(term.parts) > 1 or any(map(is_open_ended, term.parts))
        case Choice():
            return any(map(is_open_ended, term.parts))
        case Repeat():
            return term.high != 1 or is_open_ended(term.part)
        case Exclude():
            return is_open_ended(term.part)
        case Anchor() | Absent():
            return True

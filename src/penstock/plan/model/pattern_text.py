"""A row pattern in the words of SQL: what the parser read, or what the Python form means."""

from __future__ import annotations

from typing import assert_never

from penstock.plan.model.pattern import Absent, Anchor, Choice, Exclude, Pattern, Permute, Repeat, Sequence, Skip, Term, Variable
from penstock.schema import quote

_PLAIN_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def clause(pattern: Pattern, keys: tuple[str, ...], order: tuple[str, ...]) -> str:
    """MATCH_RECOGNIZE (...) as a script may hold it."""
    parts = [f"PARTITION BY {', '.join(map(name_text, keys))}"] if keys else []
    parts += [f"ORDER BY {', '.join(map(name_text, order))}"] if order else []
    if pattern.measures:
        parts.append("MEASURES " + ", ".join(f"{text} AS {name_text(name)}" for name, text in pattern.measures))
    parts.append(_rows(pattern))
    parts.append(f"AFTER MATCH SKIP {skipping(pattern.skip)}")
    within = "" if pattern.within is None else f" WITHIN INTERVAL '{pattern.within}'"
    parts.append(f"PATTERN ({term_text(pattern.term)}){within}")
    if pattern.subsets:
        parts.append("SUBSET " + ", ".join(f"{name_text(name)} = ({', '.join(map(name_text, names))})" for name, names in pattern.subsets))
    if pattern.define:
        parts.append("DEFINE " + ", ".join(f"{name_text(name)} AS {text}" for name, text in pattern.define))
    return f"MATCH_RECOGNIZE ({' '.join(parts)})"


def _rows(pattern: Pattern) -> str:
    per = "TIMED OUT MATCH" if pattern.timed_out else "EVERY MATCH" if pattern.every else "MATCH"
    if not pattern.all_rows:
        return f"ONE ROW PER {per}"
    option = "WITH UNMATCHED ROWS" if pattern.unmatched else "SHOW EMPTY MATCHES" if pattern.show_empty else "OMIT EMPTY MATCHES"
    return f"ALL ROWS PER {per} {option}"


def skipping(skip: Skip) -> str:
    """What follows AFTER MATCH SKIP."""
    if skip.variable is None:
        return "PAST LAST ROW" if skip.to == "past" else "TO NEXT ROW"
    return f"TO {skip.to.upper()} {name_text(skip.variable)}"


def term_text(term: Term) -> str:
    """What stands between the brackets of PATTERN."""
    match term:
        case Variable():
            return name_text(term.name)
        case Sequence():
            return " ".join(f"({term_text(part)})" if isinstance(part, Choice) else term_text(part) for part in term.parts) or "()"
        case Choice():
            return " | ".join(map(term_text, term.parts))
        case Permute():
            return f"PERMUTE({', '.join(map(term_text, term.parts))})"
        case Repeat():
            inner = term_text(term.part)
            return (inner if isinstance(term.part, Variable | Exclude | Permute) else f"({inner})") + quantifier(term)
        case Exclude():
            return f"{{- {term_text(term.part)} -}}"
        case Anchor():
            return term.mark
        case Absent():
            return f"NOT {'NEXT ' if term.next_only else ''}{name_text(term.name)}"
        case _:
            assert_never(term)


def quantifier(term: Repeat) -> str:
    """`*`, `+?`, `{2,3}`."""
    plain = _PLAIN_QUANTIFIERS.get((term.low, term.high))
    bounds = f"{term.low}" if term.low == term.high else f"{term.low},{'' if term.high is None else term.high}"
    return (plain or f"{{{bounds}}}") + ("" if term.greedy else "?")


def name_text(name: str) -> str:
    """A name as it may stand in SQL: quoted where it must be."""
    return name if name.isascii() and name.isidentifier() else quote(name)

"""MATCH_RECOGNIZE (...) after a relation, by SQL:2016, with Flink's WITHIN and one extension for absence.

PATTERN (a NOT b) WITHIN INTERVAL '30' MINUTE      no b until 30 minutes after the first row have passed
PATTERN (a NOT NEXT b)                             the row after a is no b
ONE ROW PER EVERY MATCH                            all matches that begin at a row, not the preferred one alone
ONE ROW PER TIMED OUT MATCH                        what had matched so far when the time of WITHIN was over, instead of matches
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import PlanFault, TypeFault, UserError
from penstock.eventtime import format_interval, interval
from penstock.plan.expression.grammar import validate_select
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.words import UNITS
from penstock.plan.model.pattern import Pattern, Skip
from penstock.plan.sql.pattern_term import read_term

WORD = "match_recognize"
_ORDER = ("partition", "order", "measures", "rows", "after", "initial", "pattern", "within", "subset", "define")
_STANDARD = "PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH, PATTERN, WITHIN, SUBSET, DEFINE"
Range = tuple[int, int]


@dataclass(frozen=True)
class Recognized:
    """The clause with the keys and the order of its rows, and the index after it."""

    keys: tuple[str, ...]
    order: tuple[str, ...]
    pattern: Pattern
    next: int


def read(passage: Passage, low: int, high: int) -> Recognized | None:
    """The MATCH_RECOGNIZE that stands at `low`, if one does."""
    if not passage.word(low, high, WORD):
        return None
    if not passage.is_op(low + 1, high, "("):
        raise passage.fault("MATCH_RECOGNIZE wants brackets", low, low + 1, "MATCH_RECOGNIZE (PARTITION BY ... PATTERN (...) DEFINE ...)")
    close = passage.close(low + 1, high)
    clauses = _clauses(passage, low + 2, close)
    if "pattern" not in clauses:
        raise passage.fault("the PATTERN is missing", low, low + 1, "PATTERN (a b+) and DEFINE a AS ..., b AS ...")
    if "order" not in clauses:
        raise passage.fault(
            "ORDER BY is missing: a pattern is one of rows in order", low, low + 1, "ORDER BY the event time of the stream", PlanFault
        )
    begin, end = clauses["pattern"]
    term = read_term(passage, begin + 1, end - 1)
    all_rows, show_empty, unmatched, every, timed_out = _rows(passage, *clauses["rows"]) if "rows" in clauses else (False, True, False, False, False)
    pattern = Pattern(
        term,
        _named(passage, clauses.get("define"), name_first=True),
        _named(passage, clauses.get("measures"), name_first=False),
        _subsets(passage, clauses.get("subset")),
        all_rows,
        show_empty,
        unmatched,
        _skip(passage, *clauses["after"]) if "after" in clauses else Skip(),
        _within(passage, *clauses["within"]) if "within" in clauses else None,
        every,
        timed_out,
    )
    keys, order = (_columns(passage, clauses.get(name)) for name in ("partition", "order"))
    return Recognized(keys, order, pattern, close + 1)


def _clauses(passage: Passage, low: int, high: int) -> dict[str, Range]:
    """Where the content of each clause stands."""
    marks: list[tuple[int, int, str]] = []
    for index in passage.top(low, high):
        found = _clause(passage, index, high)
        if found is None or (marks and _ORDER.index(found[0]) <= _ORDER.index(marks[-1][2])):
            continue
        marks.append((index, index + found[1], found[0]))
    if not marks or marks[0][0] != low:
        raise passage.fault("this is not a clause of MATCH_RECOGNIZE", low, low + 1, f"its clauses are, in this order, {_STANDARD}")
    ends = [*(begin for begin, _, _ in marks[1:]), high]
    found_clauses = {name: (content, end) for (_, content, name), end in zip(marks, ends, strict=True)}
    for name, (content, end) in found_clauses.items():
        if content >= end and name not in ("rows", "initial"):
            raise passage.fault(f"nothing follows {name.upper()}", content - 1, content)
    begin, end = found_clauses.get("pattern", (0, 0))
    if begin < end and passage.close(begin, high) != end - 1:
        after = passage.close(begin, high) + 1
        raise passage.fault(f"`{passage.tokens[after].text}` is not expected after the pattern", after, after + 1, f"the clauses are {_STANDARD}")
    return found_clauses


def _clause(passage: Passage, index: int, high: int) -> tuple[str, int] | None:
    """The clause that may begin at a word, and how many words name it."""
    if passage.word(index, high, "partition", "order") and passage.word(index + 1, high, "by"):
        return passage.tokens[index].text.lower(), 2
    if passage.word(index, high, "one", "all") and passage.word(index + 1, high, "row", "rows") and passage.word(index + 2, high, "per"):
        return "rows", 0
    if passage.word(index, high, "after") and passage.word(index + 1, high, "match"):
        return "after", 2
    if passage.word(index, high, "pattern") and passage.is_op(index + 1, high, "("):
        return "pattern", 1
    if passage.word(index, high, "within") and not passage.word(index + 1, high, "group"):
        return "within", 1
    return _named_clause(passage, index, high)


def _named_clause(passage: Passage, index: int, high: int) -> tuple[str, int] | None:
    """MEASURES, SUBSET or DEFINE, which may be names elsewhere."""
    if passage.word(index, high, "initial", "seek") and passage.word(index + 1, high, "pattern"):
        raise passage.fault("INITIAL and SEEK belong to row patterns in windows", index, index + 1, "leave the word out", PlanFault)
    named = index + 2 < high and passage.tokens[index + 1].is_name
    if passage.word(index, high, "measures") and index + 1 < high and not passage.is_op(index + 1, high, ","):
        return "measures", 1
    if passage.word(index, high, "subset") and named and passage.is_op(index + 2, high, "="):
        return "subset", 1
    if passage.word(index, high, "define") and named and passage.word(index + 2, high, "as"):
        return "define", 1
    return None


def _columns(passage: Passage, part: Range | None) -> tuple[str, ...]:
    """The names of the columns of PARTITION BY or ORDER BY."""
    found: list[str] = []
    for low, high in passage.split(*part) if part is not None else []:
        end = high - passage.word(high - 1, high, "asc")
        if passage.word(high - 1, high, "desc") or passage.word(high - 2, high, "nulls"):
            raise passage.fault("the rows of a pattern come in ascending order", high - 1, high, "ORDER BY the event time", PlanFault)
        names = passage.tokens[low:end]
        if not names or not all(token.is_name if place % 2 == 0 else token.text == "." for place, token in enumerate(names)):
            raise passage.fault("a column is wanted here", low, high, "compute it in a SELECT below the pattern", PlanFault)
        found.append(names[-1].value)
    return tuple(found)


def _named(passage: Passage, part: Range | None, *, name_first: bool) -> tuple[tuple[str, str], ...]:
    """DEFINE name AS condition, or MEASURES expression AS name: pairs of name and text."""
    found: list[tuple[str, str]] = []
    for low, high in passage.split(*part) if part is not None else []:
        marks = [index for index in passage.top(low, high) if passage.word(index, high, "as")]
        at = (marks[0] if name_first else marks[-1]) if marks else -1
        name, text = (low, (at + 1, high)) if name_first else (high - 1, (low, at))
        wrong = at != (low + 1 if name_first else high - 2) or not passage.tokens[name].is_name or text[0] >= text[1]
        if wrong:
            form = "DEFINE a AS amount > 10, b AS ..." if name_first else "MEASURES last(a.at) AS at, ..."
            raise passage.fault("a name and its expression are wanted here", low, high, form)
        _check(passage, *text)
        if any(passage.tokens[name].value.lower() == given.lower() for given, _ in found):
            raise passage.fault(f"`{passage.tokens[name].value}` is given twice", name, name + 1)
        found.append((passage.tokens[name].value, passage.slice(*text)))
    return tuple(found)


def _check(passage: Passage, low: int, high: int) -> None:
    """SyntaxFault, in its place, unless the range is an expression."""
    select = next((index for index in range(low, high) if passage.word(index, high, "select", "over")), None)
    if select is not None:
        hint = "join the rows below the pattern, in a WITH"
        raise passage.fault("a pattern holds no SELECT and no OVER", select, select + 1, hint, PlanFault)
    begin = low + (passage.word(low, high, "running", "final") and not passage.is_op(low + 1, high, "("))
    start = passage.tokens[begin].start
    before = "".join(mark if mark == "\n" else " " for mark in passage.text[:start])
    text = passage.text[start : passage.tokens[high - 1].end]
    for index in range(begin, high):
        token = passage.tokens[index]
        if token.is_word("running", "final") and index + 2 < high and passage.tokens[index + 1].is_name and passage.is_op(index + 2, high, "("):
            text = text[: token.start - start] + " " * len(token.text) + text[token.end - start :]
    validate_select(before[:-7] + "SELECT " + text if len(before) >= 7 else "SELECT " + text, passage.file, passage.first_line, shown=passage.text)


def _subsets(passage: Passage, part: Range | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for low, high in passage.split(*part) if part is not None else []:
        if not passage.is_op(low + 1, high, "=") or not passage.is_op(low + 2, high, "(") or passage.close(low + 2, high) != high - 1:
            raise passage.fault("this is not a subset", low, high, "SUBSET u = (a, b)")
        found.append((passage.tokens[low].value, tuple(passage.tokens[begin].value for begin, _ in passage.split(low + 3, high - 1))))
    return tuple(found)


def _rows(passage: Passage, low: int, high: int) -> tuple[bool, bool, bool, bool, bool]:
    words = tuple(token.text.lower() for token in passage.tokens[low:high])
    every, timed_out = words[3:4] == ("every",), words[3:5] == ("timed", "out")
    plain = words[:3] + words[3 + every + 2 * timed_out :]
    kinds = {
        ("one", "row", "per", "match"): (False, True, False),
        ("all", "rows", "per", "match"): (True, True, False),
        ("all", "rows", "per", "match", "show", "empty", "matches"): (True, True, False),
        ("all", "rows", "per", "match", "omit", "empty", "matches"): (True, False, False),
        ("all", "rows", "per", "match", "with", "unmatched", "rows"): (True, True, True),
    }
    if plain not in kinds:
        hint = "ONE ROW PER MATCH, or ALL ROWS PER MATCH [SHOW EMPTY MATCHES | OMIT EMPTY MATCHES | WITH UNMATCHED ROWS]"
        raise passage.fault("this is not known of the rows of a match", low, high, hint)
    return (*kinds[plain], every, timed_out)


def _skip(passage: Passage, low: int, high: int) -> Skip:
    words = tuple(token.text.lower() for token in passage.tokens[low:high])
    if words == ("skip", "past", "last", "row"):
        return Skip()
    if words == ("skip", "to", "next", "row"):
        return Skip("next")
    if words[:2] == ("skip", "to") and len(words) in (3, 4) and passage.tokens[high - 1].is_name and words[2:-1] in ((), ("first",), ("last",)):
        return Skip(words[2] if len(words) == 4 else "last", passage.tokens[high - 1].value)
    raise passage.fault("this is not a way to skip", low, high, "SKIP PAST LAST ROW, SKIP TO NEXT ROW, SKIP TO [FIRST | LAST] a")


def _within(passage: Passage, low: int, high: int) -> str:
    text = " ".join(f"'{token.value}'" if token.kind == "string" else token.text for token in passage.tokens[low:high])
    if passage.word(high - 1, high, *UNITS) or passage.tokens[high - 1].kind == "string":
        try:
            micros = interval(text)
        except TypeFault as fault:
            raise passage.fault(fault.message, low, high, fault.hint, TypeFault) from None
        if micros > 0:
            return format_interval(micros)
    raise _no_interval(passage, low, high)


def _no_interval(passage: Passage, low: int, high: int) -> UserError:
    return passage.fault("WITHIN wants a time longer than nothing", low, high, "WITHIN INTERVAL '10' MINUTE")

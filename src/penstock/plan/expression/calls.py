"""Which functions an expression calls, and with what; which window() of time is among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.plan.expression.columns import is_call
from penstock.plan.expression.tokens import Token, matching, split, tokens


@dataclass(frozen=True)
class Call:
    """A function call at text[start:end], with its FILTER, WITHIN GROUP and IGNORE NULLS but without OVER (...).

    `args` are the arguments as written, without DISTINCT.
    """

    name: str
    start: int
    end: int
    over: bool
    distinct: bool
    args: tuple[str, ...] = ()
    has_clause: bool = False
    """Whether FILTER or the like follows its bracket."""


@dataclass(frozen=True)
class WindowCall:
    """window() or session_window() at text[start:end]; durations without quotes, `size` None when it is not a constant."""

    kind: str
    time: str
    size: str | None
    slide: str | None
    offset: str | None
    start: int
    end: int

    @property
    def column(self) -> str:
        """The name that Spark gives the column."""
        return "session_window" if self.kind == "session" else "window"


def read_calls(text: str, found: tuple[Token, ...], skipped: frozenset[int]) -> tuple[Call, ...]:
    """Every function call, outer before inner; `skipped` are the tokens of types and the like."""
    return tuple(_call(text, found, index) for index in range(len(found) - 1) if is_call(found, index) and index not in skipped)


def _call(text: str, found: tuple[Token, ...], index: int) -> Call:
    close = matching(found, index + 1)
    close = close if close >= 0 else len(found) - 1
    first = index + 2
    distinct = first < len(found) and found[first].is_word("distinct")
    start = index
    while start >= 2 and found[start - 1].text == "." and found[start - 2].is_name:
        start -= 2
    last = _end_of_clauses(found, close)
    over = last + 1 < len(found) and found[last + 1].is_word("over")
    args = texts(text, found, first + distinct, close) if first + distinct < close else ()
    return Call(found[index].value.lower(), found[start].start, found[last].end, over, distinct, args, last > close)


def texts(text: str, found: tuple[Token, ...], low: int, high: int) -> tuple[str, ...]:
    """The texts between commas outside brackets, without space and comments around them."""
    return tuple(text[found[begin].start : found[end - 1].end] if begin < end else "" for begin, end in split(found, low, high))


def _end_of_clauses(found: tuple[Token, ...], close: int) -> int:
    """The index of the last token of FILTER (...), WITHIN GROUP (...) and IGNORE | RESPECT NULLS after a call."""
    last = close
    while last + 2 < len(found):
        one, two = found[last + 1], found[last + 2]
        if one.is_word("filter") and two.text == "(":
            opening = last + 2
        elif one.is_word("within") and two.is_word("group") and last + 3 < len(found) and found[last + 3].text == "(":
            opening = last + 3
        elif one.is_word("ignore", "respect") and two.is_word("nulls"):
            last += 2
            continue
        else:
            break
        end = matching(found, opening)
        if end < 0:
            break
        last = end
    return last


def read_window(calls: tuple[Call, ...]) -> WindowCall | None:
    """The first window() or session_window() among the calls."""
    for call in calls:
        if call.name not in ("window", "session_window") or not call.args:
            continue
        given = _named(call.args, ("timeColumn", "windowDuration", "slideDuration", "startTime"))
        if call.name == "session_window":
            given = _named(call.args, ("timeColumn", "gapDuration"))
            return WindowCall("session", given[0], _duration(given[1]), None, None, call.start, call.end)
        size, slide, offset = (_duration(entry) for entry in given[1:])
        kind = "tumbling" if slide is None or slide == size else "sliding"
        return WindowCall(kind, given[0], size, slide if kind == "sliding" else None, offset, call.start, call.end)
    return None


def _named(args: tuple[str, ...], names: tuple[str, ...]) -> list[str]:
    """Positional and `name => value` arguments in the order of `names`; empty text for an absent one."""
    given = [""] * len(names)
    lowered = [name.lower() for name in names]
    for position, arg in enumerate(args):
        found = tokens(arg)
        if len(found) > 2 and found[1].text == "=>" and found[0].value.lower() in lowered:
            given[lowered.index(found[0].value.lower())] = arg[found[1].end :].strip()
        elif position < len(given):
            given[position] = arg
    return given


def _duration(text: str) -> str | None:
    """A constant duration as plain words: `'1 hour'` and `INTERVAL '1' HOUR` are `1 hour` and `1 HOUR`."""
    found = tokens(text)
    if len(found) == 1 and found[0].kind == "string":
        return found[0].value
    if len(found) > 1 and found[0].is_word("interval") and all(token.kind in ("string", "number", "word") for token in found[1:]):
        return " ".join(token.value for token in found[1:])
    return None


def read_partitions(text: str, found: tuple[Token, ...]) -> Iterator[tuple[str, ...]]:
    """The PARTITION BY list of each OVER; empty where it has none, or only names a window."""
    for index, token in enumerate(found[:-1]):
        if not token.is_word("over"):
            continue
        close = matching(found, index + 1) if found[index + 1].text == "(" else index + 1
        inside = range(index + 2, close)
        stop = next((at for at in inside if found[at].is_word("order", "rows", "range", "sort")), close)
        starts = [at + 1 for at in inside if found[at].is_word("by") and at < stop]
        yield texts(text, found, starts[0], stop) if starts else ()

"""Scalar expressions as text: which functions they call, which columns they name, and how to change a part of them.

Everything here works on tokens and gives back places in the user's own text, so that what is not changed stays as written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.plan.columns import ColumnRef, column_refs, is_call, is_keyword, not_expression
from penstock.plan.grammar import Token, matching, tokens
from penstock.plan.words import AGGREGATES

__all__ = [
    "AGGREGATES", "Call", "ColumnRef", "WindowCall", "aggregate_calls", "calls", "column_refs", "has_window_function",
    "output_name", "same", "split_top", "substitute", "window_call",
]  # fmt: skip


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


def calls(text: str) -> tuple[Call, ...]:
    """Every function call, outer before inner."""
    found = tokens(text)
    types = not_expression(found)
    return tuple(_call(text, found, index) for index in range(len(found) - 1) if is_call(found, index) and index not in types)


def aggregate_calls(text: str) -> tuple[Call, ...]:
    """The outermost aggregates that are not window functions; `sum(sum(x)) OVER ()` holds one, the inner sum."""
    taken: list[Call] = []
    for call in calls(text):
        if call.name in AGGREGATES and not call.over and not (taken and call.start < taken[-1].end):
            taken.append(call)
    return tuple(taken)


def has_window_function(text: str) -> bool:
    """Whether anything in it is computed OVER a window of rows."""
    return any(call.over for call in calls(text))


def _call(text: str, found: tuple[Token, ...], index: int) -> Call:
    close = matching(found, index + 1)
    close = close if close >= 0 else len(found) - 1
    first = index + 2
    distinct = found[first].is_word("distinct") if first < len(found) else False
    inner = text[found[first].end if distinct else found[index + 1].end : found[close].start]
    start = index
    while start >= 2 and found[start - 1].text == "." and found[start - 2].is_name:
        start -= 2
    last = _end_of_clauses(found, close)
    over = last + 1 < len(found) and found[last + 1].is_word("over")
    args = split_top(inner) if inner.strip() else ()
    return Call(found[index].value.lower(), found[start].start, found[last].end, over, distinct, args)


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


def substitute(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each text[start:end] replaced by its new text; the places must not overlap."""
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def same(a: str, b: str) -> bool:
    """Whether two texts differ at most in spaces, comments and the case of unquoted words."""
    return a == b or _spelled(a) == _spelled(b)


def _spelled(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((token.kind, token.text.lower() if token.kind == "word" else token.text) for token in tokens(text))


def window_call(text: str) -> WindowCall | None:
    """The first window() or session_window() in `text`."""
    for call in calls(text):
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


def split_top(text: str, separator: str = ",") -> tuple[str, ...]:
    """The parts of `text` between separators that stand outside every bracket, without space and comments around them."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens(text):
        if token.kind == "op":
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth == 0 and token.text == separator:
                parts.append([])
                continue
        parts[-1].append(token)
    return tuple(text[part[0].start : part[-1].end] if part else "" for part in parts)


def output_name(text: str) -> str | None:
    """The name Spark gives an item without alias when it is a column (`a.b` is b) or a time window; else None."""
    found = tokens(text)
    if found and all(token.is_name if index % 2 == 0 else token.text == "." for index, token in enumerate(found)) and len(found) % 2:
        return None if len(found) == 1 and is_keyword(found, 0) else found[-1].value
    call = window_call(text)
    if call is not None and call.start == found[0].start and call.end == found[-1].end:
        return "session_window" if call.kind == "session" else "window"
    return None

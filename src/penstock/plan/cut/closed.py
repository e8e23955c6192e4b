"""EMIT ON WINDOW CLOSE over history: only windows that the watermark has passed, so that batch equals a drained live run.

The watermark is Spark's: the greatest event time seen, cut to milliseconds, less the lateness; with several streams the
least of theirs, and above a join that is bounded by time less the bound. A stream without rows has not moved it at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.errors import TypeFault
from penstock.eventtime import MICROS_PER_MS, delay, interval
from penstock.plan.cut.shape import Shapes, window_of
from penstock.plan.expression.columns import interval_words, is_call
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import Token, tokens
from penstock.plan.model import terms
from penstock.plan.model.declare import Stream
from penstock.plan.model.nodes import Aggregate, Filter, Item, Join, Node, Scan, names_read, quoted, rebuild, walk


def only_closed(node: Node, streams: Mapping[str, Stream]) -> Node:
    """The plan with every windowed aggregate over streams held to windows that are closed."""
    node = rebuild(node, lambda child: only_closed(child, streams))
    if not isinstance(node, Aggregate):
        return node
    window = window_of(node)
    read = [streams[name] for name in names_read(node.input) if name in streams and streams[name].event_time]
    if window is None or not read:
        return node
    passed, subs = watermark_of(read, len(node.subs))
    held_back = held_back_ms(node.input, streams)
    if held_back:
        passed = f"greatest(timestampadd(MILLISECOND, -{held_back}L, {passed}), timestamp'1970-01-01')"
    column = window.column
    condition = f"{column}.end <= {passed}"
    having = condition if node.having is None else f"({node.having}) AND {condition}"
    return replace(node, having=having, subs=(*node.subs, *subs))


def watermark_of(streams: Sequence[Stream], first: int = 0) -> tuple[str, tuple[Node, ...]]:
    """The watermark of streams that were read whole, as text over subqueries, of which `first` are there before."""
    subs = tuple(_watermark(stream) for stream in streams)
    marks = [f"coalesce((__sub_{first + index}__), timestamp'1970-01-01')" for index in range(len(subs))]
    return marks[0] if len(marks) == 1 else f"least({', '.join(marks)})", subs


def held_back_ms(node: Node, streams: Mapping[str, Stream]) -> int:
    """By how much a join of streams that is bounded by time holds the watermark back for what stands above it.

    It can still give out rows as old as the longest span of its bounds; a bound that may be met exactly counts one millisecond more.
    A bound that is more than a sum of columns and intervals is taken to hold nothing back: Spark too solves sums alone.
    """
    if not Shapes(lambda name: name in streams).stream_join(node):
        return 0
    times = {stream.event_time.lower() for stream in streams.values() if stream.event_time}
    conditions = [part.on for part in walk(node) if isinstance(part, Join) and part.on]
    conditions += [part.condition for part in walk(node) if isinstance(part, Filter)]
    timely = [text for condition in conditions for text in conjuncts(condition) if terms.bounds_time(text, times)]
    return max([0, *(bound.span_ms for text in timely for bound in bounds(text))])


def conjuncts(condition: str) -> tuple[str, ...]:
    """The parts of a condition that must all hold, also of those that stand in brackets."""
    found = parsed(condition).unwrapped.conjuncts
    return found if len(found) == 1 else tuple(part for text in found for part in conjuncts(text))


@dataclass(frozen=True)
class Bound:
    """One comparison of sums, as texts: `a + x <= b + y` gives out a `b` that is `span_ms`, y - x, behind the watermark."""

    lesser: str
    greater: str
    span_ms: int


def bounds(text: str) -> list[Bound]:
    """What a condition compares, BETWEEN being two comparisons; none where a side is more than a sum of columns and constant intervals."""
    found = tokens(text)
    marks = [at for at, token in enumerate(found) if token.text in ("<", "<=", ">", ">=") or token.is_word("between", "and")]
    sides = [found[start + 1 : end] for start, end in zip([-1, *marks], [*marks, len(found)], strict=True)]
    if not all(sides):
        return []
    match [found[at].text.lower() for at in marks]:
        case ["<" | "<=" as mark]:
            pairs = [(sides[0], sides[1])]
        case [">" | ">=" as mark]:
            pairs = [(sides[1], sides[0])]
        case ["between" as mark, "and"]:
            pairs = [(sides[1], sides[0]), (sides[0], sides[2])]
        case _:
            return []
    exact = mark not in ("<", ">")
    sums = [(lesser, greater, _constant(lesser), _constant(greater)) for lesser, greater in pairs]
    return [
        Bound(text[lesser[0].start : lesser[-1].end], text[greater[0].start : greater[-1].end], (high - low) // MICROS_PER_MS + exact)
        for lesser, greater, low, high in sums
        if low is not None and high is not None
    ]


def _constant(found: tuple[Token, ...]) -> int | None:
    """The intervals of a sum added up, in microseconds; None where it is not a sum of columns and constant intervals."""
    total, sign, brackets, at = 0, 1, [1], 0
    while at < len(found):
        token, end = found[at], at + 1
        words = interval_words(found, at) if token.is_word("interval") else ()
        if words:
            end = max(*words, at + 1) + 1
            span = _span(found[at:end])
            if span is None:
                return None
            total += sign * span
        elif token.text == "(":
            brackets.append(sign)
        elif token.text == ")" and len(brackets) > 1:
            brackets.pop()
        elif token.text == "-":
            sign = -sign
        elif token.text not in ("+", ".") and not _is_column(found, at):
            return None
        if token.text not in ("+", "-"):
            sign = brackets[-1]
        at = end
    return total if len(brackets) == 1 else None


def _is_column(found: tuple[Token, ...], at: int) -> bool:
    """Whether this may be part of a column's name, as it is or as a timestamp: Spark looks through a cast, and into no function."""
    token = found[at]
    if at and found[at - 1].is_word("as"):
        return token.is_word("timestamp")
    return token.is_name and not token.is_word("or", "not", "case") and (token.is_word("cast") or not is_call(found, at))


def _span(found: tuple[Token, ...]) -> int | None:
    """INTERVAL 1 HOUR 30 MINUTES, INTERVAL '1' HOUR, INTERVAL '1 hour', INTERVAL '01:30' HOUR TO MINUTE."""
    ranged = any(token.is_word("to") for token in found)
    try:
        return interval(" ".join(token.text if ranged else token.value for token in found))
    except TypeFault:
        return None


def _watermark(stream: Stream) -> Node:
    late = delay(stream.lateness or "0 seconds")
    text = f"timestampadd(MICROSECOND, -{late}L, date_trunc('MILLISECOND', max({quoted(stream.event_time or '')})))"
    return Aggregate(Scan(stream.name), (), (Item(text, "watermark"),))

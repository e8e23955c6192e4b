"""EMIT ON WINDOW CLOSE over history: only windows that the watermark has passed, so that batch equals a drained live run.

The watermark is Spark's: the greatest event time seen, cut to milliseconds, less the lateness; with several streams the
least of theirs, and above a join that is bounded by time less the bound. A stream without rows has not moved it at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from penstock.eventtime import delay
from penstock.plan import terms
from penstock.plan.declare import Stream
from penstock.plan.nodes import Aggregate, Filter, Item, Join, Node, Scan, names_read, quoted, rebuild, walk
from penstock.plan.shape import Shapes, window_of

_UNIT = r"(?:year|month|week|day|hour|minute|second|millisecond|microsecond)s?(?:\s+to\s+\w+)?"
_INTERVAL = re.compile(rf"(?i)\binterval\s+(?:'[^']*'|\d+)(?:\s+{_UNIT})?")
_NOT_STRICT = re.compile(r"(?i)<=|>=|\bbetween\b")


def only_closed(node: Node, streams: Mapping[str, Stream]) -> Node:
    """The plan with every windowed aggregate over streams held to windows that are closed."""
    node = rebuild(node, lambda child: only_closed(child, streams))
    if not isinstance(node, Aggregate):
        return node
    window = window_of(node)
    read = [streams[name] for name in names_read(node.input) if name in streams and streams[name].event_time]
    if window is None or not read:
        return node
    first = len(node.subs)
    subs = tuple(_watermark(stream) for stream in read)
    marks = [f"coalesce((__sub_{first + index}__), timestamp'1970-01-01')" for index in range(len(subs))]
    passed = marks[0] if len(marks) == 1 else f"least({', '.join(marks)})"
    held_back = held_back_ms(node.input, streams)
    if held_back:
        passed = f"greatest(timestampadd(MILLISECOND, -{held_back}L, {passed}), timestamp'1970-01-01')"
    column = "session_window" if window.kind == "session" else "window"
    condition = f"{column}.end <= {passed}"
    having = condition if node.having is None else f"({node.having}) AND {condition}"
    return replace(node, having=having, subs=(*node.subs, *subs))


def held_back_ms(node: Node, streams: Mapping[str, Stream]) -> int:
    """By how much a join of streams that is bounded by time holds the watermark back for what stands above it.

    It can still give out rows as old as the longest span of its bounds; a bound that may be met exactly counts one millisecond more.
    """
    if not Shapes(lambda name: name in streams).stream_join(node):
        return 0
    times = {stream.event_time.lower() for stream in streams.values() if stream.event_time}
    conditions = [part.on for part in walk(node) if isinstance(part, Join) and part.on]
    conditions += [part.condition for part in walk(node) if isinstance(part, Filter)]
    bounds = [text for condition in conditions for text in terms.conjuncts(condition) if terms.bounds_time(text, times)]
    spans = [delay(found[0]) // 1000 for text in bounds for found in _INTERVAL.finditer(text)]
    exact = any(_NOT_STRICT.search(text) for text in bounds)
    return max(spans, default=0) + exact if bounds else 0


def _watermark(stream: Stream) -> Node:
    late = delay(stream.lateness or "0 seconds")
    text = f"timestampadd(MICROSECOND, -{late}L, date_trunc('MILLISECOND', max({quoted(stream.event_time or '')})))"
    return Aggregate(Scan(stream.name), (), (Item(text, "watermark"),))

"""EMIT ON WINDOW CLOSE over history: only windows that the watermark has passed, so that batch equals a drained live run.

The watermark is Spark's: the greatest event time seen, cut to milliseconds, less the lateness; with several streams the
least of theirs. A stream without rows has not moved it at all.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.eventtime import delay
from penstock.plan.declare import Stream
from penstock.plan.nodes import Aggregate, Item, Node, Scan, names_read, quoted, rebuild
from penstock.plan.shape import window_of


def only_closed(node: Node, streams: dict[str, Stream]) -> Node:
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
    column = "session_window" if window.kind == "session" else "window"
    condition = f"{column}.end <= {passed}"
    having = condition if node.having is None else f"({node.having}) AND {condition}"
    return replace(node, having=having, subs=(*node.subs, *subs))


def _watermark(stream: Stream) -> Node:
    late = delay(stream.lateness or "0 seconds")
    text = f"timestampadd(MICROSECOND, -{late}L, date_trunc('MILLISECOND', max({quoted(stream.event_time or '')})))"
    return Aggregate(Scan(stream.name), (), (Item(text, "watermark"),))

"""Session windows, shielded from Spark's optimizer.

Spark pushes a condition on `session_window.end` below the merging of sessions, where it meets the session of a single
row: a session that is longer is then cut short or let through. The bounds of a session are also the least start and the
greatest end of its rows, and no condition can be pushed below an aggregate function; so they are asked for in that way.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan import scalar
from penstock.plan.grammar import tokens
from penstock.plan.mentions import occurrences
from penstock.plan.nodes import Aggregate, Item

_START, _END = "min(session_window.start)", "max(session_window.end)"
_WHOLE = f"named_struct('start', {_START}, 'end', {_END})"


def shielded(node: Aggregate) -> Aggregate:
    """The aggregate with the bounds of its session window, if it has one, as results of aggregate functions."""
    group = next((group for group in node.groups if (scalar.window_call(group) or _NONE).kind == "session"), None)
    if group is None or node.grouping is not None:
        return node
    items = tuple(_item(item, group) for item in node.items)
    return replace(node, items=items, having=None if node.having is None else _text(node.having, group))


_NONE = scalar.WindowCall("none", "", None, None, None, 0, 0)


def _item(item: Item, group: str) -> Item:
    changed = _text(item.text, group)
    return item if changed == item.text else Item(changed, item.name or scalar.output_name(item.text) or item.text)


def _text(text: str, group: str) -> str:
    """`text` with every mention of the session, outside aggregate functions, by its bounds."""
    inside = [(call.start, call.end) for call in scalar.aggregate_calls(text)]
    found = tokens(text)
    spans: list[tuple[int, int, str]] = []
    for start, end in occurrences(text, group):
        if any(low <= start and end <= high for low, high in inside):
            continue
        after = [token for token in found if token.start >= end][:2]
        field = after[1].value.lower() if len(after) == 2 and after[0].text == "." else ""
        spans.append((start, after[1].end, _START if field == "start" else _END) if field in ("start", "end") else (start, end, _WHOLE))
    return scalar.substitute(text, spans)

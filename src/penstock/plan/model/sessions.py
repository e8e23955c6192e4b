"""Session windows, shielded from Spark's optimizer.

Spark pushes a condition on `session_window.end` below the merging of sessions, where it meets the session of a single
row: a session that is longer is then cut short or let through. The bounds of a session are also the least start and the
greatest end of its rows, and no condition can be pushed below an aggregate function; so they are asked for in that way.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expression.mentions import occurrences
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.nodes import Aggregate, Item

_START, _END = "min(session_window.start)", "max(session_window.end)"
_WHOLE = f"named_struct('start', {_START}, 'end', {_END})"


def shielded(node: Aggregate) -> Aggregate:
    """The aggregate with the bounds of its session window, if it has one, as results of aggregate functions."""
    group = session_group(node)
    if group is None:
        return node
    items = tuple(_item(item, group) for item in node.items)
    return replace(node, items=items, having=None if node.having is None else _text(node.having, group))


def session_group(node: Aggregate) -> str | None:
    """The group that is a session window, whole; None where there is none, or where sets are grouped by."""
    if node.grouping is not None:
        return None
    return next((group for group in node.groups if _is_session(group)), None)


def _is_session(group: str) -> bool:
    window = parsed(group).window
    return window is not None and window.kind == "session" and parsed(group).output_name == "session_window"


def _item(item: Item, group: str) -> Item:
    changed = _text(item.text, group)
    return item if changed == item.text else Item(changed, item.name or parsed(item.text).output_name or item.text)


def _text(text: str, group: str) -> str:
    """`text` with every mention of the session, outside aggregate functions, by its bounds."""
    inside = [(call.start, call.end) for call in parsed(text).aggregates]
    found = tokens(text)
    spans: list[tuple[int, int, str]] = []
    for start, end in occurrences(text, group):
        if any(low <= start and end <= high for low, high in inside):
            continue
        after = [token for token in found if token.start >= end][:2]
        field = after[1].value.lower() if len(after) == 2 and after[0].text == "." else ""
        spans.append((start, after[1].end, _START if field == "start" else _END) if field in ("start", "end") else (start, end, _WHOLE))
    return substitute(text, spans)

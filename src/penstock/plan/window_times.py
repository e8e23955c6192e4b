"""Times of windows that another query made, told from their end. A window in kept rows, or made of a session's bounds, lacks the mark by
which Spark's own functions know one.

window_time(w)            (w.end - INTERVAL '0.000001' SECOND)
window(w, '2 hours')      window(w.end - INTERVAL '0.000001' SECOND, '2 hours')
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan import scalar
from penstock.plan.infer import Look, window_type
from penstock.plan.names import Names
from penstock.plan.nodes import Aggregate, Filter, Item, Join, Node, Order, Project, rebuild
from penstock.plan.tumble import INSTANT
from penstock.plan.types import UNKNOWN

_WINDOWS = tuple(map(window_type, ("timestamp", "timestamp_ntz")))


def by_their_ends(node: Node, names: Names) -> Node:
    """The plan with every time of a window told from the window's end."""
    node = rebuild(node, lambda child: by_their_ends(child, names))
    match node:
        case Filter():
            return replace(node, condition=_told(node.condition, lambda parts: names.visible(node.input).look(parts)))
        case Join(on=condition) if condition is not None:
            return replace(node, on=_told(condition, lambda parts: names.both_sides(node).look(parts)))
        case Order():
            return replace(node, keys=tuple(_told(key, lambda parts: names.order_scope(node).look(parts)) for key in node.keys))
        case Project():
            return replace(node, items=_items(node.items, lambda parts: names.items_scope(node).look(parts)))
        case Aggregate():
            return _aggregate(node, names)
        case _:
            return node


def _aggregate(node: Aggregate, names: Names) -> Aggregate:
    def look(parts: tuple[str, ...]) -> str:
        return names.items_scope(node).look(parts)

    groups = tuple(_told(group, look) for group in node.groups)
    grouping = None if node.grouping is None else _told(node.grouping, look)
    having = None if node.having is None else _told(node.having, look)
    written = node.written if (groups, grouping) == (node.groups, node.grouping) else None
    return replace(node, groups=groups, items=_items(node.items, look), having=having, grouping=grouping, written=written)


def _items(items: tuple[Item, ...], look: Look) -> tuple[Item, ...]:
    return tuple(_item(item, _told(item.text, look)) for item in items)


def _item(item: Item, told: str) -> Item:
    """The item with its new text, under the name that it had."""
    if told == item.text or scalar.output_name(told) is not None:
        return replace(item, text=told)
    return Item(told, item.name or item.text)


def _told(text: str, look: Look) -> str:
    spans: list[tuple[int, int, str]] = []
    for call in scalar.calls(text) if "window" in text.lower() else ():
        if spans and call.start < spans[-1][1]:
            continue
        if call.name == "window_time" and len(call.args) == 1:
            spans.append((call.start, call.end, f"({_told(call.args[0], look)}.end - {INSTANT})"))
        elif call.name == "window" and call.args and _is_window(call.args[0], look):
            start = text.index(call.args[0], text.index("(", call.start))
            spans.append((start, start + len(call.args[0]), f"{call.args[0]}.end - {INSTANT}"))
    return scalar.substitute(text, spans)


def _is_window(text: str, look: Look) -> bool:
    """Whether an argument is a column that holds windows; where its type is not known, its name tells."""
    if scalar.output_name(text) is None or scalar.window_call(text) is not None:
        return False
    (column,) = scalar.column_refs(text)
    kind = look(column.parts)
    return kind in _WINDOWS or (kind == UNKNOWN and column.name.lower() in ("window", "session_window"))

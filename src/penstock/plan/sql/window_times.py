"""Times of windows that another query made, computed from their end. A window in kept rows, or made of a session's bounds, lacks the mark by
which Spark's own functions know one.

window_time(w)            (w.end - INTERVAL '0.000001' SECOND)
window(w, '2 hours')      window(w.end - INTERVAL '0.000001' SECOND, '2 hours')
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from penstock.plan.expression.infer import Look, window_type
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.types import UNKNOWN
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    rebuild,
)
from penstock.plan.sql.window_functions import INSTANT

_WINDOWS = tuple(map(window_type, ("timestamp", "timestamp_ntz")))


def by_their_ends(node: Node, names: Names) -> Node:
    """The plan with every time of a window computed from the window's end."""
    node = rebuild(node, lambda child: by_their_ends(child, names))
    match node:
        case Filter():
            return replace(node, condition=_from_end(node.condition, lambda parts: names.visible(node.input).look(parts)))
        case Join(on=condition) if condition is not None:
            return replace(node, on=_from_end(condition, lambda parts: names.both_sides(node).look(parts)))
        case Order():
            return replace(node, keys=tuple(_from_end(key, lambda parts: names.order_scope(node).look(parts)) for key in node.keys))
        case Project():
            return replace(node, items=_items(node.items, lambda parts: names.items_scope(node).look(parts)))
        case Aggregate():
            return _aggregate(node, names)
        case Scan() | Alias() | Join() | Generate() | Union() | SetOperation() | Distinct() | Opaque() | Operate():
            return node
        case _:
            assert_never(node)


def _aggregate(node: Aggregate, names: Names) -> Aggregate:
    def look(parts: tuple[str, ...]) -> str:
        return names.items_scope(node).look(parts)

    groups = tuple(_from_end(group, look) for group in node.groups)
    grouping = None if node.grouping is None else _from_end(node.grouping, look)
    having = None if node.having is None else _from_end(node.having, look)
    written = node.written if (groups, grouping) == (node.groups, node.grouping) else None
    return replace(node, groups=groups, items=_items(node.items, look), having=having, grouping=grouping, written=written)


def _items(items: tuple[Item, ...], look: Look) -> tuple[Item, ...]:
    return tuple(_item(item, _from_end(item.text, look)) for item in items)


def _item(item: Item, text: str) -> Item:
    """The item with its new text, under the name that it had."""
    if text == item.text or parsed(text).output_name is not None:
        return replace(item, text=text)
    return Item(text, item.name or item.text)


def _from_end(text: str, look: Look) -> str:
    spans: list[tuple[int, int, str]] = []
    for call in parsed(text).calls if "window" in text.lower() else ():
        if spans and call.start < spans[-1][1]:
            continue
        if call.name == "window_time" and len(call.args) == 1:
            spans.append((call.start, call.end, f"({_from_end(call.args[0], look)}.end - {INSTANT})"))
        elif call.name == "window" and call.args and _is_window(call.args[0], look):
            start = text.index(call.args[0], text.index("(", call.start))
            spans.append((start, start + len(call.args[0]), f"{call.args[0]}.end - {INSTANT}"))
    return substitute(text, spans)


def _is_window(text: str, look: Look) -> bool:
    """Whether an argument is a column that holds windows; where its type is not known, its name decides."""
    if parsed(text).output_name is None or parsed(text).window is not None:
        return False
    (column,) = parsed(text).columns
    kind = look(column.parts)
    return kind in _WINDOWS or (kind == UNKNOWN and column.name.lower() in ("window", "session_window"))

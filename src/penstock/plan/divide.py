"""A plan divided at the cut: the part below carries its keys and its filters along as columns, the part above reads the kept rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan import scalar, terms
from penstock.plan.keys import called, hidden_keys
from penstock.plan.nodes import Aggregate, Alias, Filter, Item, Node, Order, Project, Scan, quoted, rebuild, walk

KEPT = "__kept"
KEEP = "__keep"


def flagged(node: Node, aggregate: Aggregate) -> Node:
    """Row-wise work above an aggregate, with the keys carried along and every filter turned into a flag."""
    keys = hidden_keys(aggregate)

    def build(part: Node, depth: int) -> tuple[Node, tuple[str, ...]]:
        match part:
            case Aggregate():
                names = tuple(item.name or "" for item in keys)
                flag = () if part.having is None else (Item(f"coalesce({terms.unaliased(part.having, part.items)}, false)", f"{KEEP}0"),)
                return replace(part, items=(*part.items, *keys, *flag), having=None), (*names, *(item.name or "" for item in flag))
            case Alias():
                inner, carried = build(part.input, depth)
                return replace(part, input=inner), carried
            case Filter():
                inner, carried = build(part.input, depth + 1)
                name = f"{KEEP}{depth}"
                marked: Node = Project(inner, (Item("*"), Item(f"coalesce({part.condition}, false)", name)), where=part.where)
                alias = called(part.input)
                return Alias(marked, alias) if alias else marked, (*carried, name)
            case Project(input=input_) if input_ is not None:
                inner, carried = build(input_, depth + 1)
                given = [star for item in part.items if (star := terms.star(item)) is not None and star.qualifier in (None, called(input_, True))]
                extra = () if given else tuple(Item(name, name) for name in carried)
                return replace(part, input=inner, items=(*part.items, *extra)), carried
            case _:
                raise AssertionError(f"not row-wise: {type(part).__name__}")

    return build(node, 1)[0]


def order_items(plan: Node, lower: Aggregate) -> tuple[Item, ...]:
    """Sort keys of an ORDER BY directly above the aggregate, as columns, where they are not output columns."""
    for part in walk(plan):
        if isinstance(part, Order) and part.input == lower:
            return tuple(Item(terms.unaliased(text, lower.items), name) for text, name in _order_columns(part, lower))
    return ()


def _order_columns(order: Order, lower: Aggregate) -> list[tuple[str, str]]:
    names = {terms.item_name(item).lower() for item in lower.items if terms.item_name(item)}
    columns = []
    for index, key in enumerate(order.keys):
        text, _ = terms.sort_direction(key)
        plain = scalar.output_name(text)
        if not text.isdigit() and (plain is None or plain.lower() not in names):
            columns.append((text, f"__o{index}"))
    return columns


def above(plan: Node, lower: Node, hidden: tuple[Item, ...]) -> Node:
    """The plan with the part below the cut replaced by the kept rows, the engine's `hidden` columns left out."""
    left_out = f" EXCEPT ({', '.join(item.name or '' for item in hidden)})" if hidden else ""

    def swap(part: Node) -> Node:
        if part == lower:
            return Project(Scan(KEPT), (Item(f"*{left_out}"),))
        if isinstance(part, Order) and part.input == lower and isinstance(lower, Aggregate):
            moved = dict(_order_columns(part, lower))
            keys = []
            for key in part.keys:
                text, direction = terms.sort_direction(key)
                shown = moved.get(text) or (quoted(scalar.output_name(text) or "") if scalar.output_name(text) else text)
                keys.append(f"{shown} {direction}".strip())
            return replace(part, input=swap(part.input), keys=tuple(keys))
        return rebuild(part, swap)

    return swap(plan)

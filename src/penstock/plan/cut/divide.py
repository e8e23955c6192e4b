"""A plan divided at the cut: the part below carries its keys and its filters along as columns, the part above reads the kept rows."""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.keys import called, hidden_keys
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
    walk,
)
from penstock.plan.model.sorting import SortKeys

KEPT = "__kept"
KEEP = "__keep"


def flagged(node: Node, aggregate: Aggregate) -> Node:
    """Row-wise work above an aggregate, with the keys carried along and every filter turned into a flag.

    What a filter would have kept from being computed, a division by zero for one, still is: the flags guard what stands above them.
    """
    keys = hidden_keys(aggregate)

    def build(part: Node, depth: int) -> tuple[Node, tuple[str, ...]]:
        match part:
            case Aggregate():
                names = tuple(item.name or "" for item in keys)
                having = terms.unaliased_having(part)
                flag = () if having is None else (Item(f"coalesce({having}, false)", f"{KEEP}0"),)
                items = tuple(item if _is_result(item.text, part) else _guarded(item, having) for item in part.items)
                return replace(part, items=(*items, *keys, *flag), having=None), (*names, *(item.name or "" for item in flag))
            case Alias():
                inner, carried = build(part.input, depth)
                return replace(part, input=inner), carried
            case Filter():
                inner, carried = build(part.input, depth + 1)
                name, guard = f"{KEEP}{depth}", _all_kept(carried)
                condition = part.condition if guard is None else f"if({guard}, {part.condition}, false)"
                marked: Node = Project(inner, (Item("*"), Item(f"coalesce({condition}, false)", name)), where=part.where)
                alias = called(part.input)
                return Alias(marked, alias) if alias else marked, (*carried, name)
            case Project(input=input_) if input_ is not None:
                inner, carried = build(input_, depth + 1)
                given = [
                    star for item in part.items if (star := parsed(item.text).star) is not None and star.qualifier in (None, called(input_, True))
                ]
                extra = () if given else tuple(Item(name, name) for name in carried)
                items = tuple(_guarded(item, _all_kept(carried)) for item in part.items)
                return replace(part, input=inner, items=(*items, *extra)), carried
            case Scan() | Project() | Join() | Generate() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate():
                raise AssertionError(f"not row-wise: {type(part).__name__}")

    return build(node, 1)[0]


def can_be_guarded(node: Node) -> bool:
    """False where what is computed above a filter has a name that only Spark knows: a guard around it would change the name."""
    filters = [part for part in walk(node) if isinstance(part, Filter) or (isinstance(part, Aggregate) and part.having is not None)]
    above = [part for part in walk(node) if isinstance(part, Project) and any(below in walk(part) for below in filters)]
    return all(terms.item_name(item) or parsed(item.text).star is not None for part in above for item in part.items)


def having_guards(node: Aggregate) -> bool:
    """The same of the aggregate's own list and its HAVING; groups and aggregate functions need no guard."""
    return node.having is None or all(
        terms.item_name(item) or parsed(item.text).star is not None or _is_result(item.text, node) for item in node.items
    )


def _all_kept(carried: tuple[str, ...]) -> str | None:
    return " AND ".join(name for name in carried if name.startswith(KEEP)) or None


def _guarded(item: Item, guard: str | None) -> Item:
    """The item, computed for rows that `guard` lets through; a mere column needs no guard."""
    if guard is None or item.name is None or parsed(item.text).output_name is not None:
        return item
    return Item(f"if({guard}, {item.text}, NULL)", item.name)


def _is_result(text: str, node: Aggregate) -> bool:
    """Whether an item is a group or an aggregate function by itself, which are computed before any HAVING."""
    found = parsed(text).aggregates
    alone = len(found) == 1 and text[found[0].start : found[0].end].strip() == text.strip()
    return alone or any(terms.is_group(text, group) for group in terms.grouping_expressions(node))


def above(plan: Node, lower: Node, hidden: tuple[Item, ...], sort: SortKeys) -> Node:
    """The plan with the part below the cut replaced by the kept rows, the engine's `hidden` columns left out."""
    left_out = f" EXCEPT ({', '.join(item.name or '' for item in hidden)})" if hidden else ""

    def swap(part: Node) -> Node:
        if part == lower:
            return Project(Scan(KEPT), (Item(f"*{left_out}"),))
        if isinstance(part, Order) and sort.concern(part):
            part = sort.above_the_cut(part)
        return rebuild(part, swap)

    return swap(plan)

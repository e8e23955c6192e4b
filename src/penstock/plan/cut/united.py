"""Aggregates over the same rows by the same groups as one: a query that counts twice, once for the maximum of the counts, counts once."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.plan.model import terms
from penstock.plan.model.nodes import Aggregate, Item, Node, Project, rebuild
from penstock.schema import quote


def united(plan: Node, parts: Sequence[Node]) -> Node | None:
    """The plan with one aggregate in the place of `parts`, each of which selects its columns of it; None where they are not of one kind."""
    aggregates = [part for part in parts if isinstance(part, Aggregate)]
    first = aggregates[0] if aggregates else None
    if first is None or len(aggregates) < len(parts) or not all(_can_be_united(part, first) for part in aggregates):
        return None
    names: dict[str, str] = {}
    for part in aggregates:
        for item in part.items:
            names.setdefault(item.text, _free(terms.item_name(item), names))
    wide = Aggregate(first.input, first.groups, tuple(Item(text, name) for text, name in names.items()), where=first.where)
    chosen = {part: Project(wide, tuple(Item(quote(names[item.text]), terms.item_name(item)) for item in part.items)) for part in aggregates}

    def swap(node: Node) -> Node:
        return chosen[node] if isinstance(node, Aggregate) and node in chosen else rebuild(node, swap)

    return swap(plan)


def _can_be_united(part: Aggregate, first: Aggregate) -> bool:
    same = (part.input, part.groups) == (first.input, first.groups)
    return same and part.having is None and part.grouping is None and not part.subs and all(map(terms.item_name, part.items))


def _free(name: str, names: dict[str, str]) -> str:
    taken = {used.lower() for used in names.values()}
    while name.lower() in taken:
        name = f"{name}_"
    return name

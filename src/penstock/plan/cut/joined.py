"""A join below a SELECT as a plan of its own, whose columns say whose they were: an aggregate over a left join, a join of three by two keys.

SELECT a.g, count(b.id) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.g

    SELECT a__g AS g, count(b__id) AS n FROM (SELECT a.g AS a__g, b.id AS b__id FROM a LEFT JOIN b ON a.k = b.k) GROUP BY a__g
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.model import terms
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Filter, Item, Join, Node, Project
from penstock.plan.model.resolve import Relation
from penstock.schema import quote


class _CannotBeNamed(Exception):
    """A column of the join is named in a way that would not be its own any more."""


def joins_apart(node: Node, names: Names) -> Iterator[tuple[Node, Callable[[Node], Node]]]:
    """The joins below a SELECT that can be plans of their own, the highest first; and what the SELECT is above each."""
    if not isinstance(node, Project | Aggregate) or node.subs or node.input is None:
        return
    row_by_row = isinstance(node, Project) and not any(parsed(item.text).has_window_function for item in node.items)
    for part in _joins(node.input):
        if part is node.input and row_by_row:
            continue  # it would be the same plan again
        try:
            below, above = _apart(node, part, names)
        except _CannotBeNamed:
            continue
        yield below, above


def _joins(node: Node) -> Iterator[Node]:
    """What stands in FROM with joins in it: with its conditions first, then without, then the joins on its left."""
    if isinstance(node, Filter) and not node.subs:
        if isinstance(node.input, Join):
            yield node
        yield from _joins(node.input)
    elif isinstance(node, Join) and not node.subs and not node.lateral and not node.using:
        yield node
        yield from _joins(node.left)


def _apart(node: Project | Aggregate, part: Node, names: Names) -> tuple[Node, Callable[[Node], Node]]:
    naming = _Naming(names.visible(part).relations)
    outside = _outside(node, part)
    texts = {text: naming.renamed(text) for text in outside}
    if not naming.items or any(isinstance(entry, Join) and entry.using for entry in _around(node.input, part)):
        raise _CannotBeNamed

    def rewritten(entry: Node, step: Node) -> Node:
        if entry is part:
            return step
        match entry:
            case Filter():
                return replace(entry, input=rewritten(entry.input, step), condition=texts[entry.condition])
            case Join():
                return replace(entry, left=rewritten(entry.left, step), on=None if entry.on is None else texts[entry.on])
            case _:
                return entry

    def above(step: Node) -> Node:
        assert node.input is not None
        items = tuple(Item(texts[item.text], item.name or terms.item_name(item)) for item in node.items)
        inner = rewritten(node.input, step)
        if isinstance(node, Project):
            return replace(node, input=inner, items=items)
        having = None if node.having is None else texts[node.having]
        return replace(node, input=inner, items=items, groups=tuple(texts[group] for group in node.groups), having=having, written=None)

    return Project(part, tuple(naming.items.values())), above


def _outside(node: Project | Aggregate, part: Node) -> list[str]:
    """Every text of a SELECT that stands above a part of its FROM."""
    if isinstance(node, Aggregate) and node.grouping is not None:
        raise _CannotBeNamed
    if any(parsed(item.text).has_star and not _counts(item.text) for item in node.items) or not all(map(terms.item_name, node.items)):
        raise _CannotBeNamed
    texts = [item.text for item in node.items]
    if isinstance(node, Aggregate):
        texts += [*node.groups, *([node.having] if node.having is not None else [])]
    for entry in _around(node.input, part):
        texts += [entry.condition] if isinstance(entry, Filter) else [entry.on] if isinstance(entry, Join) and entry.on is not None else []
    return texts


def _around(node: Node | None, part: Node) -> Iterator[Node]:
    """What stands above a part of a FROM, within it."""
    while node is not None and node is not part:
        yield node
        node = node.input if isinstance(node, Filter) else node.left if isinstance(node, Join) else None


def _counts(text: str) -> bool:
    calls = parsed(text).calls
    return all(call.args == ("*",) for call in calls if "*" in call.args) and any(call.args == ("*",) for call in calls)


class _Naming:
    """New names for the columns of relations: `a.k` is `a__k`."""

    def __init__(self, relations: tuple[Relation, ...]) -> None:
        if any(relation.name is None or relation.open for relation in relations):
            raise _CannotBeNamed
        self._relations = relations
        self.items: dict[tuple[str, str], Item] = {}

    def renamed(self, text: str) -> str:
        changes: list[tuple[int, int, str]] = []
        for ref in parsed(text).columns:
            found = self._column(ref.parts)
            if found is not None:
                relation, column, rest = found
                name = f"{relation}__{column}"
                self.items[relation.lower(), column.lower()] = Item(f"{quote(relation)}.{quote(column)}", name)
                changes.append((ref.start, ref.end, ".".join(map(quote, (name, *rest)))))
        return substitute(text, changes)

    def _column(self, parts: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]] | None:
        """Whose column is named, which, and the fields in it; None where it is none of theirs."""
        for relation in self._relations:
            if len(parts) > 1 and (relation.name or "").lower() == parts[0].lower():
                column = relation.find(parts[1])
                if column is None:
                    raise _CannotBeNamed
                return str(relation.name), column.name, parts[2:]
        owners = [(str(relation.name), column.name) for relation in self._relations if (column := relation.find(parts[0])) is not None]
        if len(owners) > 1:
            raise _CannotBeNamed
        return (*owners[0], parts[1:]) if owners else None

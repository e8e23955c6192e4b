"""Names in GROUP BY: a column of the source goes before an item of the select list that bears the same name, as in Spark.

While a query is read the source's columns are not known, so the item is taken and the text as written is kept beside it
(`Aggregate.written`); when everything is declared, `columns_first` looks again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Item, Node, rebuild
from penstock.plan.model.terms import in_sets

IsColumn = Callable[[str], bool | None]


def stand_ins(groups: tuple[str, ...], grouping: str | None, items: tuple[Item, ...], is_column: IsColumn) -> tuple[tuple[str, ...], str | None]:
    """The groups with names of the select list replaced by what they stand for; `is_column` says None where it does not know."""

    def stand_in(text: str) -> str:
        found = tokens(text)
        known = is_column(found[0].value) if len(found) == 1 and found[0].is_name else True
        if known:
            return text
        named = (item for item in items if item.name is not None and item.name.lower() == found[0].value.lower())
        return next((item.text for item in named if not parsed(item.text).aggregates and (known is False or _likely(item))), text)

    return tuple(map(stand_in, groups)), None if grouping is None else in_sets(grouping, stand_in)


def _likely(item: Item) -> bool:
    """Whether a group of the item's name means the item as far as is known. In `upper(country) AS country` it means the column."""
    if parsed(item.text).output_name is not None and len(tokens(item.text)) == 1:
        return False
    return all(ref.parts[0].lower() != str(item.name).lower() for ref in parsed(item.text).columns)


def columns_first(node: Node, names: Names) -> Node:
    """The plan with every GROUP BY read again, now that the columns below it are known."""
    node = rebuild(node, lambda child: columns_first(child, names))
    if not isinstance(node, Aggregate) or node.written is None:
        return node
    scope = names.visible(node.input)
    closed = not scope.unnamed and not any(relation.open for relation in scope.relations)

    def is_column(name: str) -> bool | None:
        return True if any(relation.find(name) is not None for relation in scope.relations) else False if closed else None

    groups, grouping = stand_ins(*node.written, node.items, is_column)
    return replace(node, groups=groups, grouping=grouping)

"""Every expression of a plan, with the clause it stands in and the names it may use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from penstock.errors import Where
from penstock.plan.expression.spread import lateral_view, spread
from penstock.plan.model.findings import Spot
from penstock.plan.model.matching import taken_apart
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    children,
    quoted,
)
from penstock.plan.model.resolve import Scope
from penstock.plan.model.terms import grouping_expressions, has_analytic, hiding_in_having

_WITH_SETS = re.compile(r"\s+with\s+(rollup|cube)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Placed:
    """One scalar text of a plan, with what it may name. `role` is the clause it stands in."""

    role: str
    text: str
    scope: Scope
    node: Node
    where: Where | None

    @property
    def spot(self) -> Spot:
        return Spot(self.where, self.text)


def expressions(node: Node, names: Names, outer: Scope | None = None) -> Iterator[Placed]:
    """Every expression of a plan and of the plans below it, from the top down."""
    yield from _own(node, names, outer)
    for child in children(node):
        inside = outer
        if child in getattr(node, "subs", ()):
            inside = _sub_scope(node, names, outer)
        elif isinstance(node, Join) and node.lateral and child is node.right:
            inside = names.visible(node.left, outer)
        yield from expressions(child, names, inside)


def _own(node: Node, names: Names, outer: Scope | None) -> Iterator[Placed]:
    match node:
        case Filter():
            yield Placed("where", node.condition, names.visible(node.input, outer), node, node.where)
        case Project():
            yield from _items(node, names, outer)
        case Aggregate():
            yield from _items(node, names, outer)
            scope = names.items_scope(node, outer)
            given = names.given(node)
            for group in grouping_expressions(node):
                yield Placed("group", _WITH_SETS.sub("", group), names.visible(node.input, outer).with_given(given), node, node.where)
            if node.having is not None:
                # Spark compares the types of columns first, and only then finds that the name is an alias
                hiding = hiding_in_having(node) if has_analytic(node) else ()
                yield Placed("having", node.having, scope.with_given(given, hiding), node, node.where)
        case Join(on=condition) if condition is not None:
            yield Placed("on", condition, names.both_sides(node, outer), node, node.where)
        case Generate():
            view = lateral_view(node.text)
            yield Placed("lateral view", view.call, names.visible(node.input, outer), node, node.where)
        case Order():
            scope = names.order_scope(node, outer)
            for key in node.keys:
                yield Placed("order", key, scope, node, node.where)
        case Operate(pattern=pattern) if pattern is not None:
            scope = names.visible(node.inputs[0], outer)
            for text in (*map(quoted, node.keys + node.order), *taken_apart(pattern).values):
                yield Placed("pattern", text, scope, node, node.where)
        case Scan() | Alias() | Join() | Union() | SetOperation() | Distinct() | Opaque() | Operate():
            return
        case _:
            assert_never(node)


def _items(node: Project | Aggregate, names: Names, outer: Scope | None) -> Iterator[Placed]:
    scope = names.items_scope(node, outer)
    for index, item in enumerate(node.items):
        yield Placed("select", spread(item.text)[0], scope.with_given(names.given(node, index)), node, node.where)


def _sub_scope(node: Node, names: Names, outer: Scope | None) -> Scope:
    """What a subquery in an expression of `node` sees around it."""
    match node:
        case Project() | Aggregate():
            return names.items_scope(node, outer).with_given(names.given(node))
        case Join():
            return names.both_sides(node, outer)
        case Order():
            return names.order_scope(node, outer)
        case Filter() | Distinct():
            return names.visible(node.input, outer)
        case Scan() | Alias() | Generate() | Union() | SetOperation() | Opaque() | Operate():
            return outer or Scope()
        case _:
            assert_never(node)

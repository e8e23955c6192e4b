"""Subqueries that name columns of the rows around them: which of them Spark answers for a stream.

Bound by equalities alone, a subquery becomes a join with a table. Bound otherwise, Spark first gathers the values of all rows around it:
on a stream that is an aggregate or a join of the stream with itself, which it refuses.
"""

from __future__ import annotations

from penstock.plan.expression.parsed import parsed
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Distinct, Node, Opaque, Order, Project, Scan, SetOperation, Union, walk
from penstock.plan.model.resolve import Scope
from penstock.plan.model.scopes import Placed, expressions


def gathers(plan: Node, names: Names, join: str | None = None) -> bool:
    """Whether Spark gathers the rows around this subquery: an expression, or the lateral right side of a `join` of that kind."""
    nodes = tuple(walk(plan))
    aggregates = any(map(_gives_rows_together, nodes))
    if any(isinstance(node, Union | SetOperation) for node in nodes) and names_around(plan, names):
        return True
    if join is None:
        return aggregates and _binds(plan, names)  # without an aggregate it is a join under any condition
    opaque = any(isinstance(node, Opaque) for node in nodes)
    if not any(isinstance(node, Scan) for node in nodes):
        return opaque and join == "left"  # a row of values, or a table function
    return aggregates or opaque or _binds(plan, names, any_condition=join != "left")


def _gives_rows_together(node: Node) -> bool:
    """Whether a row of the node depends on others, which must be those for one and the same row around the subquery."""
    bounded = isinstance(node, Order) and (node.limit is not None or node.offset is not None)
    analytic = isinstance(node, Project) and any(parsed(item.text).has_window_function for item in node.items)
    return isinstance(node, Aggregate | Distinct) or bounded or analytic


def names_around(plan: Node, names: Names) -> bool:
    """Whether anything in a plan names a column of the rows around it."""
    return any(True in _around(expression.text, expression.scope) for expression in expressions(plan, names))


def _binds(plan: Node, names: Names, *, any_condition: bool = False) -> bool:
    """Whether anything in a plan is bound to the rows around it but by `own = theirs`, or, if that is asked, by any condition."""
    return any(_is_bound(expression) for expression in expressions(plan, names) if expression.role != "where" or not any_condition)


def _is_bound(expression: Placed) -> bool:
    condition = expression.role == "where"
    for part in parsed(expression.text).conjuncts if condition else [expression.text]:
        if True in _around(part, expression.scope):
            sides = parsed(part).equality if condition else None
            if sides is None or any(len(_around(side, expression.scope)) > 1 for side in sides):
                return True
    return False


def _around(text: str, scope: Scope) -> set[bool]:
    """Of the columns in a text, whether they are of the rows around: True, False, or both."""
    return {scope.resolve(ref.parts) is None for ref in parsed(text).columns}

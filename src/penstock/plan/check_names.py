"""Finds names that mean nothing: columns, qualifiers, fields and functions, each in the scope where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.errors import Where
from penstock.plan import functions, reread
from penstock.plan.declare import View
from penstock.plan.findings import ERROR, Finding, Spot, placed
from penstock.plan.names import Names
from penstock.plan.nodes import Aggregate, Distinct, Filter, Generate, Join, Node, Order, Project, children
from penstock.plan.resolve import Scope
from penstock.plan.scalar import Call
from penstock.plan.spread import lateral_view, spread
from penstock.plan.terms import grouping_expressions, has_analytic, hiding_in_having

_WITH_SETS = re.compile(r"\s+with\s+(rollup|cube)\s*$", re.IGNORECASE)
ARGUMENTS_HINT = "Spark's own documentation of the function shows what each argument is"
_TIME_ZONE = re.compile(r"\bat\s+time\s+zone\b", re.IGNORECASE)


@dataclass(frozen=True)
class Expression:
    """One scalar text of a plan, with what it may name. `role` is the clause it stands in."""

    role: str
    text: str
    scope: Scope
    node: Node
    where: Where | None

    @property
    def spot(self) -> Spot:
        return Spot(self.where, self.text)


def expressions(node: Node, names: Names, outer: Scope | None = None) -> Iterator[Expression]:
    """Every expression of a plan and of the plans below it, from the top down."""
    yield from _own(node, names, outer)
    for child in children(node):
        inside = outer
        if child in getattr(node, "subs", ()):
            inside = _sub_scope(node, names, outer)
        elif isinstance(node, Join) and node.lateral and child is node.right:
            inside = names.visible(node.left, outer)
        yield from expressions(child, names, inside)


def _own(node: Node, names: Names, outer: Scope | None) -> Iterator[Expression]:
    match node:
        case Filter():
            yield Expression("where", node.condition, names.visible(node.input, outer), node, node.where)
        case Project():
            yield from _items(node, names, outer)
        case Aggregate():
            yield from _items(node, names, outer)
            scope = names.items_scope(node, outer)
            given = names.given(node)
            for group in grouping_expressions(node):
                yield Expression("group", _WITH_SETS.sub("", group), names.visible(node.input, outer).with_given(given), node, node.where)
            if node.having is not None:
                # Spark compares the types of columns first, and only then finds that an alias was meant
                hiding = hiding_in_having(node) if has_analytic(node) else ()
                yield Expression("having", node.having, scope.with_given(given, hiding), node, node.where)
        case Join(on=condition) if condition is not None:
            yield Expression("on", condition, names.both_sides(node, outer), node, node.where)
        case Generate():
            view = lateral_view(node.text)
            yield Expression("lateral view", view.call, names.visible(node.input, outer), node, node.where)
        case Order():
            scope = names.order_scope(node, outer)
            for key in node.keys:
                yield Expression("order", key, scope, node, node.where)
        case _:
            return


def _items(node: Project | Aggregate, names: Names, outer: Scope | None) -> Iterator[Expression]:
    scope = names.items_scope(node, outer)
    for index, item in enumerate(node.items):
        yield Expression("select", spread(item.text)[0], scope.with_given(names.given(node, index)), node, node.where)


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
        case _:
            return outer or Scope()


def unknown_columns(view: View, expression: Expression) -> Iterator[Finding]:
    """Columns, qualifiers and struct fields that do not exist, and names that mean two columns at once."""
    zoned = _TIME_ZONE.search(expression.text) is not None
    for ref in reread.column_refs(expression.text):
        if zoned and ref.name.lower() in ("time", "zone", "at"):
            continue  # `at AT TIME ZONE 'UTC'`
        spot = expression.spot.part(ref.start, ref.end)
        written = ".".join(ref.parts)
        if expression.scope.resolve(ref.parts) is None:
            if any(not part.replace("_", "a").isalnum() for part in ref.parts) and expression.scope.unnamed:
                continue  # a name in backticks may be one that only Spark gives, e.g. `count(1)`
            near = expression.scope.near(ref.parts)
            hint = f"did you mean `{near}`?" if near else _known(expression.scope)
            yield _named(view, spot, f"there is no column `{written}` here", hint)
        elif len(ref.parts) == 1 and expression.role != "order":
            owners = expression.scope.owners(ref.name)
            if len(owners) > 1:
                yield _named(
                    view, spot, f"`{written}` may be {' or '.join(f'`{owner}.{written}`' for owner in owners)}", f"write `{owners[0]}.{written}`"
                )


def unknown_functions(view: View, expression: Expression) -> Iterator[Finding]:
    """Functions that Spark does not have."""
    for call in reread.calls(expression.text):
        written = expression.text[call.start : call.end].split("(")[0].strip()
        if functions.known(call.name) or "." in written or "`" in written:
            continue
        near = functions.near(call.name)
        spot = expression.spot.part(call.start, call.start + len(written))
        yield _named(
            view, spot, f"there is no function `{written}`", f"did you mean `{near}`?" if near else "every function of Spark SQL may be used"
        )


def wrong_counts(view: View, expression: Expression) -> Iterator[Finding]:
    """Functions that are given more or fewer arguments than they take."""
    for call in reread.calls(expression.text):
        takes = miscount(call)
        if takes is not None:
            where, excerpt = placed(view, expression.spot.part(call.start, call.end))
            yield Finding(ERROR, "TypeFault", takes, where, excerpt, ARGUMENTS_HINT)


def miscount(call: Call) -> str | None:
    """What is wrong with the number of a call's arguments; None where a star may stand for any number, or a name tells which one it is."""
    if any(arg.endswith("*") or "=>" in arg for arg in call.args):
        return None
    takes = functions.miscounted(call.name, len(call.args))
    return f"`{call.name}` takes {takes}, not {len(call.args)}" if takes is not None else None


def unknown_shared(view: View, node: Node, names: Names) -> Iterator[Finding]:
    """Columns of USING that a side does not have."""
    if not isinstance(node, Join):
        return
    for name in node.using:
        for side in (node.left, node.right):
            scope = names.visible(side)
            if scope.resolve((name,)) is None:
                near = scope.near((name,))
                which = "left" if side is node.left else "right"
                hint = f"did you mean `{near}`?" if near else _known(scope)
                yield _named(view, replace(Spot(node.where), text=name, end=len(name)), f"the {which} side of the join has no column `{name}`", hint)


def _known(scope: Scope) -> str | None:
    every = [column.name for relation in scope.relations for column in relation.columns if column.name]
    shown = ", ".join(every[:12])
    return f"the columns here are {shown}{', ...' if len(every) > 12 else ''}" if every else None


def _named(view: View, spot: Spot, message: str, hint: str | None) -> Finding:
    where, excerpt = placed(view, spot)
    return Finding(ERROR, "NameFault", message, where, excerpt, hint)

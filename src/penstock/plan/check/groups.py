"""Finds aggregates where none may stand, and columns that are neither grouped nor aggregated."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.expression import functions
from penstock.plan.expression.columns import ColumnRef
from penstock.plan.expression.mentions import occurrences
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.tokens import tokens
from penstock.plan.expression.words import AGGREGATES
from penstock.plan.model.declare import View
from penstock.plan.model.findings import ERROR, Finding, Spot, placed
from penstock.plan.model.nodes import Aggregate
from penstock.plan.model.resolve import Scope
from penstock.plan.model.scopes import Placed
from penstock.plan.model.terms import grouping_expressions, is_group_by_all

_CLAUSES = {
    "where": ("WHERE", "move it into HAVING, which is applied to groups"),
    "on": ("ON", "aggregate in a subquery first, then join"),
    "group": ("GROUP BY", "aggregate in a subquery first, then group"),
}


def misplaced_aggregates(view: View, expression: Placed) -> Iterator[Finding]:
    """sum(x) in WHERE, ON or GROUP BY."""
    clause = _CLAUSES.get(expression.role)
    if clause is None or (expression.role == "group" and tokens(expression.text)[0].kind == "number"):
        return
    for call in parsed(expression.text).aggregates:
        where, excerpt = placed(view, expression.spot.part(call.start, call.end))
        yield Finding(ERROR, "PlanFault", f"an aggregate, {call.name}(), cannot stand in {clause[0]}", where, excerpt, clause[1])


def nested_aggregates(view: View, expression: Placed) -> Iterator[Finding]:
    """max(sum(x)): of which groups would it be the highest sum?"""
    for outer in parsed(expression.text).aggregates:
        within = (call for call in parsed(expression.text).calls if outer.start < call.start < outer.end)
        inner = next((call for call in within if call.name in AGGREGATES and not call.over), None)
        if inner is not None:
            where, excerpt = placed(view, expression.spot.part(inner.start, inner.end))
            hint = f"aggregate twice: SELECT {outer.name}(x) FROM (SELECT {inner.name}(...) AS x FROM ... GROUP BY ...)"
            yield Finding(ERROR, "PlanFault", f"an aggregate, {inner.name}(), cannot stand inside of another, {outer.name}()", where, excerpt, hint)


def sorted_by_window(view: View, expression: Placed) -> Iterator[Finding]:
    """What is computed OVER a window stands in the select list; Spark does not sort by anything else of it."""
    call = next((call for call in parsed(expression.text).calls if call.over), None) if expression.role == "order" else None
    if call is not None:
        where, excerpt = placed(view, expression.spot.part(call.start, call.end))
        hint = "select it under a name and sort by that: SELECT ..., row_number() OVER (...) AS place ... ORDER BY place"
        yield Finding(ERROR, "PlanFault", f"`{call.name}` OVER a window cannot be a sort key", where, excerpt, hint)


def ungrouped_columns(view: View, expression: Placed) -> Iterator[Finding]:
    """A column of a grouped select list that has no single value in its group.

    Two spellings may mean one expression (`at::date`, `CAST(at AS DATE)`), so a column inside an expression is reported only
    where no group names it.
    """
    node = expression.node
    if expression.role != "select" or not isinstance(node, Aggregate) or is_group_by_all(node) or tokens(expression.text)[-1].text == "*":
        return
    inputs = Scope(expression.scope.relations, outer=None)
    if any(relation.open for relation in inputs.relations):
        return
    groups = [parsed(_bare(group, inputs)).unwrapped.text for group in _groups(node, inputs)]
    if any(expression.scope.resolve(ref.parts) is None for group in groups for ref in parsed(group).columns):
        return  # a group that is misspelt may be this one
    found = _outside(_bare(expression.text, inputs), groups, inputs)
    if found is not None:
        yield _ungrouped(view, expression, found)


def _outside(plain: str, groups: list[str], inputs: Scope) -> ColumnRef | None:
    """The first column that stands neither in an aggregate nor in a group."""
    bare = len(parsed(plain).unwrapped.column) == 1
    named = {ref.parts[0].lower() for group in groups for ref in parsed(group).columns}
    covered = [(call.start, call.end) for call in parsed(plain).aggregates]
    covered += [span for group in groups for span in occurrences(plain, group)]
    covered += [(call.start, call.end) for call in parsed(plain).calls if not functions.known(call.name)]  # it may be an aggregate, misspelt
    for ref in parsed(plain).columns:
        own = any(relation.find(ref.parts[0]) for relation in inputs.relations)
        inside = any(start < ref.end and ref.start < end for start, end in covered)
        if own and not inside and (bare or ref.parts[0].lower() not in named):
            return ref
    return None


def _ungrouped(view: View, expression: Placed, ref: ColumnRef) -> Finding:
    name = ".".join(ref.parts)
    same = [found for found in parsed(expression.text).columns if found.parts[-len(ref.parts) :] == ref.parts]
    spot: Spot = expression.spot.part(same[0].start, same[0].end) if same else expression.spot.part(0, len(expression.text))
    where, excerpt = placed(view, spot)
    hint = f"add `{name}` to GROUP BY, or aggregate it, e.g. max({name}) or any_value({name})"
    return Finding(ERROR, "PlanFault", f"`{name}` is neither grouped nor aggregated", where, excerpt, hint)


def _groups(node: Aggregate, inputs: Scope) -> list[str]:
    """The group expressions, with names of the select list put as what they stand for."""
    named = {item.name.lower(): item.text for item in node.items if item.name is not None}
    found: list[str] = []
    for group in grouping_expressions(node):
        name = parsed(group).output_name
        if name is not None and name.lower() in named and inputs.column(name) is None:
            found += [group, named[name.lower()]]
        else:
            found.append(group)
    return found


def _bare(text: str, inputs: Scope) -> str:
    """The text with the qualifiers of its columns taken off, since `t.a` and `a` are one column."""
    names = {relation.name.lower() for relation in inputs.relations if relation.name is not None}
    changes = []
    for ref in parsed(text).columns:
        if len(ref.parts) > 1 and ref.parts[0].lower() in names:
            first, dot = tokens(text[ref.start : ref.end])[:2]
            changes.append((ref.start + first.start, ref.start + dot.end, ""))
    return substitute(text, changes)

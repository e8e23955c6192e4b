"""Finds aggregates where none may stand, and columns that are neither grouped nor aggregated."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan import reread, scalar
from penstock.plan.check_names import Expression
from penstock.plan.declare import View
from penstock.plan.findings import ERROR, Finding, Spot, placed
from penstock.plan.grammar import tokens
from penstock.plan.mentions import occurrences
from penstock.plan.nodes import Aggregate
from penstock.plan.resolve import Scope
from penstock.plan.terms import column_parts, grouping_expressions, is_group_by_all, unwrapped

_CLAUSES = {
    "where": ("WHERE", "move it into HAVING, which is applied to groups"),
    "on": ("ON", "aggregate in a subquery first, then join"),
    "group": ("GROUP BY", "aggregate in a subquery first, then group"),
}


def misplaced_aggregates(view: View, expression: Expression) -> Iterator[Finding]:
    """sum(x) in WHERE, ON or GROUP BY."""
    clause = _CLAUSES.get(expression.role)
    if clause is None or (expression.role == "group" and tokens(expression.text)[0].kind == "number"):
        return
    for call in reread.aggregate_calls(expression.text):
        where, excerpt = placed(view, expression.spot.part(call.start, call.end))
        yield Finding(ERROR, "PlanFault", f"an aggregate, {call.name}(), cannot stand in {clause[0]}", where, excerpt, clause[1])


def nested_aggregates(view: View, expression: Expression) -> Iterator[Finding]:
    """max(sum(x)): of which groups would it be the highest sum?"""
    for outer in reread.aggregate_calls(expression.text):
        within = (call for call in reread.calls(expression.text) if outer.start < call.start < outer.end)
        inner = next((call for call in within if call.name in scalar.AGGREGATES and not call.over), None)
        if inner is not None:
            where, excerpt = placed(view, expression.spot.part(inner.start, inner.end))
            hint = f"aggregate twice: SELECT {outer.name}(x) FROM (SELECT {inner.name}(...) AS x FROM ... GROUP BY ...)"
            yield Finding(ERROR, "PlanFault", f"an aggregate, {inner.name}(), cannot stand inside of another, {outer.name}()", where, excerpt, hint)


def sorted_by_window(view: View, expression: Expression) -> Iterator[Finding]:
    """What is computed OVER a window stands in the select list; Spark does not sort by anything else of it."""
    call = next((call for call in reread.calls(expression.text) if call.over), None) if expression.role == "order" else None
    if call is not None:
        where, excerpt = placed(view, expression.spot.part(call.start, call.end))
        hint = "select it under a name and sort by that: SELECT ..., row_number() OVER (...) AS place ... ORDER BY place"
        yield Finding(ERROR, "PlanFault", f"`{call.name}` OVER a window cannot be a sort key", where, excerpt, hint)


def ungrouped_columns(view: View, expression: Expression) -> Iterator[Finding]:
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
    groups = [unwrapped(_bare(group, inputs)) for group in _groups(node, inputs)]
    plain = _bare(expression.text, inputs)
    bare = len(column_parts(unwrapped(plain))) == 1
    named = {ref.parts[0].lower() for group in groups for ref in reread.column_refs(group)}
    covered = [(call.start, call.end) for call in reread.aggregate_calls(plain)]
    covered += [span for group in groups for span in occurrences(plain, group)]
    for ref in reread.column_refs(plain):
        own = any(relation.find(ref.parts[0]) for relation in inputs.relations)
        inside = any(start < ref.end and ref.start < end for start, end in covered)
        if own and not inside and (bare or ref.parts[0].lower() not in named):
            yield _ungrouped(view, expression, ref)
            return


def _ungrouped(view: View, expression: Expression, ref: scalar.ColumnRef) -> Finding:
    name = ".".join(ref.parts)
    same = [found for found in reread.column_refs(expression.text) if found.parts[-len(ref.parts) :] == ref.parts]
    spot: Spot = expression.spot.part(same[0].start, same[0].end) if same else expression.spot.part(0, len(expression.text))
    where, excerpt = placed(view, spot)
    hint = f"add `{name}` to GROUP BY, or aggregate it, e.g. max({name}) or any_value({name})"
    return Finding(ERROR, "PlanFault", f"`{name}` is neither grouped nor aggregated", where, excerpt, hint)


def _groups(node: Aggregate, inputs: Scope) -> list[str]:
    """The group expressions, with names of the select list put as what they stand for."""
    named = {item.name.lower(): item.text for item in node.items if item.name is not None}
    found: list[str] = []
    for group in grouping_expressions(node):
        name = scalar.output_name(group)
        if name is not None and name.lower() in named and inputs.column(name) is None:
            found += [group, named[name.lower()]]
        else:
            found.append(group)
    return found


def _bare(text: str, inputs: Scope) -> str:
    """The text with the qualifiers of its columns taken off, since `t.a` and `a` are one column."""
    names = {relation.name.lower() for relation in inputs.relations if relation.name is not None}
    changes = []
    for ref in reread.column_refs(text):
        if len(ref.parts) > 1 and ref.parts[0].lower() in names:
            first, dot = tokens(text[ref.start : ref.end])[:2]
            changes.append((ref.start + first.start, ref.start + dot.end, ""))
    return scalar.substitute(text, changes)

"""Why a view is computed again from all rows: the part of its plan that Spark cannot keep, in the user's words."""

from __future__ import annotations

from typing import assert_never

from penstock.plan.cut.shape import Shapes, equates_columns
from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
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
    walk,
)


def reason_to_recompute(plan: Node, shapes: Shapes) -> str | None:
    """The first part of the plan, from the top, that needs all rows of a stream; None where no single part does."""
    found = (_reason(part, shapes) for part in walk(plan) if shapes.reads_stream(part))
    return next((reason for reason in found if reason is not None), None)


def _reason(node: Node, shapes: Shapes) -> str | None:
    match node:
        case Project() | Aggregate() if over := _analytic(node):
            return f"{over}() OVER (...) compares each row with others of the stream, which may still come"
        case Aggregate():
            return _of_aggregate(node)
        case Order() if node.limit is not None or node.keys:
            return "ORDER BY ... LIMIT chooses among all rows of the stream"
        case Join() if shapes.reads_stream(node.left) and shapes.reads_stream(node.right):
            return _of_join(node)
        case Join() if node.kind in ("left", "right", "full", "anti", "semi") and not shapes.stateless(node):
            return f"{node.kind.upper()} JOIN asks of every row of a table whether a row of the stream has come"
        case SetOperation():
            return f"{node.kind} compares all rows of both sides"
        case Filter() | Project() if any(shapes.reads_stream(plan) for plan in node.subs):
            return "a subquery over a stream may give another answer with every row"
        case Operate() if node.is_keyed and not shapes.stateless(node.inputs[0]):
            return f"{node.function} takes rows by key of what is no longer the stream itself"
        case Operate() if node.is_keyed and not shapes.is_ordered(node):
            return f"{node.function} takes its rows by {node.order[0]}, which no watermark follows"
        case Opaque():
            return "this query is given to Spark as it is, so nothing of it can be kept"
        case Scan() | Alias() | Filter() | Project() | Join() | Generate() | Union() | Distinct() | Order() | Operate():
            return None
        case _:
            assert_never(node)


def _analytic(node: Project | Aggregate) -> str | None:
    calls = (call for item in node.items for call in parsed(item.text).calls if call.over)
    return next((call.name for call in calls), None)


def _of_aggregate(node: Aggregate) -> str | None:
    texts = [item.text for item in node.items] + ([node.having] if node.having else [])
    if terms.groups_sessions(node):
        return "a session may still be joined to another by a row between them"
    if any(call.distinct for text in texts for call in parsed(text).aggregates):
        return "its DISTINCT aggregates cannot be kept as groups of their own"
    if any(parsed(text).makes_rows for text in texts):
        return "explode() beside an aggregate makes several rows of one group"
    return None


def _of_join(node: Join) -> str:
    if node.kind == "inner" and not equates_columns(node):
        return "its JOIN equates no column of one stream with one of the other by their full names, as a.k = b.k does"
    if node.kind in ("inner", "cross"):
        return "its join of two streams is above what Spark can keep of them"
    return f"{node.kind.upper()} JOIN of two streams takes rows back when a partner comes"

"""How far a join of two streams reaches in time: whether the event time of each side is bounded by that of the other.

Spark forgets a row of one side once the watermark of the other has passed all that it can match. With a bound in one direction alone
it keeps the other side for ever, and still tells what stands above that the watermark has passed: what is matched later would be dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.cut.closed import bounds, conjuncts
from penstock.plan.cut.times import names_event_time
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import Declaration, Stream
from penstock.plan.model.nodes import Alias, Filter, Join, Node, Scan, rebuild, walk


def bounded_both_ways(plan: Node, declared: Mapping[str, Declaration], join: Join | None = None) -> bool:
    """Whether the conditions of a plan bound both sides of `join` (the first in it) by the watermark of the other.

    They are comparisons of sums of one event time and constant intervals: Spark solves no others.
    """
    join = join or next((part for part in walk(plan) if isinstance(part, Join)), None)
    if join is None:
        return False
    timed = {name: _watermarked(entry) for name, entry in declared.items()}
    of_left = _with(plan, join, replace(join, left=_seen(join.left, True), right=_seen(join.right, False)))
    of_right = _with(plan, join, replace(join, left=_seen(join.left, False), right=_seen(join.right, True)))
    found = set()
    for left, right in zip(walk(of_left), walk(of_right), strict=True):
        scopes = (left.input, right.input) if isinstance(left, Filter) and isinstance(right, Filter) else (left, right)
        for bound in (bound for text in conjuncts(_condition(left)) for bound in bounds(text)):
            found.add((_side(bound.lesser, *scopes, timed), _side(bound.greater, *scopes, timed)))
    return {("left", "right"), ("right", "left")} <= found


def _condition(node: Node) -> str:
    return node.condition if isinstance(node, Filter) else (node.on or "") if isinstance(node, Join) else ""


def _watermarked(entry: Declaration) -> Declaration:
    """The stream without its event time where Spark has no watermark to solve a bound by."""
    if not isinstance(entry, Stream) or entry.event_time is None:
        return entry
    time = entry.schema.find(entry.event_time)
    return entry if entry.lateness and (time is None or time.type != "timestamp_ntz") else replace(entry, event_time=None)


def _with(node: Node, old: Node, new: Node) -> Node:
    return new if node == old else rebuild(node, lambda child: _with(child, old, new))


def _seen(node: Node, whether: bool) -> Node:
    """The plan with relations of the same names, which are its streams only where they are to be seen."""
    return Alias(Scan(node.name if whether else ""), node.name) if isinstance(node, Scan) else rebuild(node, lambda child: _seen(child, whether))


def _side(text: str, of_left: Node, of_right: Node, declared: Mapping[str, Declaration]) -> str | None:
    """The side whose event time is the one column of a sum."""
    refs = parsed(text).columns
    if len(refs) != 1:
        return None
    left, right = (names_event_time(scope, text[refs[0].start : refs[0].end], declared) for scope in (of_left, of_right))
    return None if left == right else "left" if left else "right"

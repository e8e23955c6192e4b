"""What is wrong with a keyed operator: columns that are not there, a function that cannot be called so, an order that cannot be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.plan.cut.times import event_times, keyed_time
from penstock.plan.model.declare import Declaration, Declared, View
from penstock.plan.model.findings import ERROR, WARNING, Finding, Spot, placed
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import Item, Node, Operate, Project, rebuild, walk
from penstock.plan.model.pattern import Pattern, is_open_ended
from penstock.plan.model.user_code import takes
from penstock.plan.model.watermarks import scoped


def keyed_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """Each at the operator's place."""
    for node in walk(view.query):
        if isinstance(node, Operate) and node.is_keyed:
            where, excerpt = placed(view, Spot(node.where))
            for severity, code, message, hint in _faults(node, view, declared):
                yield Finding(severity, code, f"view `{view.name}`: {message}", where, excerpt, hint)


def without_keyed(node: Node) -> Node:
    """The plan with what is below each keyed operator in its place: the part that is Spark SQL."""
    found = rebuild(node, without_keyed)
    return Project(found.inputs[0], (Item("*"),)) if isinstance(found, Operate) and found.is_keyed else found


def _faults(node: Operate, view: View, declared: Declared) -> Iterator[tuple[str, str, str, str]]:
    if node.pattern is not None:
        yield from _of_pattern(node, node.pattern, scoped(view, declared.declarations))
        return
    entries = scoped(view, declared.declarations)
    below = Names(schemas(entries)).output(node.inputs[0])
    known = [column.name for column in below.columns]
    for name in () if below.open else dict.fromkeys((*node.keys, *node.order)):
        if name.lower() not in {column.lower() for column in known}:
            yield ERROR, "NameFault", f"`{node.function}` takes its rows by `{name}`, which they do not have", f"there are {', '.join(known)}"
    counts = takes(declared.folder, node.function)
    if counts is not None and not (counts[0] <= 2 and (counts[1] is None or counts[1] >= 2)):
        yield ERROR, "TypeFault", f"`{node.function}` is called with a row and a state, two arguments", "def update(row, state): ..."
    if node.option("vectorized") is not None and node.state is None:
        yield ERROR, "PlanFault", f"`{node.function}` is vectorized and declares no state", "declare its columns: 'state n INT'"
    if node.option("vectorized") is not None and node.option("ttl") is not None:
        yield ERROR, "PlanFault", f"`{node.function}` is vectorized and has a ttl, which is judged row by row", "keep a time in its state instead"
    times = event_times(node.inputs[0], entries)
    if node.order and times and keyed_time(node, entries) is None and node.option("arrival") is None:
        hint = f"ORDER BY {times[0]}, {node.order[0]}; or the word 'arrival' after what it returns"
        yield (
            WARNING,
            "PlanFault",
            f"`{node.function}` takes its rows by `{node.order[0]}`, which no watermark follows: it reads them all again",
            hint,
        )


def _of_pattern(node: Operate, pattern: Pattern, entries: Mapping[str, Declaration]) -> Iterator[tuple[str, str, str, str]]:
    """What a row pattern keeps without bound, and an order that cannot be kept."""
    if pattern.within is None and is_open_ended(pattern.term):
        hint = "PATTERN (...) WITHIN INTERVAL '10' MINUTE bounds what is kept"
        yield WARNING, "PlanFault", "the pattern has no WITHIN: rows of a match that is never completed are kept for ever", hint
    times = event_times(node.inputs[0], entries)
    if times and keyed_time(node, entries) is None:
        hint = f"ORDER BY {times[0]}, {node.order[0]}"
        yield WARNING, "PlanFault", f"the pattern takes its rows by `{node.order[0]}`, which no watermark follows: it reads them all again", hint

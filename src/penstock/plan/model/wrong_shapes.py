"""Shapes that Spark accepts and answers wrongly, each with what is run in its place. Every text for Spark passes here, live and in batch.

| shape                                             | what Spark does                                    | what is run                    |
|---------------------------------------------------|----------------------------------------------------|--------------------------------|
| HAVING or WHERE over the bounds of a session      | tests the session of a single row, before merging  | bounds as aggregates: sessions |
| several DISTINCT aggregates, or one with FILTER,  | counts a value twice whose rows lie further apart  | sessions first, with their     |
| over a session window                             | than the gap: it groups by the value first         | rows; then DISTINCT over those |
| the same in ROLLUP, CUBE or GROUPING SETS         | the same, and sessions of each set differ          | nothing: `check` refuses it    |

What Spark answers wrongly only on a stream is not run there at all: `plan/cut/shape.py` names what is trusted.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.plan.expression.calls import Call
from penstock.plan.expression.columns import ColumnRef
from penstock.plan.expression.mentions import occurrences
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.model import terms
from penstock.plan.model.nodes import Aggregate, Item, Project
from penstock.plan.model.sessions import session_group, shielded


def made_right(node: Aggregate) -> Aggregate:
    """The aggregate that gives what this one means, where Spark would not."""
    if terms.is_group_by_all(node) and not any(parsed(item.text).star for item in node.items):
        expanded = replace(node, groups=terms.grouping_expressions(node), grouping=None)
        node = expanded if session_group(expanded) is not None else node
    return shielded(_sessions_first(node) or node)


def distinct_in_sets_of_sessions(node: Aggregate) -> bool:
    """Whether DISTINCT aggregates stand beside sessions of several grouping sets, of which no single query gives the right answer."""
    if node.grouping is None or terms.is_group_by_all(node):
        return False
    return terms.groups_sessions(node) and any(call.distinct for text in _texts(node) for call in parsed(text).aggregates)


def _texts(node: Aggregate) -> list[str]:
    return [item.text for item in node.items] + ([node.having] if node.having else [])


def _sessions_first(node: Aggregate) -> Aggregate | None:
    """The aggregate above the rows of finished sessions; None where it has no DISTINCT over a session that Spark gets wrong.

    Below, each session is made with a list of what its rows hold; then each row stands for itself again, with its session.
    """
    session = session_group(node)
    calls = [(text, call) for text in _texts(node) for call in parsed(text).aggregates]
    if session is None or not any(call.distinct for _, call in calls):
        return None
    names = tuple("session_window" if group == session else f"__g{index}" for index, group in enumerate(node.groups))
    columns = list(dict.fromkeys(text[call.start : call.end][ref.start : ref.end] for text, call in calls for ref in _refs(text, call)))
    fields = ", ".join(f"{column} AS __c{index}" for index, column in enumerate(columns)) or "1 AS __c0"
    groups = tuple(Item(group if group != session else "session_window", name) for group, name in zip(node.groups, names, strict=True))
    sessions = Aggregate(node.input, node.groups, (*groups, Item(f"collect_list(struct({fields}))", "__rows")), where=node.where)
    rows = Project(sessions, (*(Item(terms.written(name)) for name in names), Item("inline(__rows)")), where=node.where)
    lifted = {column: f"__c{index}" for index, column in enumerate(columns)}
    items = tuple(Item(_lifted(item.text, node, names, lifted), terms.item_name(item) or item.text) for item in node.items)
    having = None if node.having is None else _lifted(terms.unaliased_having(node) or "", node, names, lifted)
    return replace(node, input=rows, groups=names, items=items, having=having)


def _refs(text: str, call: Call) -> tuple[ColumnRef, ...]:
    return parsed(text[call.start : call.end]).columns


def _lifted(text: str, node: Aggregate, names: tuple[str, ...], columns: dict[str, str]) -> str:
    """`text` over the rows of sessions: columns inside aggregates and groups outside of them under their new names."""
    calls = parsed(text).aggregates
    spans = [
        (call.start + ref.start, call.start + ref.end, columns[text[call.start + ref.start : call.start + ref.end]])
        for call in calls
        for ref in _refs(text, call)
    ]
    taken = [(call.start, call.end) for call in calls]
    for group, name in sorted(zip(node.groups, names, strict=True), key=lambda pair: -len(pair[0])):
        for start, end in occurrences(text, group):
            if not any(start < high and low < end for low, high in taken):
                taken.append((start, end))
                spans.append((start, end, terms.written(name)))
    return substitute(text, spans)

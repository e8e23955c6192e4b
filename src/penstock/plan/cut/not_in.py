"""NOT IN over a stream in terms of what is known by value: one NULL among the members, or no member at all, decides it for every row.

WHERE e NOT IN (SELECT m FROM s)

    WHERE (SELECT count(*) = 0 FROM s) OR (e IS NOT NULL AND NOT (SELECT count_if(m IS NULL) > 0 FROM s)
                                           AND NOT EXISTS (SELECT 1 FROM s WHERE s.m = e))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Alias, Filter, Item, Node, Project, rebuild
from penstock.schema import quote

_NOT_IN = re.compile(r"^(?P<value>.+?)\s+not\s+in\s*\(\s*__sub_(?P<sub>\d+)__\s*\)$", re.IGNORECASE | re.DOTALL)
_MEMBER = "__m"


def without_not_in(node: Node, names: Names, changes: Callable[[Node], bool]) -> Node:
    """The plan without NOT IN over plans that may change."""
    node = rebuild(node, lambda child: without_not_in(child, names, changes))
    if not isinstance(node, Filter):
        return node
    subs = list(node.subs)
    conjuncts = [_apart(text, subs, names, changes) for text in parsed(node.condition).conjuncts]
    return node if len(subs) == len(node.subs) else replace(node, condition=" AND ".join(conjuncts), subs=tuple(subs))


def _apart(text: str, subs: list[Node], names: Names, changes: Callable[[Node], bool]) -> str:
    found = _NOT_IN.match(parsed(text).unwrapped.text)
    if found is None or not changes(subs[int(found["sub"])]) or not parsed(found["value"]).column:
        return text
    members = named(subs[int(found["sub"])])
    column = next(iter(names.output(members).columns), None)
    if column is None or not column.name or column.name == _MEMBER:
        return text
    of = Project(Alias(members, "__of"), (Item(quote(column.name), _MEMBER),))
    value, first, at = found["value"], int(found["sub"]), len(subs)
    subs[first] = Aggregate(of, (), (Item("count(*) = 0", "__none"),))
    subs += [
        Aggregate(of, (), (Item(f"count_if({_MEMBER} IS NULL) > 0", "__null"),)),
        Project(Filter(Alias(of, "__in"), f"__in.{_MEMBER} = {value}"), (Item("1", "__one"),)),
    ]
    return f"((__sub_{first}__) OR ({value} IS NOT NULL AND NOT (__sub_{at}__) AND NOT EXISTS (__sub_{at + 1}__)))"


def named(plan: Node) -> Node:
    """A plan inside an expression with a name for every column: what they are called there nobody asks."""
    if not isinstance(plan, Project | Aggregate):
        return plan
    is_named = [bool(terms.item_name(item)) or parsed(item.text).star is not None for item in plan.items]
    return replace(plan, items=tuple(item if is_named[at] else Item(item.text, f"__c{at}") for at, item in enumerate(plan.items)))

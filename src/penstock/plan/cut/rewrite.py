"""Rewrites that bring more of a plan within Spark's reach, before it is cut. Each keeps the meaning of the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from penstock.plan.cut.by_value import ByValue, can_be_counted
from penstock.plan.cut.partials import COMBINE
from penstock.plan.cut.split import Split
from penstock.plan.expression.calls import Call
from penstock.plan.expression.infer import decimal_of_sum
from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.keys import called
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Alias, Distinct, Filter, Item, Node, Order, Project, rebuild
from penstock.plan.model.scopes import expressions
from penstock.plan.model.sorting import output_column

Rules: TypeAlias = tuple[Callable[[Node, Names], Node], ...]


def split_analytic(node: Node, names: Names) -> Node:
    """`rank() OVER (ORDER BY sum(x))` beside GROUP BY becomes a projection over the plain aggregate."""
    if not isinstance(node, Aggregate) or node.grouping is not None:
        return node
    if not terms.has_analytic(node) or not _all_named(node):
        return node
    if from_around(node, names):
        return node  # a subquery would ask for columns that the rows of the aggregate do not have
    split = Split(node.groups)
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = terms.unaliased_having(node)
    having = None if having is None else split.lift(having)
    if not _can_be_split(node, split, items, having, names):
        return node
    inner: Node = Aggregate(node.input, node.groups, split.items(), subs=node.subs, where=node.where)
    if having is not None:
        inner = Filter(inner, having, subs=node.subs, where=node.where)
    return Project(inner, items, subs=node.subs, where=node.where)


def split_distinct(node: Node, names: Names) -> Node:
    """`count(DISTINCT x)` becomes an aggregate over the groups of (keys, x), which Spark can keep."""
    if not isinstance(node, Aggregate) or node.grouping is not None or node.subs:
        return node
    split = _split_of_distinct(node, names)
    if split is None:
        return node
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = terms.unaliased_having(node)
    having = None if having is None else split.lift(having)
    if not _can_be_split(node, split, items, having, names):
        return node
    below = split.input_below(node.input) if isinstance(split, ByValue) else node.input
    inner = Aggregate(below, split.groups_below(), split.items(), where=node.where)
    return Aggregate(inner, split.group_names(), items, having, where=node.where)


def _split_of_distinct(node: Aggregate, names: Names) -> Split | None:
    """In which two the aggregate can be; None where it has no DISTINCT call, or would be answered wrongly in two."""
    calls = [(text, call) for text in terms.texts_of(node) for call in parsed(text).aggregates]
    by_value = _is_counted_by_value(node, calls)
    if not by_value and not _is_distinct_of_parts(node, calls):
        return None
    sums = {text[call.start : call.end]: call for text, call in calls if call.name == "sum" and not call.distinct}
    types = {text: decimal_of_sum(call, names.items_scope(node).look) for text, call in sums.items()}
    if None in types.values():
        return None  # a wider DECIMAL would have another scale in what is computed from it
    decimals = {text: kind for text, kind in types.items() if kind}
    if by_value:
        return ByValue(node.groups, decimals)
    arguments = [call.args for _, call in calls if call.distinct]
    one = len(set(arguments)) == 1 and len(arguments[0]) == 1
    return Split(node.groups, distinct=True, one_argument=one, decimals=decimals)


def _is_counted_by_value(node: Aggregate, calls: list[tuple[str, Call]]) -> bool:
    """Whether DISTINCT aggregates of several arguments, or with a FILTER, can be made of the counts of their values."""
    distinct = [(text, call) for text, call in calls if call.distinct]
    several = len({call.args for _, call in distinct}) > 1 or any(call.has_clause or len(call.args) > 1 for _, call in distinct)
    plain = not any(parsed(text).has_window_function for text in terms.texts_of(node)) and _all_named(node) and not terms.groups_sessions(node)
    return several and plain and all(can_be_counted(text, call) for text, call in calls)


def _is_distinct_of_parts(node: Aggregate, calls: list[tuple[str, Call]]) -> bool:
    """Whether DISTINCT aggregates can be made of finer groups; those would make other sessions."""
    if not any(call.distinct for _, call in calls) or any(parsed(text).has_window_function for text in terms.texts_of(node)) or not _all_named(node):
        return False
    if terms.groups_sessions(node):
        return False
    return all(_can_be_lifted(call) if call.distinct else call.name.lower() in COMBINE for text, call in calls)


def split_having(node: Node, names: Names) -> Node:
    """HAVING with subqueries becomes a filter above the plain aggregate: as a flag beside the aggregates Spark takes no correlated one.

    The rows below keep the names of their relation and of its columns, by which a subquery speaks of the group.
    """
    if not isinstance(node, Aggregate) or node.grouping is not None or not terms.asks_in_having(node) or not _all_named(node):
        return node
    split, name = Split(node.groups, own_names=True), called(node.input)
    if not all(_says_group(parts, name, split.group_names()) for parts in from_around(node, names)):
        return node
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = split.lift(terms.unaliased_having(node) or "")
    if not _can_be_split(node, split, items, having, names):
        return node
    inner: Node = Aggregate(node.input, node.groups, split.items(), subs=_asked(node, split.items()), where=node.where)
    rows = inner if name is None else Alias(inner, name, where=node.where)
    return Project(Filter(rows, having, node.subs, where=node.where), items, _asked(node, items), where=node.where)


def _can_be_split(node: Aggregate, split: Split, items: tuple[Item, ...], having: str | None, names: Names) -> bool:
    """Whether what was lifted names nothing but columns of the aggregate below, in the list also what was named earlier in it.

    It does where a group is written in two ways, as `at::date` and `CAST(at AS DATE)`: above the aggregate there is no `at`.
    """
    scope = names.items_scope(node)
    below = {str(item.name).lower() for item in split.items()}
    given: set[str] = set()
    for item in items:
        if any(ref.parts[0].lower() not in below | given for ref in parsed(item.text).columns):
            return False
        if item.name is not None and scope.resolve((item.name,)) is None:
            given.add(item.name.lower())
    return all(ref.parts[0].lower() in below for ref in parsed(having or "").columns)


def _asked(node: Aggregate, items: tuple[Item, ...]) -> tuple[Node, ...]:
    """The aggregate's subqueries, where one of the items asks for one."""
    return node.subs if any(parsed(item.text).has_subquery for item in items) else ()


def from_around(node: Aggregate, names: Names) -> list[tuple[str, ...]]:
    """The columns of the aggregate's own input that its subqueries name."""
    around = {relation.name.lower() for relation in names.visible(node.input).relations if relation.name is not None}
    found: list[tuple[str, ...]] = []
    for expression in (expression for plan in node.subs for expression in expressions(plan, names)):
        inside = {relation.name.lower() for relation in expression.scope.relations if relation.name is not None}
        for ref in parsed(expression.text).columns:
            qualified = len(ref.parts) > 1 and ref.parts[0].lower() in around - inside
            if qualified or expression.scope.resolve(ref.parts) is None:
                found.append(ref.parts)
    return found


def _says_group(parts: tuple[str, ...], relation: str | None, groups: tuple[str, ...]) -> bool:
    if len(parts) > 1 and relation is not None and parts[0].lower() == relation.lower():
        parts = parts[1:]
    return parts[0].lower() in (group.lower() for group in groups)


def carry_sort_keys(node: Node, names: Names, rules: Rules) -> Node:
    """Sort keys above an aggregate that will be split become columns of it, for they are written in its own terms."""
    below = node.input.input if isinstance(node, Order) and isinstance(node.input, Distinct) else node.input if isinstance(node, Order) else None
    if not isinstance(node, Order) or not isinstance(below, Aggregate) or not any(rule(below, names) is not below for rule in rules):
        return node
    keys: list[str] = []
    carried: list[Item] = []
    for index, key in enumerate(node.keys):
        text, direction = parsed(key).direction
        shown = output_column(text, below.items)
        if shown is None and node.input is below:
            shown = f"__s{index}"
            carried.append(Item(terms.unaliased(text, below.items), shown))
        keys.append(f"{shown or text} {direction}".strip())
    node = replace(node, keys=tuple(keys))
    return replace(node, input=replace(below, items=(*below.items, *carried))) if carried else node


def _can_be_lifted(call: Call) -> bool:
    """Whether a DISTINCT call can be asked of its arguments' groups: they are expressions, one at least not constant, and no clause follows."""
    arguments = [parsed(argument) for argument in call.args]
    if call.has_clause or any(argument.has_star for argument in arguments):
        return False
    return not all(argument.is_constant for argument in arguments)


def _all_named(node: Aggregate) -> bool:
    """A column that only Spark can name must not be renamed by a rewrite."""
    return all(terms.item_name(item) for item in node.items)


RULES: Rules = (split_analytic, split_distinct)
# Of a view that emits changes the rows that HAVING leaves out are kept too, so that they can be taken back.
RULES_OF_CHANGES: Rules = (split_having, *RULES)


def rewrite(node: Node, names: Names, rules: Rules = RULES) -> Node:
    """The plan after every rule was applied everywhere, from the leaves up."""

    def again(part: Node) -> Node:
        return rewrite(part, names, rules)

    node = rebuild(carry_sort_keys(node, names, rules), again)
    for rule in rules:
        changed = rule(node, names)
        if changed is not node:
            return rebuild(changed, again)
    return node

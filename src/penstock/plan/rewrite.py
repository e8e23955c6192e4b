"""Rewrites that bring more of a plan within Spark's reach, before it is cut. Each keeps the meaning of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from penstock.plan import scalar, terms
from penstock.plan.check_names import expressions
from penstock.plan.keys import called
from penstock.plan.mentions import exact_occurrences, near_occurrences
from penstock.plan.names import Names
from penstock.plan.nodes import Aggregate, Alias, Distinct, Filter, Item, Node, Order, Project, rebuild
from penstock.plan.sorting import output_column
from penstock.plan.sums import decimal_of_sum

Rules: TypeAlias = tuple[Callable[[Node, Names], Node], ...]

# How partial results of a finer grouping are combined; what is not here has no exact combination for every type.
_COMBINE = {
    "count": "sum",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "count_if": "sum",
    "bool_and": "bool_and",
    "bool_or": "bool_or",
    "every": "every",
    "any": "any",
}


def split_analytic(node: Node, names: Names) -> Node:
    """`rank() OVER (ORDER BY sum(x))` beside GROUP BY becomes a projection over the plain aggregate."""
    if not isinstance(node, Aggregate) or node.grouping is not None:
        return node
    if not terms.has_analytic(node) or not _all_named(node):
        return node
    if from_around(node, names):
        return node  # a subquery would ask for columns that the rows of the aggregate do not have
    split = _Split(node.groups)
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = terms.unaliased_having(node)
    having = None if having is None else split.lift(having)
    if not _said_below(node, split, items, having, names):
        return node
    inner: Node = Aggregate(node.input, node.groups, split.items(), subs=node.subs, where=node.where)
    if having is not None:
        inner = Filter(inner, having, subs=node.subs, where=node.where)
    return Project(inner, items, subs=node.subs, where=node.where)


def split_distinct(node: Node, names: Names) -> Node:
    """`count(DISTINCT x)` becomes an aggregate over the groups of (keys, x), which Spark can keep."""
    if not isinstance(node, Aggregate) or node.grouping is not None or node.subs:
        return node
    texts = [item.text for item in node.items] + ([node.having] if node.having else [])
    found = [call for text in texts for call in scalar.aggregate_calls(text)]
    if not any(call.distinct for call in found) or any(scalar.has_window_function(text) for text in texts):
        return node
    if not _all_named(node) or not all(call.distinct or call.name.lower() in _COMBINE for call in found):
        return node
    if any((window := scalar.window_call(group)) is not None and window.kind == "session" for group in node.groups):
        return node  # a finer grouping would make other sessions
    if not all(_can_be_lifted(text, call) for text in texts for call in scalar.aggregate_calls(text) if call.distinct):
        return node
    sums = {text[call.start : call.end]: call for text in texts for call in scalar.aggregate_calls(text) if call.name == "sum" and not call.distinct}
    types = {text: decimal_of_sum(call, names.items_scope(node).look) for text, call in sums.items()}
    if None in types.values():
        return node  # a wider DECIMAL would have another scale in what is computed from it
    split = _Split(node.groups, distinct=True, decimals={text: kind for text, kind in types.items() if kind})
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = terms.unaliased_having(node)
    having = None if having is None else split.lift(having)
    if not _said_below(node, split, items, having, names):
        return node
    inner = Aggregate(node.input, (*node.groups, *split.arguments), split.items(), where=node.where)
    return Aggregate(inner, split.group_names(), items, having, where=node.where)


def split_having(node: Node, names: Names) -> Node:
    """HAVING with subqueries becomes a filter above the plain aggregate: as a flag beside the aggregates Spark takes no correlated one.

    The rows below keep the names of their relation and of its columns, by which a subquery speaks of the group.
    """
    if not isinstance(node, Aggregate) or node.grouping is not None or not terms.asks_subquery(node.having) or not _all_named(node):
        return node
    split, name = _Split(node.groups, own_names=True), called(node.input)
    if not all(_says_group(parts, name, split.group_names()) for parts in from_around(node, names)):
        return node
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = split.lift(terms.unaliased_having(node) or "")
    if not _said_below(node, split, items, having, names):
        return node
    inner: Node = Aggregate(node.input, node.groups, split.items(), subs=_asked(node, split.items()), where=node.where)
    rows = inner if name is None else Alias(inner, name, where=node.where)
    return Project(Filter(rows, having, node.subs, where=node.where), items, _asked(node, items), where=node.where)


def _said_below(node: Aggregate, split: _Split, items: tuple[Item, ...], having: str | None, names: Names) -> bool:
    """Whether what was lifted names nothing but columns of the aggregate below, in the list also what was named earlier in it.

    It does where a group is spelled in two ways, as `at::date` and `CAST(at AS DATE)`: above the aggregate there is no `at`.
    """
    scope = names.items_scope(node)
    below = {str(item.name).lower() for item in split.items()}
    given: set[str] = set()
    for item in items:
        if any(ref.parts[0].lower() not in below | given for ref in scalar.column_refs(item.text)):
            return False
        if item.name is not None and scope.resolve((item.name,)) is None:
            given.add(item.name.lower())
    return all(ref.parts[0].lower() in below for ref in scalar.column_refs(having or ""))


def _asked(node: Aggregate, items: tuple[Item, ...]) -> tuple[Node, ...]:
    """The aggregate's subqueries, where one of the items asks for one."""
    return node.subs if any(terms.asks_subquery(item.text) for item in items) else ()


def from_around(node: Aggregate, names: Names) -> list[tuple[str, ...]]:
    """The columns of the aggregate's own input that its subqueries name."""
    around = {relation.name.lower() for relation in names.visible(node.input).relations if relation.name is not None}
    found: list[tuple[str, ...]] = []
    for expression in (expression for plan in node.subs for expression in expressions(plan, names)):
        inside = {relation.name.lower() for relation in expression.scope.relations if relation.name is not None}
        for ref in scalar.column_refs(expression.text):
            qualified = len(ref.parts) > 1 and ref.parts[0].lower() in around - inside
            if qualified or expression.scope.resolve(ref.parts) is None:
                found.append(ref.parts)
    return found


def _says_group(parts: tuple[str, ...], relation: str | None, groups: tuple[str, ...]) -> bool:
    if len(parts) > 1 and relation is not None and parts[0].lower() == relation.lower():
        parts = parts[1:]
    return parts[0].lower() in (group.lower() for group in groups)


def carry_sort_keys(node: Node, names: Names, rules: Rules) -> Node:
    """Sort keys above an aggregate that will be split become columns of it, for they are said in its own terms."""
    below = node.input.input if isinstance(node, Order) and isinstance(node.input, Distinct) else node.input if isinstance(node, Order) else None
    if not isinstance(node, Order) or not isinstance(below, Aggregate) or not any(rule(below, names) is not below for rule in rules):
        return node
    keys: list[str] = []
    carried: list[Item] = []
    for index, key in enumerate(node.keys):
        text, direction = terms.sort_direction(key)
        shown = output_column(text, below.items)
        if shown is None and node.input is below:
            shown = f"__s{index}"
            carried.append(Item(terms.unaliased(text, below.items), shown))
        keys.append(f"{shown or text} {direction}".strip())
    node = replace(node, keys=tuple(keys))
    return replace(node, input=replace(below, items=(*below.items, *carried))) if carried else node


def _can_be_lifted(text: str, call: scalar.Call) -> bool:
    """Whether a DISTINCT call can be asked of its arguments' groups: they are expressions, one at least not constant, and no clause follows."""
    arguments = terms.distinct_arguments(text[call.start : call.end])
    if terms.has_clause(text, call) or any(terms.holds_star(argument) for argument in arguments):
        return False
    return not all(map(terms.is_constant, arguments))


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


class _Split:
    """Collects the groups and aggregate calls of a block as named columns, and lifts texts above them."""

    def __init__(
        self, groups: tuple[str, ...], *, distinct: bool = False, own_names: bool = False, decimals: Mapping[str, str] | None = None
    ) -> None:
        self._groups = groups
        self._distinct = distinct
        self._own_names = own_names
        self._decimals = decimals or {}
        self._calls: list[str] = []
        self.arguments: list[str] = []

    def group_names(self) -> tuple[str, ...]:
        return tuple(self._group_name(index) for index in range(len(self._groups)))

    def _group_name(self, index: int) -> str:
        window = scalar.window_call(self._groups[index])
        if window is not None:
            return "session_window" if window.kind == "session" else "window"
        own = scalar.output_name(self._groups[index]) if self._own_names else None
        taken = [scalar.output_name(group) for group in self._groups]
        return own if own is not None and taken.count(own) == 1 else f"__g{index}"

    def items(self) -> tuple[Item, ...]:
        """The select list of the aggregate below: groups, distinct arguments, partial results."""
        groups = tuple(Item(text, self._group_name(index)) for index, text in enumerate(self._groups))
        arguments = tuple(Item(text, f"__d{index}") for index, text in enumerate(self.arguments))
        return groups + arguments + tuple(Item(text, f"__a{index}") for index, text in enumerate(self._calls))

    def lift(self, text: str) -> str:
        """`text` in terms of the columns below: aggregate calls and group expressions replaced by their names."""
        spans = [(call.start, call.end, self._call(text[call.start : call.end], call)) for call in scalar.aggregate_calls(text)]
        whole_first = sorted(range(len(self._groups)), key=lambda index: -len(self._groups[index]))
        # `visitor.id` may be a field beside a column `id`: what is spelled as a group is that group, before what only resembles one.
        for find in (exact_occurrences, near_occurrences):
            for index in whole_first:
                spans += [
                    (start, end, terms.written(self._group_name(index)))
                    for start, end in find(text, self._groups[index])
                    if not any(start < taken[1] and taken[0] < end for taken in spans)
                ]
        return scalar.substitute(text, spans)

    def _call(self, text: str, call: scalar.Call) -> str:
        if call.distinct and self._distinct:
            return self._distinct_call(text, call)
        if text not in self._calls:
            self._calls.append(text)
        name = f"__a{self._calls.index(text)}"
        if not self._distinct:
            return name
        combined = f"{_COMBINE[call.name.lower()]}({name})"
        if text in self._decimals:
            return f"cast({combined} AS {self._decimals[text]})"
        return f"coalesce({combined}, 0)" if call.name.lower() in ("count", "count_if") else combined

    def _distinct_call(self, text: str, call: scalar.Call) -> str:
        lifted = (argument if terms.is_constant(argument) else self._argument(argument) for argument in terms.distinct_arguments(text))
        return f"{call.name}(DISTINCT {', '.join(lifted)})"

    def _argument(self, text: str) -> str:
        if text not in self.arguments:
            self.arguments.append(text)
        return f"__d{self.arguments.index(text)}"

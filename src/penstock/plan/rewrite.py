"""Rewrites that bring more of a plan within Spark's reach, before it is cut. Each keeps the meaning of the plan."""

from __future__ import annotations

from collections.abc import Callable

from penstock.plan import scalar, terms
from penstock.plan.nodes import Aggregate, Filter, Item, Node, Project, rebuild

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


def split_analytic(node: Node) -> Node:
    """`rank() OVER (ORDER BY sum(x))` beside GROUP BY becomes a projection over the plain aggregate."""
    if not isinstance(node, Aggregate) or node.grouping is not None:
        return node
    texts = [item.text for item in node.items]
    if not any(scalar.has_window_function(text) for text in texts):
        return node
    split = _Split(node.groups)
    items = tuple(Item(split.lift(item.text), item.name or scalar.output_name(item.text) or item.text) for item in node.items)
    having = None if node.having is None else split.lift(node.having)
    inner: Node = Aggregate(node.input, node.groups, split.items(), subs=node.subs, where=node.where)
    if having is not None:
        inner = Filter(inner, having, subs=node.subs, where=node.where)
    return Project(inner, items, subs=node.subs, where=node.where)


def split_distinct(node: Node) -> Node:
    """`count(DISTINCT x)` becomes an aggregate over the groups of (keys, x), which Spark can keep."""
    if not isinstance(node, Aggregate) or node.grouping is not None or node.subs:
        return node
    texts = [item.text for item in node.items] + ([node.having] if node.having else [])
    found = [call for text in texts for call in scalar.aggregate_calls(text)]
    if not any(call.distinct for call in found) or any(scalar.has_window_function(text) for text in texts):
        return node
    if not all(call.distinct or call.name in _COMBINE for call in found):
        return node
    split = _Split(node.groups, distinct=True)
    items = tuple(Item(split.lift(item.text), item.name or scalar.output_name(item.text) or item.text) for item in node.items)
    having = None if node.having is None else split.lift(node.having)
    inner = Aggregate(node.input, (*node.groups, *split.arguments), split.items(), where=node.where)
    return Aggregate(inner, split.group_names(), items, having, where=node.where)


RULES: tuple[Callable[[Node], Node], ...] = (split_analytic, split_distinct)


def rewrite(node: Node) -> Node:
    """The plan after every rule was applied everywhere, from the leaves up."""
    node = rebuild(node, rewrite)
    for rule in RULES:
        changed = rule(node)
        if changed is not node:
            return rebuild(changed, rewrite)
    return node


class _Split:
    """Collects the groups and aggregate calls of a block as named columns, and lifts texts above them."""

    def __init__(self, groups: tuple[str, ...], *, distinct: bool = False) -> None:
        self._groups = groups
        self._distinct = distinct
        self._calls: list[str] = []
        self.arguments: list[str] = []

    def group_names(self) -> tuple[str, ...]:
        return tuple(self._group_name(index) for index in range(len(self._groups)))

    def _group_name(self, index: int) -> str:
        window = scalar.window_call(self._groups[index])
        if window is not None:
            return "session_window" if window.kind == "session" else "window"
        return f"__g{index}"

    def items(self) -> tuple[Item, ...]:
        """The select list of the aggregate below: groups, distinct arguments, partial results."""
        groups = tuple(Item(text, self._group_name(index)) for index, text in enumerate(self._groups))
        arguments = tuple(Item(text, f"__d{index}") for index, text in enumerate(self.arguments))
        return groups + arguments + tuple(Item(text, f"__a{index}") for index, text in enumerate(self._calls))

    def lift(self, text: str) -> str:
        """`text` in terms of the columns below: aggregate calls and group expressions replaced by their names."""
        spans = [(call.start, call.end, self._call(text[call.start : call.end], call)) for call in scalar.aggregate_calls(text)]
        for index, group in enumerate(self._groups):
            spans += [
                (start, end, self._group_name(index))
                for start, end in terms.occurrences(text, group)
                if not any(start < taken[1] and taken[0] < end for taken in spans)
            ]
        return scalar.substitute(text, spans)

    def _call(self, text: str, call: scalar.Call) -> str:
        if call.distinct:
            return self._distinct_call(text, call)
        if text not in self._calls:
            self._calls.append(text)
        name = f"__a{self._calls.index(text)}"
        if not self._distinct:
            return name
        combined = f"{_COMBINE[call.name]}({name})"
        return f"coalesce({combined}, 0)" if call.name in ("count", "count_if") else combined

    def _distinct_call(self, text: str, call: scalar.Call) -> str:
        names = []
        for argument in terms.distinct_arguments(text):
            if argument not in self.arguments:
                self.arguments.append(argument)
            names.append(f"__d{self.arguments.index(argument)}")
        return f"{call.name}(DISTINCT {', '.join(names)})"

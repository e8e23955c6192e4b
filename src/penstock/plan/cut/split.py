"""A block of SELECT and GROUP BY in two: an aggregate with named columns, and texts above it in terms of those."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.cut.partials import COMBINE
from penstock.plan.expression.calls import Call
from penstock.plan.expression.mentions import exact_occurrences, near_occurrences
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.model import terms
from penstock.plan.model.nodes import Item


class Split:
    """Collects the groups and aggregate calls of a block as named columns, and lifts texts above them."""

    def __init__(
        self,
        groups: tuple[str, ...],
        *,
        distinct: bool = False,
        one_argument: bool = False,
        own_names: bool = False,
        decimals: Mapping[str, str] | None = None,
    ) -> None:
        self._groups = groups
        self._distinct = distinct
        self._one_argument = one_argument
        self._own_names = own_names
        self._decimals = decimals or {}
        self._calls: list[str] = []
        self.arguments: list[str] = []

    def group_names(self) -> tuple[str, ...]:
        return tuple(self._group_name(index) for index in range(len(self._groups)))

    def _group_name(self, index: int) -> str:
        window = parsed(self._groups[index]).window
        if window is not None:
            return window.column
        own = parsed(self._groups[index]).output_name if self._own_names else None
        taken = [parsed(group).output_name for group in self._groups]
        return own if own is not None and taken.count(own) == 1 else f"__g{index}"

    def groups_below(self) -> tuple[str, ...]:
        """The groups of the aggregate below."""
        return (*self._groups, *self.arguments)

    def items(self) -> tuple[Item, ...]:
        """The select list of the aggregate below: groups, distinct arguments, partial results."""
        groups = tuple(Item(text, self._group_name(index)) for index, text in enumerate(self._groups))
        arguments = tuple(Item(text, f"__d{index}") for index, text in enumerate(self.arguments))
        return groups + arguments + tuple(Item(text, f"__a{index}") for index, text in enumerate(self._calls))

    def lift(self, text: str) -> str:
        """`text` in terms of the columns below: aggregate calls and group expressions replaced by their names."""
        spans = [(call.start, call.end, self._call(text[call.start : call.end], call)) for call in parsed(text).aggregates]
        whole_first = sorted(range(len(self._groups)), key=lambda index: -len(self._groups[index]))
        # `visitor.id` may be a field beside a column `id`: what is spelled as a group is that group, before what only resembles one.
        for find in (exact_occurrences, near_occurrences):
            for index in whole_first:
                spans += [
                    (start, end, terms.written(self._group_name(index)))
                    for start, end in find(text, self._groups[index])
                    if not any(start < taken[1] and taken[0] < end for taken in spans)
                ]
        return substitute(text, spans)

    def _call(self, text: str, call: Call) -> str:
        if call.distinct and self._distinct:
            return self._distinct_call(call)
        return self._combined(text, text, call)

    def _combined(self, text: str, below: str, call: Call) -> str:
        """The call in terms of what it is `below`."""
        if below not in self._calls:
            self._calls.append(below)
        name = f"__a{self._calls.index(below)}"
        if not self._distinct:
            return name
        combined = f"{COMBINE[call.name.lower()]}({name})"
        if text in self._decimals:
            return f"cast({combined} AS {self._decimals[text]})"
        return f"coalesce({combined}, 0)" if call.name.lower() in ("count", "count_if") else combined

    def _distinct_call(self, call: Call) -> str:
        """Where all calls have one and the same argument, the groups below are distinct in it, and need not be told apart again."""
        lifted = [argument if parsed(argument).is_constant else self._argument(argument) for argument in call.args]
        return f"{call.name}({'' if self._one_argument else 'DISTINCT '}{', '.join(lifted)})"

    def _argument(self, text: str) -> str:
        if text not in self.arguments:
            self.arguments.append(text)
        return f"__d{self.arguments.index(text)}"

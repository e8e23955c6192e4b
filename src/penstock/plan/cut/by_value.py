"""Several DISTINCT aggregates, or such with a FILTER, as counts of the values of each: a row for every (group, value).

SELECT g, count(*) AS n, count(DISTINCT x) FILTER (WHERE c) AS xs, count(DISTINCT y) AS ys FROM s GROUP BY g

    SELECT __g0 AS g, sum(__a0) AS n, count(__v0_0) FILTER (WHERE __n0 > 0) AS xs, count(__v1_0) AS ys
    FROM (SELECT g AS __g0, __t, if(__t = 1, x, NULL) AS __v0_0, if(__t = 2, y, NULL) AS __v1_0,
                 count(*) FILTER (WHERE __t = 0) AS __a0, count_if(__t = 1 AND c) AS __n0
          FROM s LATERAL VIEW explode(array(0, 1, 2)) __of AS __t GROUP BY ...)
    GROUP BY __g0

So Spark keeps the values, and what stands above takes in the ones that are new, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.cut.partials import COMBINE, condition_of
from penstock.plan.cut.split import Split
from penstock.plan.expression.calls import Call
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.nodes import Generate, Item, Node

_NUMBER = "__t"
# What leaves NULL out, so that the values of other aggregates do not count.
_OF_VALUES = ("count", "sum", "avg", "mean", "min", "max")


def can_be_counted(text: str, call: Call) -> bool:
    """Whether the call can be asked of values with their counts: it is of a plain kind, and nothing but FILTER follows its bracket."""
    own = text[call.start : call.end]
    if condition_of(own) is None or "__sub_" in own:
        return False
    if not call.distinct:
        return call.name.lower() in COMBINE
    return call.name.lower() in _OF_VALUES and bool(call.args) and not any(parsed(argument).has_star for argument in call.args)


class ByValue(Split):
    """As `Split`, but rows below are of one group and one value of one DISTINCT argument, or, of number 0, of the group alone."""

    def __init__(self, groups: tuple[str, ...], decimals: Mapping[str, str]) -> None:
        super().__init__(groups, distinct=True, decimals=decimals)
        self._values: list[tuple[str, ...]] = []
        self._filters: list[str] = []

    def groups_below(self) -> tuple[str, ...]:
        return (*self._groups, _NUMBER, *(item.text for item in self._value_items()))

    def input_below(self, node: Node) -> Node:
        """The rows, once for the group and once for every DISTINCT argument."""
        numbers = ", ".join(str(number) for number in range(len(self._values) + 1))
        return Generate(node, f"LATERAL VIEW explode(array({numbers})) __of AS {_NUMBER}")

    def items(self) -> tuple[Item, ...]:
        groups, plain = super().items()[: len(self._groups)], super().items()[len(self._groups) :]
        counts = (Item(f"count_if({condition})", f"__n{at}") for at, condition in enumerate(self._filters))
        return (*groups, Item(_NUMBER, _NUMBER), *self._value_items(), *plain, *counts)

    def _value_items(self) -> tuple[Item, ...]:
        return tuple(
            Item(f"if({_NUMBER} = {number}, {argument}, NULL)", f"__v{number - 1}_{place}")
            for number, arguments in enumerate(self._values, start=1)
            for place, argument in enumerate(arguments)
        )

    def _call(self, text: str, call: Call) -> str:
        condition = condition_of(text) or ""
        if call.distinct:
            return self._of_values(call, condition)
        within = " AND ".join([f"{_NUMBER} = 0", *([condition] if condition else [])])
        return self._combined(text, f"{call.name}({', '.join(call.args)}) FILTER (WHERE {within})", call)

    def _of_values(self, call: Call, condition: str) -> str:
        if call.args not in self._values:
            self._values.append(call.args)
        number = self._values.index(call.args)
        asked = f"{call.name}({', '.join(f'__v{number}_{place}' for place in range(len(call.args)))})"
        if not condition:
            return asked
        counted = f"{_NUMBER} = {number + 1} AND {condition}"
        if counted not in self._filters:
            self._filters.append(counted)
        return f"{asked} FILTER (WHERE __n{self._filters.index(counted)} > 0)"

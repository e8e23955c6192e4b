"""What conditions remember of the rows taken so far: the first and last rows of some variables, and running aggregates of them.

It is kept as plain tuples, so that two ways through the program that remember the same are known to go on alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.plan.expression.condition import Asked
from penstock.plan.expression.navigation import LABEL, ROWS, Aggregation, Navigation
from penstock.plan.model.matching import Matching, leaves

Memory = tuple[tuple[Any, ...], ...]
Columns = Sequence[Sequence[Any]]


@dataclass
class Kept:
    """What is kept of the rows of some variables: so many of the first and of the last ones, and these aggregates (function, column)."""

    variables: frozenset[int]
    firsts: int = 0
    lasts: int = 0
    aggregates: list[tuple[str, int]] = field(default_factory=list)


class History:
    """What all conditions of a pattern together need to know of earlier rows."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self.kept: list[Kept] = []
        self.labels = False
        for variable, entry in enumerate(matching.conditions):
            for leaf in leaves(entry):
                if isinstance(leaf, Asked):
                    self._keep(variable, leaf)
        self.empty: Memory = tuple(((), (), tuple(start(function) for function, _ in kept.aggregates)) for kept in self.kept)

    def _keep(self, variable: int, leaf: Asked) -> None:
        asked = leaf.primitive
        if isinstance(asked, Navigation):
            self.labels = self.labels or asked.value == LABEL
            if not is_here(self._matching, variable, asked):
                kept = self._of(asked.variable)
                kept.firsts = max(kept.firsts, asked.offset + 1) if asked.first else kept.firsts
                kept.lasts = max(kept.lasts, asked.offset + 1) if not asked.first else kept.lasts
        elif isinstance(asked, Aggregation):
            entry = self.entry(asked)
            kept = self._of(asked.variable)
            if entry not in kept.aggregates:
                kept.aggregates.append(entry)

    def _of(self, name: str | None) -> Kept:
        members = self._matching.members(name)
        known = next((kept for kept in self.kept if kept.variables == members), None)
        if known is None:
            known = Kept(members)
            self.kept.append(known)
        return known

    def place(self, name: str | None) -> int:
        """Where the memory of a variable or subset stands."""
        return self.kept.index(self._of(name))

    def entry(self, asked: Aggregation) -> tuple[str, int]:
        """How an aggregate is kept: its function and its column, -1 for the row itself."""
        function = f"distinct {asked.function}" if asked.distinct else asked.function
        return function, -1 if asked.value == ROWS else self._matching.value(asked.value)

    def after(self, memory: Memory, variable: int, row: int, columns: Columns) -> Memory:
        """The memory when `row` is taken as `variable`."""
        if not self.kept:
            return memory
        return tuple(
            entry if variable not in kept.variables else _added(kept, entry, row, columns) for kept, entry in zip(self.kept, memory, strict=True)
        )


def is_here(matching: Matching, variable: int, asked: Navigation) -> bool:
    """Whether a navigation in the condition of a variable starts from the row that is tried."""
    return variable in matching.members(asked.variable) and not asked.first and not asked.offset


def _added(kept: Kept, entry: tuple[Any, ...], row: int, columns: Columns) -> tuple[Any, ...]:
    firsts, lasts, sums = entry
    if len(firsts) < kept.firsts:
        firsts = (*firsts, row)
    if kept.lasts:
        lasts = (*lasts, row)[-kept.lasts :]
    grown = tuple(
        add(function, total, True if column < 0 else columns[column][row]) for (function, column), total in zip(kept.aggregates, sums, strict=True)
    )
    return firsts, lasts, grown


def start(function: str) -> Any:
    """An aggregate of nothing."""
    if function.startswith("distinct") or function == "collect_list":
        return ()
    return 0 if function == "count" else (None, 0)


def add(function: str, total: Any, value: Any) -> Any:
    """An aggregate with one more value; nulls take no part."""
    if value is None:
        return total
    if function == "count":
        return total + 1
    if function == "collect_list":
        return (*total, value)
    if function.startswith("distinct"):
        return total if value in total else (*total, value)
    before, count = total
    if before is None:
        return value, 1
    if function in ("sum", "avg"):
        return before + value, count + 1
    return (min if function == "min" else max)(before, value), count + 1


def result(function: str, total: Any) -> Any:
    """The value of an aggregate."""
    if function.startswith("distinct "):
        inner = function.removeprefix("distinct ")
        plain = start(inner)
        for value in total:
            plain = add(inner, plain, value)
        return result(inner, plain)
    if function == "count":
        return total
    if function == "collect_list":
        return list(total)
    value, count = total
    if function == "avg" and value is not None:
        return value / count
    return value

"""Conditions of DEFINE that need other rows, as Python functions: arithmetic, comparisons and three-valued logic over plain values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from penstock.errors import DataFault
from penstock.plan.expression.condition import Asked, Condition, Operation, Own
from penstock.plan.expression.navigation import LABEL, Aggregation, MatchNumber, Navigation
from penstock.plan.model.matching import Matching
from penstock.spark.keyed.pattern.functions import FUNCTIONS
from penstock.spark.keyed.pattern.history import Columns, History, Memory, is_here, result


class Waiting(Exception):
    """The answer depends on a row that has not come yet."""


@dataclass
class Place:
    """Where a condition is asked: the row, what was taken before (with this row), and the rows of its partition that there are."""

    columns: Columns
    low: int = 0
    high: int = 0
    ended: bool = False
    row: int = 0
    start: int = 0
    memory: Memory = ()
    labels: Sequence[int] = ()
    number: int = 0


Asking: TypeAlias = Callable[[Place], Any]


def conditions(matching: Matching, history: History) -> tuple[Asking | None, ...]:
    """One function for each variable; None where every row may be it."""
    return tuple(None if entry is None else _Compiler(matching, history, variable).of(entry) for variable, entry in enumerate(matching.conditions))


class _Compiler:
    def __init__(self, matching: Matching, history: History, variable: int) -> None:
        self._matching = matching
        self._history = history
        self._variable = variable

    def of(self, entry: Condition) -> Asking:
        match entry:
            case Own():
                column = self._matching.value(entry.text)
                return lambda place: place.columns[column][place.row]
            case Asked():
                return self._asked(entry)
            case Operation():
                return _operation(entry.name, [self.of(part) for part in entry.parts])

    def _asked(self, entry: Asked) -> Asking:
        asked = entry.primitive
        if isinstance(asked, MatchNumber):
            return lambda place: place.number
        if isinstance(asked, Aggregation):
            function, column = self._history.entry(asked)
            at = self._history.place(asked.variable)
            index = self._history.kept[at].aggregates.index((function, column))
            return lambda place: result(function, place.memory[at][2][index])
        row = self._row(asked)
        if asked.value == LABEL:
            return _labelled(row, self._matching.program.variables)
        value = self._matching.value(asked.value)

        def navigated(place: Place) -> Any:
            found = row(place)
            return None if found is None else place.columns[value][found]

        return navigated

    def _row(self, asked: Navigation) -> Callable[[Place], int | None]:
        """The row that a navigation leads to; None where there is none."""
        shift, offset, first = asked.shift, asked.offset, asked.first
        if is_here(self._matching, self._variable, asked):
            return lambda place: _within(place, place.row + shift)
        at = self._history.place(asked.variable)

        def found(place: Place) -> int | None:
            rows = place.memory[at][0 if first else 1]
            if offset >= len(rows):
                return None
            return _within(place, rows[offset] if first else rows[-1 - offset], shift)

        return found


def _within(place: Place, row: int, shift: int = 0) -> int | None:
    row += shift
    if row >= place.high and not place.ended:
        raise Waiting
    return row if place.low <= row < place.high else None


def _labelled(row: Callable[[Place], int | None], names: tuple[str, ...]) -> Asking:
    def label(place: Place) -> Any:
        found = row(place)
        inside = found is not None and 0 <= found - place.start < len(place.labels)
        return names[place.labels[found - place.start]] if inside and found is not None else None

    return label


def _operation(name: str, parts: list[Asking]) -> Asking:
    if name in ("and", "or"):
        return _logic(parts, name == "or")
    if name == "case":
        return _case(parts)
    if name in ("coalesce", "nvl", "ifnull"):
        return lambda place: next((value for part in parts if (value := part(place)) is not None), None)
    if name in ("if", "iff"):
        test, yes, no = parts
        return lambda place: (yes if test(place) is True else no)(place)
    if name.startswith("is "):
        wanted = {"null": None, "true": True, "false": False}[name[3:]]
        return lambda place: parts[0](place) is wanted
    if name == "<=>":
        return lambda place: _same(parts[0](place), parts[1](place))
    if name == "in":
        return _in(parts)
    if name in ("isnull", "isnotnull"):
        return lambda place: (parts[0](place) is None) == (name == "isnull")
    if name in ("greatest", "least"):
        choose = max if name == "greatest" else min
        return lambda place: choose((value for part in parts if (value := part(place)) is not None), default=None)
    strict = FUNCTIONS[name]

    def called(place: Place) -> Any:
        values = [part(place) for part in parts]
        if any(value is None for value in values):
            return None
        try:
            return strict(*_alike(values))
        except ZeroDivisionError:
            return None
        except (TypeError, ValueError, OverflowError) as error:
            raise DataFault(f"`{name}` in DEFINE: {error}", hint="cast the columns below the pattern, in a SELECT") from None

    return called


def _alike(values: list[Any]) -> list[Any]:
    """Decimals beside floats are floats, times with a zone are compared as instants."""
    kinds = {type(value) for value in values}
    if Decimal in kinds and float in kinds:
        return [float(value) if isinstance(value, Decimal) else value for value in values]
    if datetime in kinds and len(kinds) > 1:
        return [
            datetime.combine(value, datetime.min.time()) if hasattr(value, "year") and not isinstance(value, datetime) else value for value in values
        ]
    return values


def _same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    one, other = _alike([left, right])
    return bool(one == other) or (isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other))


def _logic(parts: list[Asking], decisive: bool) -> Asking:
    """AND (false decides) or OR (true decides); null where neither side decides and one is null."""

    def joined(place: Place) -> bool | None:
        unknown = False
        for part in parts:
            value: bool | None = part(place)
            if value is decisive:
                return decisive
            unknown = unknown or value is None
        return None if unknown else not decisive

    return joined


def _case(parts: list[Asking]) -> Asking:
    pairs = list(zip(parts[0::2], parts[1::2], strict=False))
    otherwise = parts[-1] if len(parts) % 2 else None

    def chosen(place: Place) -> Any:
        for test, value in pairs:
            if test(place) is True:
                return value(place)
        return None if otherwise is None else otherwise(place)

    return chosen


def _in(parts: list[Asking]) -> Asking:
    def contained(place: Place) -> bool | None:
        value = parts[0](place)
        others = [part(place) for part in parts[1:]]
        if value is None:
            return None
        if any(other is not None and _same(value, other) for other in others):
            return True
        return None if None in others else False

    return contained

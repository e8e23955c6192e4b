"""Partial results of aggregates: what is kept of them, how two of them are merged, and what the aggregate is in the end, as Spark SQL.

Rows come with a weight: 1 for one that is there now, -1 for one that no longer is. A partial result with an inverse is a sum over weighted
rows, so that rows can be taken away again. Sums of DOUBLE have none: what was added to them cannot be taken away exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.plan.expression.calls import Call
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import matching, tokens

WEIGHT = "__w"
# How results over finer groups are combined, by one function; what is not here has no exact combination for every type.
COMBINE = {
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
TypeOf = Callable[[str], str]
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_FILTER = ("filter", "(", "where")


@dataclass(frozen=True)
class Partial:
    """`made` over weighted rows; partial results are merged column by column by `merge`. `final` says the aggregate in terms of `{0}`, `{1}`."""

    made: tuple[str, ...]
    final: str
    merge: str = "sum"

    def result(self, names: tuple[str, ...]) -> str:
        """The aggregate, its partial columns being called `names`."""
        return re.sub(r"\{(\d)\}", lambda found: names[int(found[1])], self.final)


@dataclass(frozen=True)
class Moves:
    """What is known of how the rows that are aggregated change: only added, or by columns whose values only grow to the `max` or the `min`."""

    adds_only: bool = False
    grows: Mapping[str, str] = field(default_factory=dict)


ANY_WAY = Moves()
"""Of rows that may change in every way."""


def partial_of(text: str, call: Call, type_of: TypeOf, moves: Moves = ANY_WAY) -> Partial | None:
    """The partial result of an aggregate from which rows can be taken away exactly; None where it has none.

    Where rows are only ever added it need not have an inverse; nor where no value that goes is followed by one that would change the result.
    `type_of` gives the type of an aggregate over the same rows, as Spark prints types.
    """
    condition = condition_of(text[call.start : call.end])
    if condition is None or call.distinct or call.over:
        return None
    arguments = tuple(argument if condition == "" else f"if({condition}, {argument}, NULL)" for argument in call.args)
    name = call.name.lower()
    if not condition and len(call.args) == 1 and moves.grows.get(parsed(call.args[0]).unwrapped.text.strip("`").lower()) == name:
        return Partial((f"{name}({call.args[0]})",), "{0}", name)
    return _with_inverse(call, condition, arguments, type_of) or (_merged(call, arguments, type_of) if moves.adds_only else None)


def _merged(call: Call, arguments: tuple[str, ...], type_of: TypeOf) -> Partial | None:
    """What has no inverse, of rows that are only added: as exact as one pass over them."""
    name = call.name.lower()
    match (name, arguments):
        case ("min" | "max", (argument,)):
            return Partial((f"{name}({argument})",), "{0}", name)
        case ("sum", (argument,)) if type_of(f"sum({argument})") == "double":
            return Partial((f"sum({argument})",), "{0}")
        case ("avg" | "mean", (argument,)) if type_of(f"sum({argument})") == "double":
            return Partial((f"sum({argument})", f"count({argument})"), "if({1} = 0, NULL, {0} / {1})")
        case _:
            return None


def _with_inverse(call: Call, condition: str, arguments: tuple[str, ...], type_of: TypeOf) -> Partial | None:
    kept = _weighed(condition or "true")
    present = _weighed(" AND ".join([f"({argument}) IS NOT NULL" for argument in arguments] or ["true"]))
    match call.name.lower():
        case "count":
            return Partial((kept if call.args in ((), ("*",)) else present,), "{0}")
        case "count_if" if len(arguments) == 1:
            return Partial((_weighed(arguments[0]),), "{0}")
        case "sum" | "avg" | "mean" if len(arguments) == 1:
            return _sum(call, arguments[0], present, type_of)
        case "bool_and" | "every" if len(arguments) == 1:
            return Partial((_weighed(f"NOT ({arguments[0]})"), present), "if({1} = 0, NULL, {0} = 0)")
        case "bool_or" | "any" | "some" if len(arguments) == 1:
            return Partial((_weighed(arguments[0]), present), "if({1} = 0, NULL, {0} > 0)")
        case _:
            return None


def _sum(call: Call, argument: str, present: str, type_of: TypeOf) -> Partial | None:
    """Sums are kept as wide as a DECIMAL is, so that only the result of all rows can be too large for its type, as in one pass over them."""
    total, kind = type_of(f"sum({argument})"), type_of(f"{call.name}({argument})")
    decimal = _DECIMAL.fullmatch(total)
    if total != "bigint" and decimal is None:
        return None
    wide = f"decimal(38,{decimal[2] if decimal else 0})"
    signed = f"coalesce(sum(if({WEIGHT} > 0, cast({argument} AS {wide}), -cast({argument} AS {wide}))), 0)"
    if call.name.lower() == "sum":
        return Partial((signed, present), f"cast(if({{1}} = 0, NULL, {{0}}) AS {kind})")
    if decimal is None:
        return Partial((signed, present), "if({1} = 0, NULL, cast({0} AS double) / {1})")
    return Partial((signed, present), f"cast(if({{1}} = 0, NULL, cast({{0}} AS {total}) / cast({{1}} AS decimal(20,0))) AS {kind})")


def _weighed(condition: str) -> str:
    """How many rows meet the condition, each counted by its weight."""
    return f"coalesce(sum(if({condition}, {WEIGHT}, 0)), 0)"


def condition_of(call: str) -> str | None:
    """What stands in the FILTER of a call; empty where it has none, None where another clause follows it."""
    found = tokens(call)
    opening = next(index for index, token in enumerate(found) if token.text == "(")
    rest = found[matching(found, opening) + 1 :]
    if not rest:
        return ""
    if tuple(token.text.lower() for token in rest[:3]) != _FILTER or rest[-1].text != ")" or matching(rest, 1) != len(rest) - 1:
        return None
    return f"coalesce({call[rest[2].end : rest[-1].start].strip()}, false)"

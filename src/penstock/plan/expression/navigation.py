"""What an expression of MEASURES or DEFINE asks of the rows of a match: FIRST, LAST, PREV, NEXT, aggregates, CLASSIFIER, MATCH_NUMBER.

Each is found with its place in the user's text. What it asks of one row (its `value`) is an expression over that row's columns, which
Spark computes before the rows are matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import PlanFault, UserError
from penstock.plan.expression.columns import is_call
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.tokens import Token, matching, tokens
from penstock.plan.expression.words import AGGREGATES

LABEL = "CLASSIFIER()"
ROWS = "*"
_ENDS = ("first", "last")
_STEPS = ("prev", "next")
AGGREGATIONS = ("count", "sum", "avg", "mean", "min", "max", "collect_list", "array_agg")


@dataclass(frozen=True)
class Navigation:
    """The `value` of one row: the first or last row of `variable` (None: any), `offset` rows further in, then `shift` rows on in the partition."""

    value: str
    variable: str | None = None
    first: bool = False
    offset: int = 0
    shift: int = 0
    final: bool = False


@dataclass(frozen=True)
class Aggregation:
    """An aggregate of the `value` of the rows of `variable`; the value `*` counts rows."""

    function: str
    value: str
    variable: str | None = None
    distinct: bool = False
    final: bool = False


@dataclass(frozen=True)
class MatchNumber:
    """The number of the match in its partition, from 1."""


Primitive: TypeAlias = Navigation | Aggregation | MatchNumber


@dataclass(frozen=True)
class Found:
    """A primitive at text[start:end]."""

    start: int
    end: int
    primitive: Primitive


def primitives(text: str, variables: Mapping[str, str]) -> tuple[Found, ...]:
    """Every primitive of an expression, from the left; `variables` are the names of variables and subsets by their lower case."""
    return tuple(_Reader(text, variables).read())


class _Reader:
    """One expression; `variables` decide whether `a.x` is a column of a row of `a` or a field of the column `a`."""

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self._text = text
        self._variables = variables
        self._tokens = tokens(text)
        self._columns = {ref.start: ref for ref in parsed(text).columns}

    def read(self) -> list[Found]:
        found: list[Found] = []
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            begin, final = index, False
            if token.is_word("running", "final") and index + 1 < len(self._tokens) and is_call(self._tokens, index + 1):
                index, final = index + 1, token.is_word("final")
            end = self._call_end(index)
            if end is not None:
                primitive = self._called(index, end, final)
                if primitive is not None:
                    self._check_after(end + 1)
                    found.append(Found(self._tokens[begin].start, self._tokens[end].end, primitive))
                    index = end + 1
                    continue
            following = self._tokens[index + 1 : index + 3]
            if (
                token.is_word("running", "final")
                and following
                and following[0].start in self._columns
                and (len(following) == 1 or following[1].kind == "op")
            ):
                raise _fault(f"{token.text.upper()} stands before FIRST, LAST, CLASSIFIER or an aggregate", f"{token.text.upper()} LAST(a.amount)")
            ref = self._columns.get(self._tokens[index].start)
            if ref is not None:
                variable = self._variables.get(ref.parts[0].lower()) if len(ref.parts) > 1 else None
                value = self._text[ref.start : ref.end] if variable is None else _unqualified(self._text[ref.start : ref.end])
                found.append(Found(ref.start, ref.end, Navigation(value, variable)))
                while index < len(self._tokens) and self._tokens[index].start < ref.end:
                    index += 1
                continue
            index += 1
        return found

    def _check_after(self, index: int) -> None:
        """PlanFault for what may follow a call elsewhere in SQL."""
        word = self._tokens[index].text.upper() if index < len(self._tokens) and self._tokens[index].kind == "word" else ""
        if word == "FILTER" and self._tokens[index + 1 : index + 2] and self._tokens[index + 1].text == "(":
            raise _fault("an aggregate of a pattern takes no FILTER", "sum(CASE WHEN a.amount > 1 THEN a.amount END)")
        if word in ("IGNORE", "RESPECT"):
            raise _fault(
                f"rows of a pattern are counted with their nulls: {word} NULLS is not known", "leave it out, or define a variable of the rows"
            )

    def _call_end(self, index: int) -> int | None:
        """The index of the bracket that ends a call at `index`."""
        if index + 1 >= len(self._tokens) or not is_call(self._tokens, index):
            return None
        close = matching(self._tokens, index + 1)
        return close if close >= 0 else None

    def _called(self, index: int, close: int, final: bool) -> Primitive | None:
        name = self._tokens[index].value.lower()
        inner = self._text[self._tokens[index + 1].end : self._tokens[close].start].strip()
        if name == "match_number":
            return MatchNumber()
        if name == "classifier":
            return Navigation(LABEL, self._named(inner), final=final)
        if name in (*_ENDS, *_STEPS):
            return self._navigation(name, inner, final)
        if name in AGGREGATES:
            return self._aggregation(name, inner, final)
        return None

    def _navigation(self, name: str, inner: str, final: bool) -> Navigation:
        args = parsed(inner).parts if inner else ()
        if not 1 <= len(args) <= 2:
            raise _fault(f"{name.upper()} wants a value, and perhaps a number of rows", f"{name.upper()}(a.amount, 1)")
        if len(args) == 2 and not args[1].strip().isdigit():
            raise _fault(f"the number of rows of {name.upper()} is not a whole number: `{args[1]}`", f"{name.upper()}(a.amount, 1)")
        if name in _ENDS:
            value, variable = self._value(args[0])
            return Navigation(value, variable, name == "first", int(args[1]) if len(args) == 2 else 0, final=final)
        shift = (int(args[1]) if len(args) == 2 else 1) * (1 if name == "next" else -1)
        inside = tokens(args[0])
        nested = next((token for token in inside if not token.is_word("running", "final")), None)
        if nested is not None and nested.is_word(*_ENDS) and is_call(inside, inside.index(nested)):
            whole = primitives(args[0], self._variables)
            if len(whole) != 1 or whole[0].end != len(args[0].rstrip()) or not isinstance(whole[0].primitive, Navigation):
                raise _fault(f"{name.upper()} takes one FIRST or LAST", f"{name.upper()}(FIRST(a.amount), 1)")
            below = whole[0].primitive
            return Navigation(below.value, below.variable, below.first, below.offset, shift, final or below.final)
        value, variable = self._value(args[0])
        return Navigation(value, variable, shift=shift, final=final)

    def _aggregation(self, name: str, inner: str, final: bool) -> Aggregation:
        if name not in AGGREGATIONS:
            hint = f"{', '.join(AGGREGATIONS)} may be used; collect the values with collect_list, and compute what you need of them"
            raise _fault(f"the aggregate `{name}` is not known in a pattern", hint)
        found = tokens(inner)
        distinct = bool(found) and found[0].is_word("distinct")
        value = inner[found[0].end :].strip() if distinct else inner
        starred = tokens(value)
        if starred and starred[-1].text == "*" and len(starred) in (1, 3):
            return Aggregation("count", ROWS, self._named(starred[0].value) if len(starred) == 3 else None, final=final)
        if len(parsed(value).parts) != 1 or not value:
            raise _fault(f"{name} wants one argument in a pattern", f"{name}(a.amount)")
        own, variable = self._value(value)
        kind = {"mean": "avg", "array_agg": "collect_list"}.get(name, name)
        return Aggregation(kind, own, variable, distinct, final)

    def _named(self, name: str) -> str | None:
        """A variable by its name; None for no name."""
        if not name:
            return None
        known = self._variables.get(name.strip("`").lower())
        if known is None:
            raise _fault(f"the pattern has no variable `{name}`", f"its variables are {', '.join(self._variables.values())}")
        return known

    def _value(self, text: str) -> tuple[str, str | None]:
        """An argument as an expression over one row, and the variable whose rows it means."""
        inside = primitives(text, self._variables)
        alone = len(inside) == 1 and (inside[0].start, inside[0].end) == (0, len(text))
        if alone and isinstance(inside[0].primitive, Navigation) and inside[0].primitive.value == LABEL:
            return LABEL, inside[0].primitive.variable
        meant: dict[str | None, None] = {}
        changes: list[tuple[int, int, str]] = []
        for entry in inside:
            primitive = entry.primitive
            plain = isinstance(primitive, Navigation) and not primitive.first and not primitive.offset and not primitive.shift
            if not isinstance(primitive, Navigation) or not plain or primitive.value == LABEL or _is_called(text, entry):
                raise _fault(f"`{text}` asks for other rows inside of what is asked of one row", "only PREV and NEXT take a FIRST or LAST")
            meant[primitive.variable] = None
            changes.append((entry.start, entry.end, primitive.value))
        if len(meant) > 1:
            raise _fault(f"`{text}` means rows of several variables", "qualify all its columns with one variable, or with none")
        return substitute(text, changes), next(iter(meant), None)


def _is_called(text: str, entry: Found) -> bool:
    return text[entry.start : entry.end].endswith(")")


def _unqualified(text: str) -> str:
    """`a.x.y` as `x.y`."""
    found: tuple[Token, ...] = tokens(text)
    return text[found[2].start :]


def _fault(message: str, hint: str) -> UserError:
    return PlanFault(message, hint=hint)

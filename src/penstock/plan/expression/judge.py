"""A condition judged in Python, row by row, where it means exactly what Spark means by it; everything else is left to Spark.

Understood: the columns of a view and fields of its structs, literals, comparisons of like with like, AND, OR, NOT, IN, BETWEEN, LIKE without
escapes, IS NULL, TRUE and FALSE, and the remainder of whole numbers. Logic has three values, as in SQL.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from penstock.schema import Schema, Type, parse_type

Judge = Callable[[Mapping[str, Any]], bool]
_COMPARE: dict[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_KINDS = {
    **dict.fromkeys(_WHOLE, "whole"),
    "decimal": "decimal",
    "double": "double",
    "string": "text",
    "boolean": "boolean",
    "timestamp": "time",
    "date": "day",
}
_PARTS = ("this", "expression", "expressions", "low", "high", "to", "is_string", "table", "db", "catalog", "negate")
_NUMBERS = ("whole", "decimal", "double")


class Opaque(Exception):
    """Only Spark can say what this means."""


class _Term(NamedTuple):
    kind: str
    value: Callable[[Mapping[str, Any]], Any]


@lru_cache(maxsize=1000)
def judge(condition: str, schema: Schema) -> Judge | None:
    """Whether the condition holds for a row of Python values; None: ask Spark."""
    if "\\" in condition:  # what an escape stands for depends on where it is
        return None
    try:
        term = _term(parse_one(condition, read="spark"), schema)
    except (SqlglotError, Opaque, RecursionError):
        return None
    if term.kind not in ("boolean", "null"):
        return None
    value = term.value
    return lambda row: value(row) is True


def _term(node: exp.Expr, schema: Schema) -> _Term:
    if any(value and name not in _PARTS for name, value in node.args.items()) or (node.args.get("negate") and not isinstance(node, exp.Like)):
        raise Opaque  # the parser says more of it than is understood here
    match node:
        case exp.Paren():
            return _term(node.this, schema)
        case exp.Column() | exp.Dot():
            return _column(node, schema)
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.Neg() | exp.Cast():
            return _literal(node)
        case exp.And() | exp.Or():
            return _both(_truth(node.left, schema), _truth(node.right, schema), isinstance(node, exp.And))
        case exp.Not():
            inner = _truth(node.this, schema)
            return _Term("boolean", lambda row: None if (found := inner(row)) is None else not found)
        case exp.Is():
            return _is(node, schema)
        case exp.In():
            return _in(node, schema)
        case exp.Between():
            low = _compared(node.this, node.args["low"], operator.ge, schema)
            high = _compared(node.this, node.args["high"], operator.le, schema)
            if node.args.get("symmetric"):
                raise Opaque
            return _both(low.value, high.value, True)
        case exp.Like():
            return _like(node, schema)
        case exp.Mod():
            return _remainder(node, schema)
        case exp.Binary() if type(node) in _COMPARE:
            return _compared(node.left, node.right, _COMPARE[type(node)], schema)
        case _:
            raise Opaque


def _column(node: exp.Expr, schema: Schema) -> _Term:
    names = [part.name for part in node.parts] if isinstance(node, exp.Column | exp.Dot) else []
    found = schema.find(names[0]) if names else None
    if found is None or not all(names):
        raise Opaque
    kind, path = parse_type(found.type), [found.name]
    for name in names[1:]:
        field = next(((label, inner) for label, inner in kind.fields if label.lower() == name.lower()), None) if kind.name == "struct" else None
        if field is None:
            raise Opaque
        path.append(field[0])
        kind = field[1]
    return _Term(_kind(kind), _reader(path))


def _kind(kind: Type) -> str:
    if kind.name not in _KINDS:
        raise Opaque
    return _KINDS[kind.name]


def _reader(path: list[str]) -> Callable[[Mapping[str, Any]], Any]:
    if len(path) == 1:
        return operator.itemgetter(path[0])

    def read(row: Mapping[str, Any]) -> Any:
        found: Any = row
        for name in path:
            found = None if found is None else found[name]
        return found

    return read


def _literal(node: exp.Expr) -> _Term:
    match node:
        case exp.Null():
            return _Term("null", lambda row: None)
        case exp.Boolean():
            truth = bool(node.this)
            return _Term("boolean", lambda row: truth)
        case exp.Neg() if isinstance(node.this, exp.Literal) and not node.this.is_string:
            kind, positive = _number(node.this.name)
            return _Term(kind, lambda row: -positive)
        case exp.Literal() if node.is_string:
            text = node.name
            return _Term("text literal", lambda row: text)
        case exp.Literal():
            kind, number = _number(node.name)
            return _Term(kind, lambda row: number)
        case exp.Cast() if (
            isinstance(node.this, exp.Literal)
            and node.this.is_string
            and node.to.this in (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ)
        ):
            time = _time(node.this.name)
            return _Term("time", lambda row: time)
        case exp.Cast() if isinstance(node.this, exp.Literal) and node.this.is_string and node.to.this == exp.DataType.Type.DATE:
            day = _day(node.this.name)
            return _Term("day", lambda row: day)
        case _:
            raise Opaque


def _number(text: str) -> tuple[str, Any]:
    if text.isdigit() and int(text) < 2**63:
        return "whole", int(text)
    if re.fullmatch(r"\d*\.\d*", text) and text != ".":
        return "decimal", Decimal(text)
    raise Opaque


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Opaque from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise Opaque from None


def _truth(node: exp.Expr, schema: Schema) -> Callable[[Mapping[str, Any]], Any]:
    found = _term(node, schema)
    if found.kind not in ("boolean", "null"):
        raise Opaque
    return found.value


def _both(left: Callable[[Any], Any], right: Callable[[Any], Any], conjunction: bool) -> _Term:
    decides = not conjunction

    def value(row: Mapping[str, Any]) -> Any:
        first = left(row)
        if first is decides:
            return decides
        second = right(row)
        if second is decides:
            return decides
        return None if first is None or second is None else conjunction

    return _Term("boolean", value)


def _compared(left: exp.Expr, right: exp.Expr, compare: Callable[[Any, Any], bool], schema: Schema) -> _Term:
    one, other = _alike(_term(left, schema), _term(right, schema))
    read, read_other = one.value, other.value

    def value(row: Mapping[str, Any]) -> bool | None:
        first, second = read(row), read_other(row)
        return None if first is None or second is None else compare(first, second)

    return _Term("boolean", value)


def _alike(one: _Term, other: _Term) -> tuple[_Term, _Term]:
    """Both as what Spark compares them as; Opaque where that takes a cast which can fail or round."""
    if one.kind == "text literal" and other.kind != "text literal":
        second, first = _alike(other, one)
        return first, second
    if other.kind == "text literal":
        other = _of_kind(one.kind, other)
        one = _Term("text", one.value) if one.kind == "text literal" else one
    if "null" in (one.kind, other.kind):
        return one, other
    if one.kind in _NUMBERS and other.kind in _NUMBERS:
        return (_as_double(one), _as_double(other)) if "double" in (one.kind, other.kind) else (one, other)
    if one.kind != other.kind:
        raise Opaque
    return _in_time(one), _in_time(other)


def _of_kind(kind: str, literal: _Term) -> _Term:
    text = literal.value({})
    if kind in ("text", "text literal"):
        return _Term("text", literal.value)
    if kind == "time":
        time = _time(text)
        return _Term("time", lambda row: time)
    if kind == "day":
        day = _day(text)
        return _Term("day", lambda row: day)
    raise Opaque


def _as_double(term: _Term) -> _Term:
    """NaN is equal to itself and larger than everything, as in Spark."""
    read = term.value

    def value(row: Mapping[str, Any]) -> tuple[bool, float] | None:
        found = read(row)
        if found is None:
            return None
        number = float(found)
        return (True, 0.0) if math.isnan(number) else (False, number)

    return _Term("double", value)


def _in_time(term: _Term) -> _Term:
    """A time that Python cannot hold stayed text: no row with one can be judged here."""
    if term.kind not in ("time", "day"):
        return term
    read = term.value

    def value(row: Mapping[str, Any]) -> Any:
        found = read(row)
        if isinstance(found, str):
            raise Opaque
        return found

    return _Term(term.kind, value)


def _is(node: exp.Is, schema: Schema) -> _Term:
    wanted = node.expression
    if isinstance(wanted, exp.Null):
        read = _column(node.this, schema).value if isinstance(node.this, exp.Column | exp.Dot) else _truth(node.this, schema)
        return _Term("boolean", lambda row: read(row) is None)
    if isinstance(wanted, exp.Boolean):
        truth, inner = bool(wanted.this), _truth(node.this, schema)
        return _Term("boolean", lambda row: inner(row) is truth)
    raise Opaque


def _in(node: exp.In, schema: Schema) -> _Term:
    options = node.expressions
    if not options or node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        raise Opaque
    found = _compared(node.this, options[0], operator.eq, schema)
    for option in options[1:]:
        found = _both(found.value, _compared(node.this, option, operator.eq, schema).value, False)
    return found


def _like(node: exp.Like, schema: Schema) -> _Term:
    one, pattern = _term(node.this, schema), node.expression
    if one.kind != "text" or not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise Opaque
    form = _form(pattern.name)
    read, wanted = one.value, not node.args.get("negate")
    return _Term("boolean", lambda row: None if (found := read(row)) is None else (form.fullmatch(found) is not None) is wanted)


def _form(pattern: str) -> re.Pattern[str]:
    """Each part between two `%` is taken where it is first found, for good: a row costs no more than its length times the pattern's."""
    first, *rest = ("".join("." if mark == "_" else re.escape(mark) for mark in part) for part in pattern.split("%"))
    between = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.compile(first + between + (f".*{rest[-1]}" if rest else ""), re.DOTALL)


def _remainder(node: exp.Mod, schema: Schema) -> _Term:
    one, other = _term(node.left, schema), _term(node.right, schema)
    if (one.kind, other.kind) != ("whole", "whole") or not isinstance(node.right, exp.Literal) or other.value({}) == 0:
        raise Opaque
    read, divisor = one.value, other.value({})

    def value(row: Mapping[str, Any]) -> int | None:
        found = read(row)
        return None if found is None else (abs(found) % divisor) * (1 if found >= 0 else -1)

    return _Term("whole", value)

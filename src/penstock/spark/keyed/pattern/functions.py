"""The operators and functions that may join a row with other rows in DEFINE; none is called with a null."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)


def _divided(left: Any, right: Any) -> Any:
    """As Spark divides: whole numbers give a fraction, intervals an interval."""
    if isinstance(left, timedelta) and not isinstance(right, timedelta):
        return left / float(right)
    return left / right


def _whole(left: Any, right: Any) -> int:
    """Towards zero, and exactly for whole numbers of any size."""
    whole = int(abs(left) // abs(right))
    return whole if (left == abs(left)) == (right == abs(right)) else -whole


def _remainder(left: Any, right: Any) -> Any:
    """With the sign of the left side, as in Spark."""
    return math.fmod(left, right) if isinstance(left, float) or isinstance(right, float) else left - right * _whole(left, right)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rounded(value: Any, digits: int = 0) -> Any:
    if isinstance(value, int):
        return value if digits >= 0 else round(value, digits)
    exact = Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return exact if isinstance(value, Decimal) else float(exact)


def _multiplied(left: Any, right: Any) -> Any:
    if isinstance(right, timedelta):
        left, right = right, left
    return left * float(right) if isinstance(left, timedelta) and not isinstance(right, int) else left * right


def _like(value: str, form: str) -> bool:
    signs = {"%": ".*", "_": "."}
    return re.fullmatch("".join(signs.get(mark) or re.escape(mark) for mark in form), value, re.DOTALL) is not None


def _micros(value: date | datetime) -> int:
    at = value if isinstance(value, datetime) else datetime.combine(value, datetime.min.time())
    return ((at if at.tzinfo is not None else at.replace(tzinfo=UTC)) - _EPOCH) // _MICRO


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "not": lambda value: not value,
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
    "between": lambda value, low, high: low <= value <= high,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": _multiplied,
    "/": _divided,
    "%": _remainder,
    "mod": _remainder,
    "div": _whole,
    "negative": lambda value: -value,
    "||": lambda left, right: _text(left) + _text(right),
    "concat": lambda *values: "".join(map(_text, values)),
    "like": _like,
    "abs": abs,
    "nullif": lambda left, right: None if left == right else left,
    "sqrt": lambda value: math.sqrt(value) if value >= 0 else math.nan,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": lambda value: math.asin(value) if -1 <= value <= 1 else math.nan,
    "acos": lambda value: math.acos(value) if -1 <= value <= 1 else math.nan,
    "atan": math.atan,
    "atan2": math.atan2,
    "radians": math.radians,
    "degrees": math.degrees,
    "power": lambda base, exponent: float(base) ** float(exponent),
    "pow": lambda base, exponent: float(base) ** float(exponent),
    "exp": math.exp,
    "ln": lambda value: math.log(value) if value > 0 else None,
    "log": lambda first, *second: math.log(second[0], first) if second else (math.log(first) if first > 0 else None),
    "floor": math.floor,
    "ceil": math.ceil,
    "ceiling": math.ceil,
    "round": _rounded,
    "sign": lambda value: float((value > 0) - (value < 0)),
    "signum": lambda value: float((value > 0) - (value < 0)),
    "pi": lambda: math.pi,
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "unix_timestamp": lambda value: _micros(value) // 1_000_000,
    "unix_seconds": lambda value: _micros(value) // 1_000_000,
    "unix_millis": lambda value: _micros(value) // 1_000,
    "unix_micros": _micros,
}

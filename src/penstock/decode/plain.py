"""Lines of JSON that are good beyond doubt, seen without Spark: each value is of its column's type in the plainest form.

Whatever is not plain here may still be good: Spark has the last word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.schema import Schema, Type, parse_type

_RANGES = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}
_TIME = re.compile(r"[12]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?")
_DAY = re.compile(r"[12]\d{3}-\d\d-\d\d")
_Fits = Callable[[Any], bool]


def plainly_good(schema: Schema, event_time: str | None) -> Callable[[bytes], bool]:
    """Whether a line is beyond doubt a row of these columns, dated no later than now."""
    fits = {column.name: _fits(parse_type(column.type)) for column in schema.given}
    dated = event_time if event_time in fits else None
    unsure = event_time is not None and dated is None

    def good(line: bytes) -> bool:
        try:
            found = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return False
        if unsure or not isinstance(found, dict):
            return False
        given = {name: value for name, value in found.items() if name in fits and value is not None}
        if not given or not all(fits[name](value) for name, value in given.items()):
            return False
        return dated is None or dated not in given or _moment(given[dated]) <= datetime.now(UTC) + timedelta(seconds=1)

    return good


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _fits(kind: Type) -> _Fits:
    match kind.name:
        case "string":
            return lambda value: isinstance(value, str)
        case "boolean":
            return lambda value: isinstance(value, bool)
        case name if name in _RANGES:
            bound = _RANGES[name]
            return lambda value: isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
        case "double":
            return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
        case "decimal":
            whole, after = kind.arguments[0] - kind.arguments[1], kind.arguments[1]
            return lambda value: _is_decimal(value, whole, after)
        case "timestamp":
            return _is_time
        case "date":
            return lambda value: isinstance(value, str) and _DAY.fullmatch(value) is not None and _is_time(f"{value}T00:00:00")
        case _:
            return lambda value: False


def _is_decimal(value: Any, whole: int, after: int) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return False
    exponent = number.as_tuple().exponent
    return number.is_finite() and abs(number) < Decimal(10) ** whole and isinstance(exponent, int) and -exponent <= after and "_" not in str(value)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str) or _TIME.fullmatch(value) is None:
        return False
    try:
        _moment(value)
    except ValueError:
        return False
    return True


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)

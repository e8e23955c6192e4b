"""What type all the values of a column have, as it is declared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.source.infer.times import ISO, written_times

NULL_MARKS = ("NA", "N/A", "NULL", "null", "None", "none", "\\N", "#N/A", "nan", "NaN", "n/a", "-", "?", "--")
_INT = re.compile(r"[+-]?\d{1,18}")
_LEADING_ZERO = re.compile(r"[+-]?0\d+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_FIXED = re.compile(r"[+-]?\d*\.(\d+)")
_THOUSANDS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d+))?")
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_TIMELY = re.compile(r"(?i)time|date|epoch|created|updated|modified|when|(?:^|_)(?:at|ts|t)$|[a-z]At$")
_EPOCHS = (("epoch_seconds", 10**9, 4 * 10**9), ("epoch_millis", 10**12, 4 * 10**12), ("epoch_micros", 10**15, 4 * 10**15))


@dataclass(frozen=True)
class Kind:
    """A column's type, and what has to be declared about how it is written: a pattern of times or dates, a comma before decimals."""

    type: str
    pattern: str = ISO
    comma: bool = False
    assumed: str = ""
    otherwise: str = "STRING"
    """Its type where the stream reads times by another pattern."""


def kind_of_texts(name: str, values: Sequence[str], *, comma: bool = False) -> Kind:
    """Of values of csv, none of them empty. `comma`: numbers of other columns have a comma before their decimals."""
    if not values:
        return Kind("STRING")
    if all(_BOOLEAN.fullmatch(value) for value in values):
        return Kind("BOOLEAN")
    if all(_INT.fullmatch(value) for value in values):
        if any(_LEADING_ZERO.fullmatch(value) for value in values):
            return Kind("STRING")
        return epoch_kind(name, [int(value) for value in values]) or times_kind(name, values, whole_numbers=True) or Kind("BIGINT")
    found = times_kind(name, values)
    return found or _number_kind(values, comma=comma) or Kind("STRING")


def times_kind(name: str, values: Sequence[str], *, whole_numbers: bool = False) -> Kind | None:
    """A date or a time; a whole number is a date such as 20240131 only where the name says so."""
    if whole_numbers and not is_timely(name):
        return None
    found = written_times(values)
    if found is None:
        return None
    return Kind("DATE" if found.is_date else "TIMESTAMP", found.pattern, assumed=found.assumed, otherwise="BIGINT" if whole_numbers else "STRING")


def epoch_kind(name: str, values: Sequence[int | float]) -> Kind | None:
    """A time since 1970: by the column's name, and by numbers that are of our days."""
    if not values or not is_timely(name):
        return None
    known = [pattern for pattern, low, high in _EPOCHS if all(low <= value < high for value in values)]
    return Kind("TIMESTAMP", known[0], otherwise="BIGINT" if all(isinstance(value, int) for value in values) else "DOUBLE") if known else None


def is_timely(name: str) -> bool:
    return _TIMELY.search(name) is not None


def null_mark(columns: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """The text that stands for NULL: without it most columns have a type other than text."""
    gained = {}
    for mark in NULL_MARKS:
        touched = [(name, values) for name, values in columns if mark in values]
        typed = [name for name, values in touched if kind_of_texts(name, [value for value in values if value != mark]).type != "STRING"]
        gained[mark] = len(typed)
    best = max(NULL_MARKS, key=lambda mark: gained[mark])
    return best if gained[best] else None


def _number_kind(values: Sequence[str], *, comma: bool) -> Kind | None:
    if all(_NUMBER.fullmatch(value) for value in values):
        scales = {len(match[1]) for match in map(_FIXED.fullmatch, values) if match}
        if len(scales) == 1 and 2 <= min(scales) <= 4 and not any("e" in value.lower() for value in values):
            return _decimal(values, max(scales), ".")
        return Kind("DOUBLE")
    for pattern, point in ((_THOUSANDS, "."), (_COMMA, ",")):
        found = [pattern.fullmatch(value) for value in values]
        if all(found) and (point == "." or comma or any("," in value for value in values)):
            return replace(_decimal(values, max(len(match[1] or "") for match in found if match), point), comma=point == ",")
    return None


def _decimal(values: Sequence[str], scale: int, point: str) -> Kind:
    whole = max(len(re.sub(r"\D", "", value.split(point)[0])) for value in values)
    return Kind(f"DECIMAL({min(38, max(18, whole + scale))},{scale})")

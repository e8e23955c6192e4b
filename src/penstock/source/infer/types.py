"""What type all the values of a column have, as it is declared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.formats import NANOS
from penstock.source.infer.times import ISO, written_times

NULL_MARKS = ("NA", "N/A", "NULL", "null", "None", "none", "\\N", "#N/A", "nan", "NaN", "n/a", "-", "?", "--")
_INT = re.compile(r"[+-]?\d{1,18}")
_LARGE_INT = re.compile(r"[+-]?\d{1,38}")
# A text of digits that is no number: a postcode, a telephone's.
_NO_NUMBER = re.compile(r"[+-]?0\d+|\+\d{7,}")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PLAIN_NUMBER = re.compile(r"\d{10,19}(?:\.\d+)?")
_FIXED = re.compile(r"[+-]?\d*\.(\d+)")
_THOUSANDS = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,(\d+))?")
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_TIMELY = re.compile(r"(?i)time|date|epoch|created|updated|modified|when|(?:^|_)(?:at|ts|t|day)$|[a-z]At$")
_EPOCHS = tuple(
    (name, 10**digits, 4 * 10**digits) for name, digits in (("epoch_seconds", 9), ("epoch_millis", 12), ("epoch_micros", 15), (NANOS, 18))
)


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
    if any(_NO_NUMBER.fullmatch(value) for value in values) and all(_LARGE_INT.fullmatch(value) for value in values):
        return Kind("STRING")
    if all(_INT.fullmatch(value) for value in values):
        return epoch_of_texts(name, values) or times_kind(name, values, whole_numbers=True) or Kind("BIGINT")
    if all(_LARGE_INT.fullmatch(value) for value in values):
        return epoch_of_texts(name, values) or Kind("DECIMAL(38,0)")
    return times_kind(name, values) or epoch_of_texts(name, values) or _number_kind(values, comma=comma) or Kind("STRING")


def epoch_of_texts(name: str, values: Sequence[str]) -> Kind | None:
    """Numbers since 1970 that are written as texts, seconds with their fraction too."""
    if not is_timely(name) or not all(_PLAIN_NUMBER.fullmatch(value) for value in values):
        return None
    return epoch_kind(name, [int(value) if value.isdigit() else float(value) for value in values])


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

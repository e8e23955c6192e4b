"""Intervals and lateness as Spark reads them: pure arithmetic, in microseconds."""

from __future__ import annotations

import re

from penstock.errors import TypeFault

MICROS_PER_MS = 1_000
MICROS_PER_DAY = 86_400_000_000
_UNITS = {
    "microsecond": 1,
    "millisecond": MICROS_PER_MS,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": MICROS_PER_DAY,
    "week": 7 * MICROS_PER_DAY,
}
_CALENDAR_UNITS = ("month", "year")
_DAYS_PER_MONTH = 31
_PART = re.compile(r"\s*([+-]?)\s*(\d*)(\.\d*)?\s+([a-z]+)(?=\s|$)")
_ANSI = re.compile(r"(?P<sign>[+-]?)\s*'(?P<value>[^']*)'\s*(?P<unit>[a-z]+)(?:\s+to\s+(?P<to>[a-z]+))?$")
_FIELDS = ("day", "hour", "minute", "second")
_HINT = "write it as '10 seconds', '1 hour 30 minutes' or INTERVAL '1' HOUR"


def interval(text: str) -> int:
    """The span that `text` means, as Spark reads it; months and years are refused: their length is not fixed."""
    micros, months = _parsed(text)
    if months:
        raise TypeFault(f"`{text}` holds months or years, whose length is not fixed", hint="use days or weeks, e.g. '30 days'")
    return micros


def delay(text: str) -> int:
    """The span of a lateness: as `interval`, but a month counts 31 days, as in Spark's watermark; never negative."""
    micros, months = _parsed(text)
    total = micros + months * _DAYS_PER_MONTH * MICROS_PER_DAY
    if total < 0:
        raise TypeFault(f"the lateness `{text}` is negative", hint=_HINT)
    return total


def format_interval(micros: int) -> str:
    """The shortest text that `interval` reads back as the same span."""
    if micros == 0:
        return "0 seconds"
    parts = []
    left = abs(micros)
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, left = divmod(left, _UNITS[unit])
        if count:
            parts.append(f"{'-' if micros < 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts)


def _parsed(text: str) -> tuple[int, int]:
    """Microseconds and months."""
    lowered = " ".join(text.strip().lower().split())
    bare = re.sub(r"^interval(?=[\s'+-])\s*", "", lowered)
    ansi = _ANSI.match(bare)
    if ansi:
        return _ansi(text, ansi)
    if len(bare) > 1 and bare[0] == bare[-1] == "'":
        bare = bare[1:-1].strip()
    micros = months = position = 0
    while position < len(bare):
        part = _PART.match(bare, position)
        if part is None or not (part[2] or (part[3] or ".").strip(".")):
            raise _unreadable(text)
        one = _amount(text, part[2], part[3], part[4])
        sign = -1 if part[1] == "-" else 1
        micros, months = micros + sign * one[0], months + sign * one[1]
        position = part.end()
    if not bare:
        raise _unreadable(text)
    return micros, months


def _amount(text: str, whole: str, fraction: str | None, unit: str) -> tuple[int, int]:
    singular = unit.removesuffix("s")
    if singular in _CALENDAR_UNITS and fraction is None:
        return 0, int(whole) * (12 if singular == "year" else 1)
    if singular not in _UNITS or (fraction is not None and singular != "second"):
        raise _unreadable(text)
    return int(whole or 0) * _UNITS[singular] + (int((fraction[1:] + "000000")[:6]) if fraction else 0), 0


def _ansi(text: str, match: re.Match[str]) -> tuple[int, int]:
    """INTERVAL '1' HOUR, INTERVAL '1 02:03:04.5' DAY TO SECOND."""
    unit, to, value = match["unit"].removesuffix("s"), match["to"], match["value"].strip()
    negative = (match["sign"] == "-") != value.startswith("-")
    digits = value.lstrip("+-")
    sign = -1 if negative else 1
    if to is None:
        number = re.fullmatch(r"(\d*)(\.\d+)?", digits)
        if not number or not digits:
            raise _unreadable(text)
        micros, months = _amount(text, number[1], number[2], unit)
        return sign * micros, sign * months
    if unit == "year" and to == "month" and re.fullmatch(r"\d+-\d+", digits):
        years, _, odd = digits.partition("-")
        return 0, sign * (int(years) * 12 + int(odd))
    if unit not in _FIELDS or to not in _FIELDS or _FIELDS.index(unit) >= _FIELDS.index(to):
        raise _unreadable(text)
    names = _FIELDS[_FIELDS.index(unit) : _FIELDS.index(to) + 1]
    parts = re.split(r"[ :]", digits)
    if len(parts) != len(names) or not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts):
        raise _unreadable(text)
    total = 0
    for name, part in zip(names, parts, strict=True):
        whole, dot, fraction = part.partition(".")
        total += _amount(text, whole, dot + fraction if dot else None, name)[0]
    return sign * total, 0


def _unreadable(text: str) -> TypeFault:
    return TypeFault(f"`{text}` is not an interval", hint=_HINT)

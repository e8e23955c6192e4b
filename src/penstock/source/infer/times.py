"""How times are written: the pattern by which Spark reads all of some texts, if there is one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ISO = ""
_ISO_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_ZONE = r"(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)"  # the hours alone are how Postgres writes it
_ISO_TIME = re.compile(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:\.\d{{1,9}})?)? ?{_ZONE}?")
_PARTS = re.compile(
    r"(?P<a>\d{1,4})(?P<sep>[-/. ])(?P<b>\d{1,2}|[A-Za-z]{3})(?P=sep)(?P<c>\d{1,4})"
    r"(?:(?P<gap>T| |, |:)(?P<hour>\d{1,2}):\d{2}(?P<seconds>:\d{2})?(?P<fraction>[.,]\d{1,9})?(?P<half> ?[AaPp][Mm])?"
    r"(?P<zone> ?(?:Z|[+-]\d{2}:?\d{2}))?)?"
)
_COMPACT = re.compile(r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?P<time>[T ]?\d{6})?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Written:
    """How some texts are written: `pattern` is ISO where Spark needs none; `assumed` says what the texts leave open."""

    pattern: str
    is_date: bool
    assumed: str = ""


def written_times(texts: Sequence[str]) -> Written | None:
    """None where they are no times, or not all of one kind."""
    if not texts:
        return None
    if all(_ISO_DATE.fullmatch(text) and _is_day(text) for text in texts):
        return Written(ISO, is_date=True)
    if all((_ISO_TIME.fullmatch(text) or _ISO_DATE.fullmatch(text)) and _is_day(text) for text in texts):
        return Written(ISO, is_date=False)
    return _compact(texts) or _by_parts(texts)


def _is_day(text: str) -> bool:
    _, month, day = (int(part) for part in re.split(r"[-T ]", text)[:3])
    return 1 <= month <= 12 and 1 <= day <= 31


def _compact(texts: Sequence[str]) -> Written | None:
    found = [_COMPACT.fullmatch(text) for text in texts]
    times = {None if match is None else (match["time"] or "")[:1] for match in found}
    if None in times or len(times) != 1:
        return None
    mark = times.pop()
    if not mark:
        return Written("yyyyMMdd", is_date=True)
    return Written(f"yyyyMMdd{ {'T': chr(39) + 'T' + chr(39), ' ': ' '}.get(mark, '') }HHmmss", is_date=False)


def _by_parts(texts: Sequence[str]) -> Written | None:
    found = [match for match in map(_PARTS.fullmatch, texts) if match is not None]
    if len(found) != len(texts):
        return None
    shapes = {
        (m["sep"], m["gap"], bool(m["seconds"]), bool(m["half"]), m["b"].isalpha(), len(m["a"]) == 4, len(m["a"]) == 4 or len(m["c"])) for m in found
    }
    zones = {m["zone"] is not None for m in found}
    if len(shapes) != 1 or len(zones) != 1:
        return None
    day = _day_pattern(found)
    if day is None:
        return None
    pattern, assumed = day
    first = found[0]
    if first["gap"] is None:
        return Written(pattern, is_date=True, assumed=assumed)
    half = first["half"]
    hour = ("h" if half else "H") * (2 if all(len(m["hour"]) == 2 for m in found) else 1)
    gap = "'T'" if first["gap"] == "T" else first["gap"]
    clock = f"{hour}:mm{':ss' if first['seconds'] else ''}{_fraction(found)}{half[:-2] + 'a' if half else ''}{_zone(found)}"
    return Written(f"{pattern}{gap}{clock}", is_date=False, assumed=assumed)


def _day_pattern(found: Sequence[re.Match[str]]) -> tuple[str, str] | None:
    """The pattern of the day, and what had to be assumed; None where no order of its parts makes days of all."""
    first = found[0]
    sep, (a, b, c) = first["sep"], (([m[part] for m in found]) for part in "abc")
    if first["b"].isalpha():
        is_day = all(month.lower() in _MONTHS for month in b) and len(first["a"]) < 3 and len(c[0]) in (2, 4) and _within(a, 31)
        return (f"{_digits('d', a)}{sep}MMM{sep}{'y' * len(c[0])}", "") if is_day else None
    if len(first["a"]) == 4:
        return (f"yyyy{sep}{_digits('M', b)}{sep}{_digits('d', c)}", "") if _within(b, 12) and _within(c, 31) else None
    if len(first["a"]) > 2 or len(first["c"]) not in (2, 4):
        return None
    order, assumed = _order(first, a, b)
    return (f"{order}{sep}{'y' * len(c[0])}", assumed) if order else None


def _order(first: re.Match[str], a: Sequence[str], b: Sequence[str]) -> tuple[str, str]:
    """Day and month as they stand before the year, none where they cannot be; and what was assumed."""
    sep, assumed = first["sep"], ""
    day_first, month_first = _within(a, 31) and _within(b, 12), _within(a, 12) and _within(b, 31)
    if not day_first and not month_first:
        return "", ""
    if day_first and month_first:
        day_first = sep != "/"
        assumed = f"{first[0]} has its {'day' if day_first else 'month'} first: no value shows which"
    return f"{_digits('d', a)}{sep}{_digits('M', b)}" if day_first else f"{_digits('M', a)}{sep}{_digits('d', b)}", assumed


def _within(parts: Sequence[str], most: int) -> bool:
    return all(1 <= int(part) <= most for part in parts)


def _digits(letter: str, parts: Sequence[str]) -> str:
    """Twice where two digits are always there, else once, which takes one or two."""
    return letter * 2 if all(len(part) == 2 for part in parts) else letter


def _fraction(found: Sequence[re.Match[str]]) -> str:
    given = [m["fraction"] for m in found if m["fraction"]]
    if not given:
        return ""
    return f"[{given[0][0]}{'S' * (9 if max(map(len, given)) > 7 else 6)}]"


def _zone(found: Sequence[re.Match[str]]) -> str:
    zone = found[0]["zone"]
    if not zone:
        return ""
    blank, bare = " " if zone.startswith(" ") else "", zone.strip()
    return blank + ("X" * 3 if bare == "Z" or ":" in bare else "XX")

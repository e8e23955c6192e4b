"""Types as Spark's DDL writes them: finding what is none, looking inside, and what may be compared with what."""

from __future__ import annotations

import difflib
import re

from penstock.plan.expression.tokens import tokens
from penstock.plan.expression.words import words
from penstock.schema import Column, Schema, family, name_and_type, normal_type, split_parts

UNKNOWN = "unknown"
WINDOW = "struct<start:timestamp,end:timestamp>"
_PLAIN = words(
    "boolean bool tinyint byte smallint short int integer bigint long float real double date time timestamp timestamp_ltz timestamp_ntz "
    "string text char character varchar binary decimal dec numeric void interval variant geometry geography"
)
_NESTED_EXAMPLES = {"array": "ARRAY<STRING>", "map": "MAP<STRING, BIGINT>", "struct": "STRUCT<name: STRING, n: BIGINT>"}
_NESTED = frozenset(_NESTED_EXAMPLES)
_EXAMPLES = "e.g. STRING, BIGINT, DOUBLE, DECIMAL(12,2), TIMESTAMP, ARRAY<STRING>"
_DECIMALS = ("decimal", "dec", "numeric")
_DIGITS_MAX = 38
_UNITS = "(year|month|day|hour|minute|second)"
# What may follow the name of a type, once it is in its normal spelling.
_FORMS: dict[str, re.Pattern[str]] = {
    **{name: re.compile(normal_type(name)) for name in _PLAIN},
    **dict.fromkeys(_DECIMALS, re.compile(r"decimal\((?P<digits>\d{1,2})(,(?P<after>\d{1,2}))?\)")),
    "string": re.compile(r"string( collate [\w.]+)?"),
    "time": re.compile(r"time(\([0-6]\))?"),
    "interval": re.compile(rf"interval( {_UNITS}( to {_UNITS})?)?"),
    **dict.fromkeys(("geometry", "geography"), re.compile(r"\w+\(\w+\)")),
}


def type_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with the first part of a type that Spark would refuse, and what to do; None where it reads all of it."""
    found = tokens(text)
    head = found[0].text.lower() if found else ""
    if head not in _PLAIN and head not in _NESTED:
        written = found[0].text if found else text
        near = near_type(written)
        return f"there is no type `{written}`", f"did you mean {near.upper()}?" if near else _EXAMPLES
    if head in _PLAIN:
        return None if _fits(head, normal_type(text)) else _misused(head, text)
    parts = _inner_types(text)
    if len(parts) != {"array": 1, "map": 2}.get(head, len(parts)) or not parts or found[-1].text.strip(">"):
        return f"`{text}` is not a type", f"write {_NESTED_EXAMPLES[head]}"
    return next((fault for fault in (type_fault(inner) for _, inner in parts) if fault is not None), None)


def _fits(head: str, normal: str) -> bool:
    form = _FORMS[head].fullmatch(normal)
    if form is None or head not in _DECIMALS:
        return form is not None
    return int(form["after"] or 0) <= int(form["digits"]) <= _DIGITS_MAX and int(form["digits"]) > 0


def _misused(head: str, text: str) -> tuple[str, str]:
    if head in _DECIMALS:
        return f"`{text}` is not a type", f"DECIMAL(p,s) has 1 to {_DIGITS_MAX} digits, s of them after the point: DECIMAL(12,2)"
    if head.startswith("time"):
        return f"`{text}` is not a type", f"{head.upper()} knows microseconds, six digits of a second; write {head.upper()} alone"
    return f"`{text}` is not a type", f"write {head.upper()} alone; only NOT NULL, COMMENT and AS may follow a type"


def near_type(name: str) -> str | None:
    """The type name that the user most likely wanted."""
    found = difflib.get_close_matches(name.lower(), sorted(_PLAIN | _NESTED), n=1, cutoff=0.5)
    return found[0] if found else None


def fields_of(type_text: str) -> Schema | None:
    """The fields of a struct; None for any other type."""
    if not type_text.lower().startswith("struct<"):
        return None
    return Schema(tuple(Column(name, normal_type(inner)) for name, inner in _inner_types(type_text)))


def field_type(type_text: str, path: tuple[str, ...]) -> str:
    """The type that `path` leads to inside a value of `type_text`; UNKNOWN where that is not known."""
    for step in path:
        fields = fields_of(type_text)
        found = fields.find(step) if fields is not None else None
        if found is None:
            return UNKNOWN
        type_text = found.type
    return type_text


def element_type(type_text: str) -> str:
    """The type of an array's elements; UNKNOWN for anything else."""
    parts = _inner_types(type_text) if type_text.startswith("array<") else []
    return parts[0][1] if parts else UNKNOWN


def comparable(left: str, right: str) -> bool:
    """Whether Spark lets values of two types be compared or united; True when in doubt."""
    one, other = family(left), family(right)
    if "other" in (one, other) or UNKNOWN in (left, right) or "variant" in (left, right):
        return True
    if "text" in (one, other):
        return "nested" not in (one, other)
    return one == other


def _inner_types(text: str) -> list[tuple[str, str]]:
    """The (name, type) pairs between the angle brackets; the name is empty but for a struct's fields."""
    opening, closing = text.find("<"), text.rfind(">")
    parts = split_parts(text[opening + 1 : closing]) if 0 <= opening < closing else []
    named = text[: max(opening, 0)].strip().lower() == "struct"
    return [pair for pair in (name_and_type(part) if named else ("", part) for part in parts) if pair[1]]

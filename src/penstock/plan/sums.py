"""The type of a sum, for a sum of partial sums must be brought back to it: each sum of DECIMALs is ten digits wider than what it adds."""

from __future__ import annotations

from penstock.plan.grammar import tokens
from penstock.plan.infer import Look, call_type
from penstock.plan.scalar import Call, calls, column_refs
from penstock.plan.types import UNKNOWN
from penstock.plan.words import words

# Functions whose result is no DECIMAL where no argument is one.
_PLAIN = words(
    """
abs coalesce if nvl ifnull nullif greatest least round mod pmod sign sqrt power pow exp ln log log10
length char_length size year month day hour minute datediff unix_timestamp tinyint smallint int bigint float double cast try_cast
"""
)
_LONG = 18


def decimal_of_sum(call: Call, look: Look) -> str | None:
    """The DECIMAL that `sum(...)` is; empty where it is none, None where that cannot be told."""
    found = call_type(call, look)
    if found != UNKNOWN:
        return found if found.startswith("decimal") else ""
    return "" if all(_never_decimal(text, look) for text in call.args) else None


def _never_decimal(text: str, look: Look) -> bool:
    known = [look(ref.parts) for ref in column_refs(text)]
    if UNKNOWN in known or any(kind.startswith("decimal") for kind in known):
        return False
    if any(token.is_word("decimal", "dec", "numeric") or (token.kind == "number" and _decimal_number(token.text)) for token in tokens(text)):
        return False
    return all(call.name in _PLAIN for call in calls(text))


def _decimal_number(text: str) -> bool:
    """1.5, 1.5BD and whole numbers beyond BIGINT are DECIMALs; 1.5D and 1e3 are not."""
    lowered = text.lower()
    return lowered.endswith("bd") or len(text) > _LONG or ("." in text and not any(mark in lowered for mark in "dfe"))

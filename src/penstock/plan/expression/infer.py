"""The type of an expression, where its outermost form gives it; UNKNOWN otherwise. Never a guess."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from penstock.plan.expression.calls import Call
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import matching, tokens
from penstock.plan.expression.types import UNKNOWN, WINDOW, element_type
from penstock.plan.expression.words import words
from penstock.schema import Schema, family, normal_type

Look: TypeAlias = Callable[[tuple[str, ...]], str]
_FIXED = {
    **dict.fromkeys(words("count count_if approx_count_distinct regr_count unix_timestamp unix_micros unix_millis"), "bigint"),
    **dict.fromkeys(words("row_number rank dense_rank ntile length year month day hour minute second datediff size grouping"), "int"),
    **dict.fromkeys(words("cume_dist percent_rank stddev stddev_samp stddev_pop std variance var_pop var_samp corr skewness kurtosis"), "double"),
    **dict.fromkeys(words("upper lower substring substr replace regexp_replace regexp_extract date_format md5 sha2 to_json uuid"), "string"),
    **dict.fromkeys(words("current_timestamp now to_timestamp timestamp_seconds timestamp_millis timestamp_micros window_time"), "timestamp"),
    **dict.fromkeys(words("current_date to_date last_day"), "date"),
    **dict.fromkeys(words("bool_and bool_or every some any isnull isnotnull startswith endswith contains exists forall"), "boolean"),
}
_AS_ARGUMENT = words("min max first last any_value first_value last_value max_by min_by mode lag lead nth_value nullif")
_LISTS = words("collect_list collect_set array_agg")
_SAME_OF_ALL = words("coalesce nvl ifnull greatest least")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_WHOLE = ("tinyint", "smallint", "int", "bigint")

# Functions whose result is no DECIMAL where no argument is one.
_NEVER_DECIMAL = words(
    """
abs coalesce if nvl ifnull nullif greatest least round mod pmod sign sqrt power pow exp ln log log10
length char_length size year month day hour minute datediff unix_timestamp tinyint smallint int bigint float double cast try_cast
"""
)
_LONG = 18


def type_of(text: str, look: Look) -> str:
    """The type of `text`; `look` gives the type of a column by its parts."""
    found = tokens(text)
    if not found:
        return UNKNOWN
    if len(found) == 1 and found[0].kind != "word" and found[0].kind != "quoted":
        return _literal(found[0].kind, found[0].text)
    if len(found) == 1 and found[0].is_word("true", "false"):
        return "boolean"
    if len(found) == 2 and found[0].is_word("date", "timestamp") and found[1].kind == "string":
        return found[0].text.lower()
    refs = parsed(text).columns
    if len(refs) == 1 and refs[0].start == found[0].start and refs[0].end == found[-1].end:
        return look(refs[0].parts)
    called = next(iter(parsed(text).calls), None)
    if called is None or called.start != found[0].start or not _ends(text, called):
        return UNKNOWN
    return call_type(called, look)


def with_types(schema: Schema) -> Schema:
    """The same columns; a computed one without a type gets that of its expression, as far as it can be known without Spark."""

    def look(parts: tuple[str, ...]) -> str:
        found = schema.find(parts[0]) if len(parts) == 1 else None
        return UNKNOWN if found is None else found.type

    return Schema(tuple(column if column.type != UNKNOWN else replace(column, type=type_of(column.computed or "", look)) for column in schema))


def call_type(call: Call, look: Look) -> str:
    """The type of a whole call."""
    if call.name in ("cast", "try_cast") and call.args:
        inner = tokens(call.args[0])
        mark = next((token for token in reversed(inner) if token.is_word("as")), None)
        return UNKNOWN if mark is None else normal_type(call.args[0][mark.end :].strip())
    if call.name in _FIXED:
        return _FIXED[call.name]
    if not call.args:
        return UNKNOWN
    first = type_of(call.args[0], look)
    if call.name in ("window", "session_window"):
        return window_type(first)
    if call.name in _AS_ARGUMENT:
        return first
    if call.name in _LISTS:
        return UNKNOWN if first == UNKNOWN else f"array<{first}>"
    if call.name in _SAME_OF_ALL or call.name == "if":
        kinds = {type_of(arg, look) for arg in call.args[call.name == "if" :] if arg.strip().lower() != "null"}
        return kinds.pop() if len(kinds) == 1 else UNKNOWN
    if call.name in ("sum", "avg", "mean"):
        return _summed(first) if call.name == "sum" else _averaged(first)
    return UNKNOWN


def window_type(time: str) -> str:
    """The type of a window over a time of this type."""
    return WINDOW.replace("timestamp", "timestamp_ntz") if time == "timestamp_ntz" else WINDOW


def generated_types(call: str, look: Look) -> tuple[str, ...] | None:
    """The types of the columns that explode(...) and posexplode(...) of an array give; None for other generators."""
    called = next(iter(parsed(call).calls), None)
    if called is None or not called.args:
        return None
    element = element_type(type_of(called.args[0], look))
    name = called.name.removesuffix("_outer")
    if element == UNKNOWN or name not in ("explode", "posexplode"):
        return None
    return (element,) if name == "explode" else ("int", element)


def _literal(kind: str, text: str) -> str:
    if kind == "string":
        return "string"
    if kind == "number" and text.isdigit():
        return "int" if int(text) < 2**31 else "bigint" if int(text) < 2**63 else UNKNOWN
    return UNKNOWN


def _ends(text: str, call: Call) -> bool:
    """Whether nothing follows the call but its OVER (...)."""
    rest = tokens(text[call.end :])
    if not rest or not call.over:
        return not rest
    return len(rest) == 2 or (len(rest) > 2 and rest[1].text == "(" and matching(rest, 1) == len(rest) - 1)


def _summed(type_text: str) -> str:
    decimal = _DECIMAL.fullmatch(type_text)
    if decimal:
        return f"decimal({min(38, int(decimal[1]) + 10)},{decimal[2]})"
    if type_text in _WHOLE:
        return "bigint"
    return "double" if type_text in ("float", "double") or family(type_text) == "text" else UNKNOWN


def _averaged(type_text: str) -> str:
    decimal = _DECIMAL.fullmatch(type_text)
    if decimal and int(decimal[1]) <= 34:
        return f"decimal({int(decimal[1]) + 4},{int(decimal[2]) + 4})"
    return "double" if type_text in (*_WHOLE, "float", "double") or family(type_text) == "text" else UNKNOWN


def decimal_of_sum(call: Call, look: Look) -> str | None:
    """The DECIMAL that `sum(...)` is, to which a sum of partial sums must be brought back; empty where it is none, None where not known."""
    found = call_type(call, look)
    if found != UNKNOWN:
        return found if found.startswith("decimal") else ""
    return "" if all(_never_decimal(text, look) for text in call.args) else None


def _never_decimal(text: str, look: Look) -> bool:
    known = [look(ref.parts) for ref in parsed(text).columns]
    if UNKNOWN in known or any(kind.startswith("decimal") for kind in known):
        return False
    if any(token.is_word("decimal", "dec", "numeric") or (token.kind == "number" and _decimal_number(token.text)) for token in tokens(text)):
        return False
    return all(call.name in _NEVER_DECIMAL for call in parsed(text).calls)


def _decimal_number(text: str) -> bool:
    """1.5, 1.5BD and whole numbers beyond BIGINT are DECIMALs; 1.5D and 1e3 are not."""
    lowered = text.lower()
    return lowered.endswith("bd") or len(text) > _LONG or ("." in text and not any(mark in lowered for mark in "dfe"))

"""The parts of a CREATE statement: its column list with a watermark, and its WITH options."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import NameFault, UserError
from penstock.option import raise_all
from penstock.plan.expression.infer import with_types
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.types import UNKNOWN
from penstock.plan.model.declare import Secret
from penstock.schema import Column, Schema, normal_type

_AFTER_TYPE = ("not", "null", "comment", "default", "as", "generated", "metadata", "key", "primary")


@dataclass(frozen=True)
class Columns:
    """A column list, the event time it declares, and what is wrong with it: columns that cannot be read are left out."""

    schema: Schema
    event_time: str | None = None
    lateness: str | None = None
    faults: tuple[UserError, ...] = ()


def read_columns(passage: Passage, opening: int, close: int) -> Columns:
    """`(id STRING NOT NULL, ms BIGINT, at AS timestamp_millis(ms), WATERMARK FOR at AS at - INTERVAL 10 SECONDS)`."""
    columns: dict[str, Column] = {}
    watermarks: list[tuple[int, int]] = []
    faults: list[UserError] = []
    unread: set[str] = set()
    for low, high in _entries(passage, opening, close):
        if _unenforced_key(passage, low, high):
            continue
        if passage.word(low, high, "watermark") and passage.word(low + 1, high, "for"):
            watermarks.append((low, high))
            continue
        try:
            column = _column(passage, low, high)
            if column.name.lower() in columns:
                raise passage.fault(
                    f"the column `{column.name}` is declared twice", low, low + 1, "Spark does not distinguish names by case", NameFault
                )
            columns[column.name.lower()] = column
        except UserError as fault:
            faults.append(fault)
            unread.add(passage.tokens[low].value.lower())
    schema = with_types(Schema(tuple(columns.values())))
    faults += [passage.fault("a stream has one watermark", low, high) for low, high in watermarks[1:]]
    event_time: tuple[str | None, str | None] = (None, None)
    for low, high in watermarks[:1]:
        if low + 2 < high and passage.tokens[low + 2].value.lower() in unread:
            continue  # its column is there, and reported
        try:
            event_time = _watermark(passage, schema, low, high)
        except UserError as fault:
            faults.append(fault)
    return Columns(schema, *event_time, tuple(faults))


def _unenforced_key(passage: Passage, low: int, high: int) -> bool:
    """Flink's PRIMARY KEY (...) NOT ENFORCED, which asks nothing of a source."""
    key = passage.word(low, high, "primary") and passage.word(low + 1, high, "key") and passage.is_op(low + 2, high, "(")
    return key and passage.word(high - 2, high, "not") and passage.word(high - 1, high, "enforced")


def parse_columns(text: str) -> Schema:
    """The same list without its brackets, as Python gives it; there the event time is an argument of its own."""
    passage = Passage(f"({text}\n)")
    found = read_columns(passage, 0, passage.close(0, len(passage.tokens)))
    raise_all(found.faults)
    if found.event_time is not None:
        raise passage.fault("WATERMARK is not a column", 0, 1, f'write event_time="{found.event_time}", lateness="{found.lateness}"')
    return found.schema


def _entries(passage: Passage, opening: int, close: int) -> list[tuple[int, int]]:
    """The ranges between commas; those inside STRUCT<...> do not count."""
    entries: list[tuple[int, int]] = []
    angles, begin = 0, opening + 1
    for index in range(opening + 1, close + 1):
        token = passage.tokens[index]
        if token.kind == "op" and not token.text.strip("<>"):
            angles += token.text.count("<") - token.text.count(">")
        ends = index == close or (token.text == "," and angles <= 0 and passage.depths[index] == passage.depths[opening] + 1)
        if not ends:
            continue
        if begin == index:
            raise passage.fault("a column is missing here", index, index + 1, "is there a comma too many?")
        entries.append((begin, index))
        begin = index + 1
    return entries


def _column(passage: Passage, low: int, high: int) -> Column:
    if not passage.tokens[low].is_name:
        raise passage.fault("a column's name is missing here", low, low + 1, "name it, then give its type: id STRING")
    name = passage.tokens[low].value
    start = low + 1 + passage.is_op(low + 1, high, ":")
    end = next((index for index in range(start + 1, high) if passage.word(index, high, *_AFTER_TYPE) and _outside(passage, start, index)), high)
    if passage.word(low, high, "primary", "unique", "foreign") and passage.word(start, high, "key"):
        raise passage.fault("a source has no keys", low, high, "leave it away: a view is known by what it groups by")
    computed = _computed(passage, name, _after_comments(passage, name, start if passage.word(start, high, "as", "generated") else end, high), high)
    if computed is not None and passage.word(start, high, "as", "generated"):
        return Column(name, UNKNOWN, computed)
    if start >= high or not passage.tokens[start].is_name or passage.word(start, high, *_AFTER_TYPE):
        hint = f"{name} STRING, for example; or computed from the others: {name} AS upper(word)"
        raise passage.fault(f"the column `{name}` has no type", low, high, hint)
    return Column(name, normal_type(passage.slice(start, end)), computed)


def _after_comments(passage: Passage, name: str, low: int, high: int) -> int:
    """Where what stands after a type is over, but for AS: NOT NULL, NULL and COMMENT say nothing that a source could keep."""
    at = low
    while at < high and not passage.word(at, high, "as", "generated"):
        if passage.word(at, high, "default"):
            hint = f"what is missing in a record is NULL; say it where you select: coalesce({name}, ...) AS {name}"
            raise passage.fault("a source has no defaults", at, high, hint)
        if passage.word(at, high, "primary") and passage.word(high - 1, high, "enforced"):
            return high
        _refuse_other_column(passage, name, at, high)
        length = 2 if passage.word(at, high, "not", "comment") else 1
        if not passage.word(at, high, "not", "comment", "null") or at + length > high:
            hint = f"NOT NULL, COMMENT 'text' or AS expression may follow the type of `{name}`"
            raise passage.fault(f"`{passage.tokens[at].text}` is not expected here", at, high, hint)
        at += length
    return at


def _refuse_other_column(passage: Passage, name: str, at: int, high: int) -> None:
    """Columns that Flink and ksqlDB take from a record's key or metadata."""
    if passage.word(at, high, "metadata"):
        hint = f"let the record hold it: `{name}` as a field of its own; metadata of records is not read"
        raise passage.fault("a column is a field of the record", at, high, hint)
    if passage.word(at, high, "key", "primary"):
        hint = f"leave {passage.slice(at, high).upper()} out: `{name}` is read from the record's value, and a view is known by what it groups by"
        raise passage.fault("a source has no keys", at, high, hint)


def _computed(passage: Passage, name: str, low: int, high: int) -> str | None:
    """What stands after `AS` or `GENERATED ALWAYS AS`."""
    at = low + 2 if passage.word(low, high, "generated") and passage.word(low + 1, high, "always") else low
    if not passage.word(at, high, "as"):
        return None
    if at + 1 >= high:
        raise passage.fault(f"what the column `{name}` is computed from is missing", at, high, f"{name} AS timestamp_millis(ms)")
    return passage.slice(at + 1, high)


def _outside(passage: Passage, low: int, index: int) -> bool:
    """Whether a place is outside the angle brackets of the type that began at `low`; fields may have comments too."""
    marks = "".join(token.text for token in passage.tokens[low:index] if token.kind == "op")
    return marks.count("<") <= marks.count(">")


def _watermark(passage: Passage, schema: Schema, low: int, high: int) -> tuple[str, str]:
    """`WATERMARK FOR at AS at - INTERVAL 10 SECONDS`: the column, and how late a row may come."""
    hint = "WATERMARK FOR at AS at - INTERVAL 10 SECONDS"
    if low + 2 >= high or not passage.tokens[low + 2].is_name:
        raise passage.fault("the watermark names no column", low, high, hint)
    name = passage.tokens[low + 2].value
    column = schema.find(name)
    if column is None:
        raise passage.fault(
            f"the watermark is for `{name}`, which is not a column", low + 2, low + 3, f"columns: {', '.join(schema.names)}", NameFault
        )
    if high == low + 3 or (high == low + 5 and passage.word(low + 3, high, "as") and passage.tokens[low + 4].value.lower() == name.lower()):
        return column.name, "0 seconds"
    formed = passage.word(low + 3, high, "as") and passage.tokens[low + 4].value.lower() == name.lower() and passage.is_op(low + 5, high, "-")
    words = [token.value.lower() for token in passage.tokens[low + 7 : high]]
    if not formed or not passage.word(low + 6, high, "interval") or not words:
        raise passage.fault("the watermark does not say how late a row may come", low, high, hint)
    return column.name, " ".join(words)


def read_options(passage: Passage, low: int, high: int) -> tuple[dict[str, str | Secret], int]:
    """The options of `WITH (name = value, ...)` at `low`, and the index after them; none where there is no WITH."""
    if not passage.word(low, high, "with"):
        return {}, low
    if not passage.is_op(low + 1, high, "("):
        raise passage.fault("WITH wants options in brackets", low, low + 1, "WITH (connector = 'files', path = 'data')")
    close = passage.close(low + 1, high)
    options: dict[str, str | Secret] = {}
    for begin, end in passage.split(low + 2, close) if close > low + 2 else []:
        name, at = _option_name(passage, begin, end)
        if name in options:
            raise passage.fault(f"the option `{name}` is given twice", begin, end)
        options[name] = _option_value(passage, name, at, end)
    return options, close + 1


def _option_name(passage: Passage, low: int, high: int) -> tuple[str, int]:
    at, parts = low, []
    while at < high and passage.tokens[at].kind in ("word", "quoted", "string"):
        parts.append(passage.tokens[at].value)
        at += 1
        if not passage.is_op(at, high, "."):
            break
        at += 1
    if not parts or not passage.is_op(at, high, "=") or at + 1 >= high:
        raise passage.fault("this is not an option", low, high, "write name = 'value', with commas between options")
    return ".".join(parts).lower(), at + 1


def _option_value(passage: Passage, name: str, low: int, high: int) -> str | Secret:
    found = passage.tokens[low:high]
    if all(token.kind == "string" for token in found):
        return "".join(token.value for token in found)
    if len(found) == 1 and (found[0].kind == "number" or found[0].is_word("true", "false")):
        return found[0].text.lower()
    if len(found) == 2 and found[0].text in ("-", "+") and found[1].kind == "number":
        return found[0].text.strip("+") + found[1].text
    if len(found) == 4 and found[0].is_word("secret") and found[1].text == "(" and found[2].kind == "string" and found[3].text == ")":
        return Secret(found[2].value)
    missing = next((index for index in range(low + 1, high) if passage.is_op(index, high, "=")), None)
    if missing is not None:
        raise passage.fault("a comma is missing between options", missing - 1, missing)
    raise passage.fault(
        f"the value of `{name}` is not text, a number, true or false, or secret('name')", low, high, f"put it in quotes: {name} = '...'"
    )

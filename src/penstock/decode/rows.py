"""Raw records to typed rows, in Spark expressions only.

JSON as Spark reads it: keys match columns by exact case, a number may stand for a TIMESTAMP (seconds since 1970), times
are ISO 8601 with any offset (`+0000` too) and UTC without one, text for a number does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from penstock.decode import computed
from penstock.decode.reasons import CLOCK, INVALID_UTF8, MISFIT, MORE_FOLLOWS, NO_COLUMNS, NO_VALUE, NOT_JSON, Fault, FutureGuard
from penstock.decode.unix_times import with_times
from penstock.decode.years import beyond_years
from penstock.formats import as_read, reader_options
from penstock.schema import Schema, quote

VALUE = "__value"
CORRUPT = "__corrupt"
POSITION = "__position"
REASON = "__reason"
RAW = "__raw"
TEXT = "__text"
UTF8 = "utf-8"
_REPLACED = "\ufffd"  # what a reader puts in the place of bytes that are not UTF-8
_WHOLE_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]" + "X" * 3}  # Spark's own format ends at milliseconds


class Described(Protocol):
    """What decoding needs to know of a stream."""

    @property
    def options(self) -> Mapping[str, str]: ...

    @property
    def schema(self) -> Schema: ...


@dataclass(frozen=True)
class Rules:
    """What makes good rows of records that hold the declared columns.

    `computed` are further columns, each an expression over those; a row whose `event_time` is more than `max_ahead` (None: 1 day)
    ahead of `now`, a Spark expression, is not good. Without `words` the reason is only that there is one: the words are many, and
    would slow every good row down.
    """

    event_time: str | None = None
    max_ahead: str | None = None
    now: str = CLOCK
    computed: Mapping[str, str] = field(default_factory=dict)
    words: bool = True

    def faults(self, schema: Schema) -> list[Fault]:
        """Conditions of not being good, in the order of their weight."""
        failing = [(computed.fails(text, schema), _words(f"the column `{name}` cannot be computed")) for name, text in self.computed.items()]
        return [*failing, *FutureGuard(self._time(schema), self.max_ahead, self.now).faults()]

    def _time(self, schema: Schema) -> Column | None:
        if self.event_time is None:
            return None
        text = next((text for name, text in self.computed.items() if name.lower() == self.event_time.lower()), None)
        return F.col(quote(self.event_time)) if text is None else computed.value(text, schema)

    def applied(self, rows: DataFrame, faults: Sequence[Fault], schema: Schema, record: Column) -> DataFrame:
        """The columns of the rows, and what a dead letter needs.

        A computed column stands in every condition as it is: kept in a column of its own, every row would be copied for it.
        """
        values = [*_columns(schema), *(computed.value(text, schema) for text in self.computed.values())]
        columns = [value.alias(name) for value, name in zip(values, [*schema.names, *self.computed], strict=True)]
        far = _beyond_years(values, rows.select(*columns).schema)
        reason = _reason([*faults, *self.faults(schema), *far], self.words).alias(REASON)
        return rows.select(*columns, reason, record.cast("binary").alias(RAW), F.col(POSITION))


def decode(raw: DataFrame, spec: Described, rules: Rules, written: Schema | None = None) -> DataFrame:
    """The stream's columns, `__reason STRING` (NULL: good), `__raw BINARY` and `__position STRING` of every record.

    `raw` is what a source gives: `__value`, or typed columns with or without `__corrupt`.
    `written` is the order in which a line of csv has its values, where it is not that of the columns.
    `__raw` is the record itself; where a reader keeps only the text of records that do not parse, it is the row as JSON.
    """
    if VALUE not in raw.columns:
        return _judged(with_times(raw, spec.schema, spec.options), spec, rules)
    if spec.options.get("format", "json") == "text":
        return _lines(raw, spec, rules)
    return _parsed(raw, spec, rules, written or spec.schema)


def _parsed(raw: DataFrame, spec: Described, rules: Rules, written: Schema) -> DataFrame:
    """`__value` parsed as json or csv.

    The parser stands in a generator (`inline` of one struct) because Spark moves no filter below one: in a projection
    it would be copied into every condition on its fields and each record parsed several times.
    """
    is_json = spec.options.get("format", "json") == "json"
    encoding = spec.options.get("encoding", UTF8).lower()
    raw, text = (raw, f"CAST({VALUE} AS STRING)") if encoding == UTF8 else (_with_text(raw, encoding), TEXT)
    read = parsed_as(F.expr(text), spec, written)
    parsed = with_times(raw.select(F.inline(F.array(read)), *(F.col(name) for name in raw.columns)), spec.schema, spec.options)
    misfit = f"CASE WHEN get_json_object({text}, '$') IS NULL THEN '{NOT_JSON}' ELSE '{MISFIT}' END" if is_json else f"'{MISFIT}'"
    invalid = f"NOT is_valid_utf8({text})" if encoding == UTF8 else f"{TEXT} IS NULL"
    faults = [
        _fault(f"{VALUE} IS NULL OR length({VALUE}) = 0", f"'{NO_VALUE}'"),
        _fault(invalid, f"'{INVALID_UTF8}'" if encoding == UTF8 else f"'not valid {encoding}'"),
        _fault(f"{CORRUPT} IS NOT NULL", misfit),
        *([_fault(_more_follows(text), f"'{MORE_FOLLOWS}'")] if is_json else []),
        _fault(_all_null(spec.schema), f"'{NO_COLUMNS}'"),
    ]
    return rules.applied(parsed, faults, spec.schema, F.col(VALUE))


def _with_text(raw: DataFrame, encoding: str) -> DataFrame:
    """The records with their text, NULL where their bytes are none of that encoding."""
    text = computed.attempted(F.decode(F.col(VALUE).cast("binary"), encoding))
    return raw.select(text.alias(TEXT), F.col(VALUE), F.col(POSITION))


def parsed_as(text: Column, spec: Described, written: Schema) -> Column:
    """A record of json or csv as a struct of its columns, in the order `written`, and `__corrupt`: the record, where it does not fit."""
    fields = f"{as_read(written, spec.options).ddl}, {CORRUPT} STRING"
    parser = F.from_json if spec.options.get("format", "json") == "json" else F.from_csv
    return parser(text, fields, {"columnNameOfCorruptRecord": CORRUPT, **reader_options(spec.options)})


def as_record(schema: Schema) -> Column:
    """A row as JSON, where a reader kept no text of its record."""
    return F.to_json(F.struct(*_columns(schema)), _WHOLE_TIMES)


def _lines(raw: DataFrame, spec: Described, rules: Rules) -> DataFrame:
    """A line is the row."""
    (column,) = spec.schema.columns
    text = f"CAST({VALUE} AS STRING)"
    typed = raw.select(F.expr(f"try_cast({text} AS {column.type})").alias(column.name), F.col(VALUE), F.col(POSITION))
    faults = [
        _fault(f"{VALUE} IS NULL", f"'{NO_VALUE}'"),
        _fault(f"NOT is_valid_utf8({text})", f"'{INVALID_UTF8}'"),
        _fault(f"{quote(column.name)} IS NULL", f"'{MISFIT}'"),
    ]
    return rules.applied(typed, faults, spec.schema, F.col(VALUE))


def _judged(raw: DataFrame, spec: Described, rules: Rules) -> DataFrame:
    """Rows that the source has typed already.

    A column that no view asks for must not hide that its value is wrong, so Spark is made to read every column that can
    be: any JSON value fits a text column, which is therefore read only where it is asked for.
    """
    if CORRUPT not in raw.columns:
        return rules.applied(raw, [], spec.schema, as_record(spec.schema))
    is_json = spec.options.get("format", "json") == "json"
    not_json = f"WHEN get_json_object({CORRUPT}, '$') IS NULL THEN '{NOT_JSON}'" if is_json else ""
    faults = [
        _fault(
            f"{CORRUPT} IS NOT NULL{_having_read(spec.schema) if is_json else ''}",
            f"CASE WHEN NOT is_valid_utf8({CORRUPT}) THEN '{INVALID_UTF8}' {not_json} ELSE '{MISFIT}' END",
        ),
        *([] if is_json else [_fault(_all_null(spec.schema), f"'{NO_COLUMNS}'"), *_replaced(spec.schema)]),
    ]
    return rules.applied(raw, faults, spec.schema, F.coalesce(F.col(CORRUPT), as_record(spec.schema)))


def _reason(faults: Sequence[Fault], words: bool) -> Column:
    """The words of the first fault that a record has; NULL where it has none."""
    if not faults:
        return F.lit(None).cast("string")
    if not words:
        return F.when(reduce(or_, (condition for condition, _ in faults)), F.lit(""))
    return F.coalesce(*(F.when(condition, reason()) for condition, reason in faults))


def _beyond_years(values: Sequence[Column], types: StructType) -> list[Fault]:
    found = [(field.name, beyond_years(value, field.dataType)) for value, field in zip(values, types.fields, strict=True)]
    return [(condition, _words(f"the column `{name}` is beyond the years 1 to 9999")) for name, condition in found if condition is not None]


def _words(text: str) -> Callable[[], Column]:
    return lambda: F.lit(text)


def _fault(condition: str, words: str) -> Fault:
    """A fault in Spark SQL."""
    return F.expr(condition), lambda: F.expr(words)


def _columns(schema: Schema) -> list[Column]:
    return [F.col(quote(name)) for name in schema.names]


def _all_null(schema: Schema) -> str:
    return " AND ".join(f"{quote(name)} IS NULL" for name in schema.names)


def _more_follows(text: str) -> str:
    """Spark's parser stops at the end of the first record and keeps silent about the rest.

    Where the first closing brace is the end of it, nothing follows; elsewhere the text is read as the elements of an array. (What only Spark's
    parser takes for a number, it cannot read.)
    """
    elements = f"json_array_length(concat('[', {text}, ']'))"
    return f"instr({text}, '}}') < length({text}) AND coalesce({elements} <> 1, NOT rlike({text}, 'NaN|INF|Infinity'))"


def _having_read(schema: Schema) -> str:
    """Always true, which Spark cannot know; looked at for bad records only, and yet it has the columns read for all."""
    fallible = [quote(column.name) for column in schema if column.family != "text"] or [quote(schema.names[0])]
    return f" AND to_json(struct({', '.join(fallible)})) <> ''"


def _replaced(schema: Schema) -> list[Fault]:
    """The csv reader replaces bytes that are not UTF-8 and says nothing; the replacement is the only trace."""
    texts = [quote(column.name) for column in schema if column.family == "text"]
    marks = " OR ".join(f"contains({text}, '{_REPLACED}')" for text in texts)
    return [_fault(marks, f"'{INVALID_UTF8}'")] if texts else []

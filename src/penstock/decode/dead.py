"""The dead letters of a decoded stream."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.decode.reasons import MISFIT, NOT_JSON
from penstock.decode.rows import Described, as_record, parsed_as
from penstock.decode.unix_times import with_times
from penstock.formats import reader_options
from penstock.schema import Column, Schema, literal, quote

_LETTER = ("__reason", "__raw", "__position")
_TEXT = "CAST(__raw AS STRING)"


def dead_rows(decoded: DataFrame, spec: Described, written: Schema) -> DataFrame:
    """`reason STRING, raw BINARY, position STRING` of every record that is not good; `written` is the order in which a line of csv has its values.

    A record that does not fit is searched for the columns that are to blame: given, but not read.
    """
    rows = decoded.where("__reason IS NOT NULL")
    fallible = [field.name for field in decoded.schema.fields if field.name not in _LETTER and field.dataType.typeName() != "string"]
    is_csv = spec.options.get("format", "json") == "csv"
    given = _in_csv(written, spec) if is_csv else _in_json
    blamed = [f"IF({quote(name)} IS NULL AND {given(name)} IS NOT NULL, {literal(name)}, NULL)" for name in fallible]
    named = f"concat_ws(', ', {', '.join(blamed)})" if blamed else "''"
    # Where every value that is there can be read, there are too few or too many.
    number = f"WHEN __reason = '{MISFIT}' THEN concat(__reason, ': more or fewer than {len(written)} values')" if is_csv else ""
    reason = f"CASE WHEN __reason = '{MISFIT}' AND {named} <> '' THEN concat(__reason, ': ', {named}) {number} ELSE __reason END"
    return rows.selectExpr(f"{reason} AS reason", "CAST(__raw AS BINARY) AS raw", "__position AS position")


def could_be_read(reason: str) -> bool:
    """Whether a letter's record fits its columns, and is none of the good ones for what it says."""
    return not reason.startswith((MISFIT, NOT_JSON))


def originals(lines: DataFrame, letters: DataFrame, spec: Described, written: Schema) -> DataFrame:
    """The lines (`raw BINARY`) from which the records of `letters` (`record BINARY, position STRING`) were read, beside those.

    A letter holds its record written out again. Every line is read once more: it is the one where the same comes of it.
    """
    read = lines.select(parsed_as(F.col("__value"), spec, written).alias("__read"), "__value", "__position")
    fitting = read.where("__read.__corrupt IS NULL").selectExpr("__read.*", "CAST(__value AS BINARY) AS __raw", "__position")
    again = with_times(fitting, spec.schema, spec.options).select(
        as_record(spec.schema).cast("binary").alias("record"), F.col("__raw").alias("raw"), F.col("__position").alias("position")
    )
    return again.join(letters.distinct(), ["record", "position"], "left_semi")


def _in_json(name: str) -> str:
    """A JSON path cannot name every column."""
    return f"get_json_object({_TEXT}, '$.{name}')" if name.isidentifier() else "CAST(NULL AS STRING)"


def _in_csv(written: Schema, spec: Described) -> Callable[[str], str]:
    """The text of a value in a line of csv."""
    texts = Schema(tuple(Column(name, "string") for name in written.names))
    options = ", ".join(literal(word) for pair in reader_options(spec.options).items() for word in pair)
    read = f"from_csv({_TEXT}, {literal(texts.ddl)}, map({options}))"
    known = {name.lower() for name in written.names}
    return lambda name: f"{read}.{quote(name)}" if name.lower() in known else "CAST(NULL AS STRING)"

"""A Postgres table as reference data: one SELECT in the driver, carried to Spark as Arrow.

The rows are those of the moment of reading. For tables that fit the driver's memory. A declared type decides in which form a value
comes: as STRING it is what the database writes. A value that its type cannot hold is an error that names the column, never NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeAlias

import psycopg
import pyarrow
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import NameFault, SourceError, TypeFault
from penstock.schema import Column, quote
from penstock.source import SourceSpec
from penstock.source.options import option_value
from penstock.store.postgres_server import unavailable

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
_CONNECT_SECONDS = 10
_ARROW = {
    "bool": pyarrow.bool_(),
    "int2": pyarrow.int16(),
    "int4": pyarrow.int32(),
    "int8": pyarrow.int64(),
    "float4": pyarrow.float32(),
    "float8": pyarrow.float64(),
    "date": pyarrow.date32(),
    "timestamptz": pyarrow.timestamp("us", "UTC"),
    "timestamp": pyarrow.timestamp("us"),
    "bytea": pyarrow.binary(),
}
_FREE_SCALE = 18  # of a numeric without a scale, as Spark's own reader takes it
_DIGITS_MAX = 38
_ROUNDED = Context(prec=1000, rounding=ROUND_HALF_UP)  # as Spark's own cast does
_SCALE = re.compile(r"decimal\(\d+,(\d+)\)")


def table_rows(spark: SparkSession, spec: SourceSpec) -> DataFrame:
    """The table with the declared columns and types, or as the database has it where none are declared."""
    return rows_frame(spark, spec, read_table(spec))


def rows_frame(spark: SparkSession, spec: SourceSpec, read: pyarrow.Table) -> DataFrame:
    """What `read_table` gave, with the declared columns and types."""
    rows = spark.createDataFrame(read)
    if not len(spec.schema):
        return rows
    found = {name.lower(): name for name in rows.columns}
    return rows.select(*(F.col(quote(found[column.name.lower()])).cast(column.type).alias(column.name) for column in spec.schema))


def read_table(spec: SourceSpec) -> pyarrow.Table:
    """The rows of the database's table as they are now."""
    name = sql.Identifier(*spec.options["table"].split("."))
    try:
        with _connect(spec) as connection, connection.cursor() as cursor:
            cursor.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name))
            columns = [(column.name, _arrow_type(connection, column, declared)) for column, declared in _wanted(spec, cursor.description or ())]
            # What has no type of its own in Spark (uuid, json, inet, arrays...) comes as the database writes it.
            items = [
                sql.SQL("{}::text").format(sql.Identifier(column)) if kind == pyarrow.string() else sql.Identifier(column) for column, kind in columns
            ]
            cursor.execute(sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(items), name))
            try:
                rows = cursor.fetchall()
            except psycopg.DataError:
                for column, kind in columns:
                    _require_years(connection, spec, name, column, kind)
                raise
    except psycopg.Error as error:
        kind = type(unavailable("", error)) if isinstance(error, psycopg.OperationalError) else SourceError
        raise kind(
            f"table `{spec.name}` cannot be read from Postgres: {str(error).strip().splitlines()[0]}",
            hint="check host, port, database, user and table",
        ) from None
    values: Iterator[Sequence[object]] = zip(*rows, strict=True) if rows else iter([()] * len(columns))
    arrays = [_array(spec, column, kind, cells) for cells, (column, kind) in zip(values, columns, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(columns))


def _wanted(spec: SourceSpec, found: Sequence[psycopg.Column]) -> list[tuple[psycopg.Column, Column | None]]:
    """The columns to read, each with its declaration: those that are declared, or all where none is."""
    names = {column.name.lower() for column in found}
    for column in spec.schema:
        if column.name.lower() not in names:
            hint = f"it has: {', '.join(column.name for column in found)}"
            raise NameFault(f"table `{spec.name}`: the database table has no column `{column.name}`", hint=hint)
    pairs = [(column, spec.schema.find(column.name)) for column in found]
    return [(column, declared) for column, declared in pairs if declared is not None or not len(spec.schema)]


def _connect(spec: SourceSpec) -> Connection:
    names = {"host": "host", "port": "port", "database": "dbname", "user": "user", "password": "password", "sslmode": "sslmode"}
    given = {theirs: option_value(spec.options, "postgres", ours) for ours, theirs in names.items()}
    known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return psycopg.connect(**known, connect_timeout=_CONNECT_SECONDS, options="-c timezone=UTC")


def _arrow_type(connection: Connection, column: psycopg.Column, declared: Column | None) -> pyarrow.DataType:
    info = connection.adapters.types.get(column.type_code)
    if info is None or column.type_code != info.oid:
        return pyarrow.string()
    if declared is not None and declared.type == "string" and info.name != "bytea":
        return pyarrow.string()
    if info.name != "numeric":
        return _ARROW.get(info.name, pyarrow.string())
    if declared is not None and declared.type in ("float", "double"):
        return pyarrow.float64()
    scale = _SCALE.fullmatch(declared.type) if declared is not None else None
    if scale is not None:
        return pyarrow.decimal128(_DIGITS_MAX, int(scale[1]))
    fits = column.precision is not None and column.precision <= _DIGITS_MAX
    return pyarrow.decimal128(column.precision, column.scale or 0) if fits else pyarrow.decimal128(_DIGITS_MAX, _FREE_SCALE)


def _require_years(connection: Connection, spec: SourceSpec, table: sql.Identifier, column: str, kind: pyarrow.DataType) -> None:
    """TypeFault for a time that Python has no value for: `infinity`, or one outside of the years 1 to 9999."""
    if not (pyarrow.types.is_timestamp(kind) or pyarrow.types.is_date(kind)):
        return
    text = "SELECT {column}::text FROM {table} WHERE {column} < '0001-01-01' OR {column} >= '10000-01-01' LIMIT 1"
    found = connection.execute(sql.SQL(text).format(column=sql.Identifier(column), table=table)).fetchone()
    if found is not None:
        raise _unfit(spec, column, found[0], "no time of the years 1 to 9999", "STRING")


def _array(spec: SourceSpec, column: str, kind: pyarrow.DataType, cells: Sequence[object]) -> pyarrow.Array:
    if pyarrow.types.is_decimal(kind):
        return pyarrow.array([_decimal(spec, column, kind, cell) for cell in cells], kind)
    if pyarrow.types.is_floating(kind):
        return pyarrow.array([None if cell is None else float(cell) for cell in cells], kind)  # type: ignore[arg-type]  # a numeric may be declared so
    return pyarrow.array([bytes(cell) if isinstance(cell, memoryview) else cell for cell in cells], kind)


def _decimal(spec: SourceSpec, column: str, kind: pyarrow.DataType, value: object) -> Decimal | None:
    """A numeric of no declared scale may have more places than Arrow's decimal holds: those are rounded."""
    if not isinstance(value, Decimal):
        return None
    if not value.is_finite():
        raise _unfit(spec, column, value, "which no decimal can be", "DOUBLE")
    fitting = value if -int(value.as_tuple().exponent) <= kind.scale else value.quantize(Decimal(1).scaleb(-kind.scale), context=_ROUNDED)
    if fitting and fitting.adjusted() >= kind.precision - kind.scale:
        raise _unfit(spec, column, value, f"too long for {kind.precision - kind.scale} digits before the point", "DECIMAL(38, 0)")
    return fitting


def _unfit(spec: SourceSpec, column: str, value: object, why: str, better: str) -> TypeFault:
    hint = f"declare the table's columns with types that can hold their values, e.g. CREATE TABLE {spec.name} ({column} {better}, ...)"
    return TypeFault(f"table `{spec.name}`: the column `{column}` holds {value}, {why}", hint=hint)

"""A Postgres table as reference data: one SELECT in the driver, carried to Spark as Arrow.

The rows are those of the moment of reading. Meant for tables that fit the driver's memory.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pyarrow
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.errors import NameFault, SourceError
from penstock.schema import quote
from penstock.source import SourceSpec
from penstock.source.options import option_value

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
_FREE_DECIMAL = pyarrow.decimal128(38, 18)  # a numeric without a scale, as Spark's own reader takes it


def table_rows(spark: SparkSession, spec: SourceSpec) -> DataFrame:
    """The table with the declared columns and types, or as the database has it where none are declared."""
    rows = spark.createDataFrame(_read(spec))
    if not len(spec.schema):
        return rows
    found = {name.lower(): name for name in rows.columns}
    for column in spec.schema:
        if column.name.lower() not in found:
            raise NameFault(f"table `{spec.name}`: the database table has no column `{column.name}`", hint=f"it has: {', '.join(rows.columns)}")
    return rows.select(*(F.col(quote(found[column.name.lower()])).cast(column.type).alias(column.name) for column in spec.schema))


def _read(spec: SourceSpec) -> pyarrow.Table:
    name = sql.Identifier(*spec.options["table"].split("."))
    try:
        with _connect(spec) as connection, connection.cursor() as cursor:
            cursor.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name))
            columns = [(column.name, _arrow_type(connection, column)) for column in cursor.description or ()]
            # What has no type of its own in Spark (uuid, json, inet, arrays...) comes as the database writes it.
            items = [
                sql.SQL("{}::text").format(sql.Identifier(column)) if kind == pyarrow.string() else sql.Identifier(column) for column, kind in columns
            ]
            cursor.execute(sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(items), name))
            rows = cursor.fetchall()
    except psycopg.Error as error:
        raise SourceError(
            f"table `{spec.name}` cannot be read from Postgres: {str(error).strip().splitlines()[0]}",
            hint="check host, port, database, user and table",
        ) from None
    values = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [pyarrow.array([_fit(value, kind) for value in cells], kind) for cells, (_, kind) in zip(values, columns, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(columns))


def _connect(spec: SourceSpec) -> psycopg.Connection[tuple[Any, ...]]:
    names = {"host": "host", "port": "port", "database": "dbname", "user": "user", "password": "password", "sslmode": "sslmode"}
    given = {theirs: option_value(spec.options, "postgres", ours) for ours, theirs in names.items()}
    known: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return psycopg.connect(**known, connect_timeout=_CONNECT_SECONDS, options="-c timezone=UTC")


def _arrow_type(connection: psycopg.Connection[tuple[Any, ...]], column: psycopg.Column) -> pyarrow.DataType:
    info = connection.adapters.types.get(column.type_code)
    if info is not None and info.name == "numeric" and column.type_code == info.oid:
        return pyarrow.decimal128(column.precision, column.scale or 0) if column.precision and column.precision <= 38 else _FREE_DECIMAL
    return _ARROW.get(info.name, pyarrow.string()) if info is not None and column.type_code == info.oid else pyarrow.string()


def _fit(value: object, kind: pyarrow.DataType) -> object:
    """A numeric of no declared scale may have more places than Arrow's decimal holds; NaN has no decimal at all."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return value if -int(value.as_tuple().exponent) <= kind.scale else round(value, kind.scale)
    return bytes(value) if isinstance(value, memoryview) else value

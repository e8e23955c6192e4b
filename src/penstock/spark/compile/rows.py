"""Rows as JSON text and back, made by Spark: the one form in which rows are kept, compared, delivered and printed.

Timestamps are ISO 8601 in UTC with a fraction only where there is one, decimals are strings, no field is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    AnsiIntervalType,
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import PlanFault
from penstock.schema import Column, Schema, literal, quote

ENGINE_PREFIX = "__"
_ALL_FIELDS = "map('ignoreNullFields', 'false')"
_Expression = Callable[[str, DataType, int], str]
_WITH_PARTS = (StructType, ArrayType, MapType)


def visible(names: Sequence[str]) -> list[str]:
    """The columns that are the user's; those that start with `__` are the engine's."""
    return [name for name in names if not name.startswith(ENGINE_PREFIX)]


def as_json(columns: StructType, names: Sequence[str], labels: Sequence[str] | None = None, *, grouped: bool = False) -> str:
    """A Spark SQL expression giving one JSON object of the columns `names` (called `labels`); `grouped`: equal values are one text."""
    if not names:
        return "'{}'"
    fields = {field.name: field.dataType for field in columns.fields}
    values = [_one_zero(quote(name), fields[name]) if grouped else quote(name) for name in names]
    pairs = ", ".join(f"{literal(label)}, {_plain(value, fields[name])}" for name, value, label in zip(names, values, labels or names, strict=True))
    return f"to_json(named_struct({pairs}), {_ALL_FIELDS})"


def _one_zero(value: str, kind: DataType) -> str:
    """0.0 and -0.0 are equal, but have two texts."""
    return f"({value} + cast(0 AS {kind.simpleString()}))" if isinstance(kind, FloatType | DoubleType) else value


def value_as_json(name: str, kind: DataType) -> str:
    """The same of the fields of one column, a struct; NULL where that is NULL."""
    return f"to_json({_plain(quote(name), kind)}, {_ALL_FIELDS})"


def _plain(value: str, kind: DataType, depth: int = 0) -> str:
    """`value` with every part that JSON cannot carry exactly turned into text."""
    if not _needs_text(kind):
        return value
    match kind:
        case TimestampType():
            return f"concat(replace(cast({value} AS STRING), ' ', 'T'), 'Z')"
        case TimestampNTZType():
            return f"replace(cast({value} AS STRING), ' ', 'T')"
        case StructType() | ArrayType() | MapType():
            return _by_parts(value, kind, depth, _plain, _key)
        case _:
            return f"cast({value} AS STRING)"


def _by_parts(value: str, kind: DataType, depth: int, part: _Expression, key: _Expression) -> str:
    """`value` rebuilt from what `part` makes of each part of it, and `key` of the keys of a map."""
    match kind:
        case StructType():
            inner = ", ".join(f"{literal(field.name)}, {part(f'{value}.{quote(field.name)}', field.dataType, depth)}" for field in kind.fields)
            return f"if({value} IS NULL, NULL, named_struct({inner}))"
        case ArrayType():
            return f"transform({value}, e{depth} -> {part(f'e{depth}', kind.elementType, depth + 1)})"
        case MapType():
            inner_key, inner_value = key(f"k{depth}", kind.keyType, depth + 1), part(f"v{depth}", kind.valueType, depth + 1)
            return f"transform_keys(transform_values({value}, (k{depth}, v{depth}) -> {inner_value}), (k{depth}, v{depth}) -> {inner_key})"
        case _:
            raise AssertionError(f"has no parts: {kind}")


def _key(value: str, kind: DataType, depth: int) -> str:
    """A key of a map, which in JSON is text: bytes as base64, what has parts as JSON."""
    if isinstance(kind, BinaryType):
        return f"base64({value})"
    return f"to_json({_plain(value, kind, depth)}, {_ALL_FIELDS})" if isinstance(kind, _WITH_PARTS) else _plain(value, kind, depth)


def _needs_text(kind: DataType) -> bool:
    match kind:
        case StructType():
            return any(_needs_text(field.dataType) for field in kind.fields)
        case ArrayType():
            return _needs_text(kind.elementType)
        case MapType():
            return _needs_text(kind.valueType) or _needs_text(kind.keyType) or isinstance(kind.keyType, (BinaryType, *_WITH_PARTS))
        case _:
            return isinstance(kind, TimestampType | TimestampNTZType | DateType | DecimalType | AnsiIntervalType)


def check_names(columns: StructType, view: str) -> None:
    """A JSON row needs distinct names."""
    seen: set[str] = set()
    for field in columns.fields:
        if field.name.lower() in seen:
            raise PlanFault(f"view `{view}` has two columns named `{field.name}`", hint="give one of them another name with AS")
        seen.add(field.name.lower())


def ddl(columns: StructType, names: Sequence[str] | None = None) -> str:
    """The columns, or those called `names`, in Spark's DDL."""
    return ", ".join(f"{quote(field.name)} {_type(field.dataType)}" for field in columns.fields if names is None or field.name in names)


def _type(kind: DataType) -> str:
    """A type's text with field names quoted, so that any name survives."""
    match kind:
        case StructType():
            return f"struct<{', '.join(f'{quote(field.name)}: {_type(field.dataType)}' for field in kind.fields)}>"
        case ArrayType():
            return f"array<{_type(kind.elementType)}>"
        case MapType():
            return f"map<{_type(kind.keyType)}, {_type(kind.valueType)}>"
        case NullType():
            return "string"  # a column of nothing but NULL has no type that can be kept
        case _:
            return kind.simpleString()


@lru_cache(maxsize=1000)
def columns_of(columns_ddl: str) -> StructType:
    """DDL as Spark's own columns; Spark itself is asked, so each text only once."""
    found = StructType.fromDDL(columns_ddl)
    assert isinstance(found, StructType)
    return found


def schema_of(columns: StructType) -> Schema:
    """Spark's columns as Penstock's."""
    return Schema(tuple(Column(field.name, _type(field.dataType)) for field in columns.fields))


def from_json(spark: SparkSession, rows: Sequence[str], columns_ddl: str, *, as_they_are: bool = False) -> DataFrame:
    """A DataFrame of kept rows, typed again; `as_they_are`: with their texts too, as `__line`."""
    lines = spark.createDataFrame(pa.table({"row": pa.array(rows, pa.string())}))
    columns = columns_of(columns_ddl)
    parsed = lines.select(F.col("row").alias("__line"), F.from_json("row", ddl(_struct(columns))).alias("r"))
    return parsed.selectExpr(*(["__line"] if as_they_are else []), *[_restored(field) for field in columns.fields])


def _restored(field: StructField) -> str:
    return f"{_typed(f'r.{quote(field.name)}', field.dataType)} AS {quote(field.name)}"


def _typed(value: str, kind: DataType, depth: int = 0) -> str:
    """A value of the type that `_carried` gives, typed as it was."""
    if _carried(kind) == kind:
        return value
    if isinstance(kind, _WITH_PARTS):
        return _by_parts(value, kind, depth, _typed, _key_typed)
    return f"cast({value} AS {_type(kind)})"


def _key_typed(value: str, kind: DataType, depth: int) -> str:
    if isinstance(kind, BinaryType):
        return f"unbase64({value})"
    if isinstance(kind, _WITH_PARTS):
        return _typed(f"from_json({value}, {literal(_type(_carried(kind)))})", kind, depth)
    return f"cast({value} AS {_type(kind)})"


def _carried(kind: DataType) -> DataType:
    """The type as from_json can read it: keys of maps, and intervals, as text."""
    match kind:
        case StructType():
            return _struct(kind)
        case ArrayType():
            return ArrayType(_carried(kind.elementType))
        case MapType():
            return MapType(StringType(), _carried(kind.valueType))
        case _:
            return StringType() if isinstance(kind, AnsiIntervalType) else kind


def _struct(kind: StructType) -> StructType:
    return StructType([StructField(field.name, _carried(field.dataType)) for field in kind.fields])

"""Times that are written as numbers since 1970: read as numbers, then made times of, in nested values too."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from penstock.formats import EPOCHS
from penstock.schema import Schema, quote


def with_times(rows: DataFrame, schema: Schema, options: Mapping[str, str]) -> DataFrame:
    """The rows with their declared types; they have them already where times are written as texts."""
    chosen = EPOCHS.get(options.get("timestamp_format", ""))
    if chosen is None:
        return rows
    columns = StructType.fromDDL(schema.ddl)
    assert isinstance(columns, StructType)
    declared = {field.name.lower(): field.dataType for field in columns.fields}
    kinds = [(name, declared.get(name.lower())) for name in rows.columns]
    return rows.select(
        *(
            F.col(quote(name)) if kind is None or not _has_time(kind) else _as_time(F.col(quote(name)), kind, chosen[1]).alias(name)
            for name, kind in kinds
        )
    )


def _has_time(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_has_time(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_time(kind.elementType)
    return isinstance(kind, TimestampType) or (isinstance(kind, MapType) and _has_time(kind.valueType))


def _as_time(value: Column, kind: DataType, micros: int | Decimal) -> Column:
    if not _has_time(kind):
        return value
    if isinstance(kind, StructType):
        fields = (_as_time(value[field.name], field.dataType, micros).alias(field.name) for field in kind.fields)
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda one: _as_time(one, kind.elementType, micros))
    if isinstance(kind, MapType):
        return F.transform_values(value, lambda _, one: _as_time(one, kind.valueType, micros))
    return F.timestamp_micros((value * F.lit(micros)).cast("bigint"))

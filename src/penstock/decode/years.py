"""Times beyond the years 1 to 9999: Spark computes with them, but hardly anything else can hold one.

A number of milliseconds, where seconds are expected, is the year 55840. Taken as a good row it would stop a sink for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DateType, MapType, StructType, TimestampNTZType, TimestampType

_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
_BOUNDS: dict[type[DataType], tuple[str, str]] = {
    TimestampType: (f"TIMESTAMP_LTZ '{_FIRST}Z'", f"TIMESTAMP_LTZ '{_LAST}Z'"),
    TimestampNTZType: (f"TIMESTAMP_NTZ '{_FIRST}'", f"TIMESTAMP_NTZ '{_LAST}'"),
    DateType: ("DATE '0001-01-01'", "DATE '9999-12-31'"),
}


def beyond_years(value: Column, kind: DataType) -> Column | None:
    """Whether a value is such a time, or has one in it; None where its type has no times."""
    if type(kind) in _BOUNDS:
        first, last = _BOUNDS[type(kind)]
        return (value < F.expr(first)) | (value > F.expr(last))
    if isinstance(kind, StructType):
        return _any(beyond_years(value[field.name], field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _exists(value, kind.elementType)
    if isinstance(kind, MapType):
        return _any((_exists(F.map_keys(value), kind.keyType), _exists(F.map_values(value), kind.valueType)))
    return None


def _exists(values: Column, kind: DataType) -> Column | None:
    if beyond_years(F.lit(None), kind) is None:
        return None
    return F.exists(values, lambda one: F.coalesce(beyond_years(one, kind), F.lit(False)))  # type: ignore[arg-type]


def _any(conditions: Iterable[Column | None]) -> Column | None:
    found = [condition for condition in conditions if condition is not None]
    return reduce(or_, found) if found else None

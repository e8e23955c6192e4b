"""The columns of a parquet file, which it names itself, as they are declared."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from penstock.errors import SourceError
from penstock.formats import NANOS
from penstock.source.infer.json_records import quoted
from penstock.source.infer.types import Kind

_TYPES: tuple[tuple[pa.DataType, str], ...] = (
    (pa.bool_(), "BOOLEAN"),
    (pa.int8(), "TINYINT"),
    (pa.int16(), "SMALLINT"),
    (pa.int32(), "INT"),
    (pa.int64(), "BIGINT"),
    (pa.uint8(), "SMALLINT"),
    (pa.uint16(), "INT"),
    (pa.uint32(), "BIGINT"),
    (pa.uint64(), "DECIMAL(20,0)"),
    (pa.float16(), "FLOAT"),
    (pa.float32(), "FLOAT"),
    (pa.float64(), "DOUBLE"),
    (pa.date32(), "DATE"),
)


def parquet_columns(path: Path) -> tuple[list[tuple[str, Kind]], list[str]]:
    """The columns, and what was left out and why; SourceError where the file is none."""
    try:
        schema = pyarrow.parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{path} is not a readable parquet file: {str(error).splitlines()[0]}") from error
    found = [(field.name, _kind(field.type)) for field in schema if not field.name.startswith("__")]
    left = [f"`{name}` is left out: Spark has no type for it" for name, kind in found if kind is None]
    return [(name, kind) for name, kind in found if kind is not None], left


def _kind(kind: pa.DataType) -> Kind | None:
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return Kind("TIMESTAMP", NANOS, otherwise="BIGINT")
    found = _type(kind)
    return Kind(found, otherwise=found) if found else None


def _type(kind: pa.DataType) -> str | None:
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return None if kind.unit == "ns" else "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "STRING"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "BINARY"
    return _nested(kind) if pa.types.is_nested(kind) else next((name for known, name in _TYPES if kind == known), None)


def _nested(kind: pa.DataType) -> str | None:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _type(kind.value_type)
        return inner and f"ARRAY<{inner}>"
    if pa.types.is_map(kind):
        key, value = _type(kind.key_type), _type(kind.item_type)
        return f"MAP<{key}, {value}>" if key and value else None
    if pa.types.is_struct(kind):
        fields = [(field.name, _type(field.type)) for field in kind]
        return "STRUCT<" + ", ".join(f"{quoted(name)}: {one}" for name, one in fields) + ">" if all(one for _, one in fields) else None
    return None

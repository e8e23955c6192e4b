"""Spark's types and Arrow's, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.errors import TypeFault
from penstock.schema import quote
from penstock.sink.arrow_rows import SIMPLE_TYPES

# Spark has no unsigned numbers: the next larger ones hold them.
_WIDER: dict[pa.DataType, str] = {pa.uint8(): "smallint", pa.uint16(): "int", pa.uint32(): "bigint", pa.uint64(): "decimal(20,0)"}

# What Arrow has several forms of and Spark one.
_ALIKE: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_date, "date"),
    (pa.types.is_float16, "float"),
    *((is_text, "string") for is_text in (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)),
    *((is_bytes, "binary") for is_bytes in (pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)),
)


def spark_type(kind: Any, column: str) -> str:
    """The type of Spark's that holds an Arrow type; TypeFault where there is none. A time without a zone is taken for UTC."""
    types = pa.types
    if types.is_dictionary(kind):
        return spark_type(kind.value_type, column)
    if types.is_decimal(kind) and kind.precision <= 38:
        return f"decimal({kind.precision},{max(0, kind.scale)})"
    if types.is_struct(kind):
        return f"struct<{', '.join(f'{quote(field.name)}: {spark_type(field.type, column)}' for field in kind)}>"
    if types.is_map(kind):
        return f"map<{spark_type(kind.key_type, column)}, {spark_type(kind.item_type, column)}>"
    if any(is_list(kind) for is_list in (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)):
        return f"array<{spark_type(kind.value_type, column)}>"
    known = _WIDER.get(kind) or next((name for is_kind, name in _ALIKE if is_kind(kind)), None)
    known = known or next((name for name, same in SIMPLE_TYPES.items() if same == kind), None)
    if known is None:
        raise TypeFault(f"column `{column}` is of type {kind}, which Spark does not have", hint="turn it into a number, a time or text first")
    return known

"""The rows of a view as columns of Arrow, with the view's own types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.schema import Schema, Type, parse_type
from penstock.values import reader

SIMPLE_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "void": pa.null(),
}


def arrow_schema(schema: Schema) -> pa.Schema:
    """The columns of a view as Arrow's; what has no type there (intervals, variants) is text."""
    return pa.schema([(column.name, _arrow_type(parse_type(column.type))) for column in schema])


def _arrow_type(kind: Type) -> pa.DataType:
    match kind.name:
        case "decimal":
            return pa.decimal128(*kind.arguments)
        case "array":
            return pa.list_(_arrow_type(kind.fields[0][1]))
        case "map":
            return pa.map_(_arrow_type(kind.fields[0][1]), _arrow_type(kind.fields[1][1]))
        case "struct":
            return pa.struct([(name, _arrow_type(part)) for name, part in kind.fields])
        case name:
            return SIMPLE_TYPES.get(name, pa.string())


def arrow_table(schema: Schema, rows: Sequence[str], ops: Sequence[str] | None = None) -> pa.Table:
    """Rows of JSON as a table; `ops` becomes a first column `_op`."""
    read = reader(schema, for_arrow=True)
    table = pa.Table.from_pylist([read(row) for row in rows], schema=arrow_schema(schema))
    return table if ops is None else table.add_column(0, "_op", pa.array(ops, pa.string()))

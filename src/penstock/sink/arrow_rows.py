"""Rows of JSON as an Arrow table of the view's own types."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.schema import Schema
from penstock.sink.ddl import Type, parse_type

_PLAIN: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
_READ: dict[str, Callable[[Any], Any]] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    "binary": base64.b64decode,
    "float": float,
    "double": float,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "variant": lambda value: json.dumps(value, ensure_ascii=False),
}


def arrow_type(kind: Type) -> pa.DataType:
    """Arrow's type for one of Spark's; text for what Arrow has no equal of."""
    match kind.name:
        case "decimal":
            return pa.decimal128(*kind.arguments)
        case "struct":
            return pa.struct([pa.field(name, arrow_type(part)) for name, part in kind.fields])
        case "array":
            return pa.list_(arrow_type(kind.fields[0][1]))
        case "map":
            return pa.map_(arrow_type(kind.fields[0][1]), arrow_type(kind.fields[1][1]))
        case _:
            return _PLAIN.get(kind.name, pa.string())


def arrow_table(schema: Schema, rows: Sequence[str], ops: Sequence[str] | None = None) -> pa.Table:
    """The rows with the view's columns; `ops` becomes a first column `_op`."""
    decoded = [json.loads(row) for row in rows]
    names, columns = (["_op"], [pa.array(ops, pa.string())]) if ops is not None else ([], [])
    for column in schema:
        kind = parse_type(column.type)
        read = _reader(kind)
        values = [None if (value := row.get(column.name)) is None else read(value) for row in decoded]
        names.append(column.name)
        columns.append(pa.array(values, arrow_type(kind)))
    return pa.table(columns, names=names)


def _reader(kind: Type) -> Callable[[Any], Any]:
    """What makes a Python value of a JSON one that is not null."""
    if kind.name == "struct":
        parts = [(name, _reader(part)) for name, part in kind.fields]
        return lambda value: {name: None if value.get(name) is None else read(value[name]) for name, read in parts}
    if kind.name == "array":
        element = _reader(kind.fields[0][1])
        return lambda value: [None if one is None else element(one) for one in value]
    if kind.name == "map":
        key, inner = _reader(kind.fields[0][1]), _reader(kind.fields[1][1])
        return lambda value: [(key(name), None if one is None else inner(one)) for name, one in value.items()]
    return _READ.get(kind.name, _same)


def _same(value: Any) -> Any:
    return value

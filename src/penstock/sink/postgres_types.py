"""Spark's types in Postgres, and how Postgres itself decodes a row's JSON into them."""

from __future__ import annotations

import re

from psycopg import sql

from penstock.schema import Column
from penstock.sink.ddl import Type, parse_type

_PLAIN = {
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "boolean": "boolean",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "array": "jsonb",
    "map": "jsonb",
    "struct": "jsonb",
    "variant": "jsonb",
}
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def postgres_type(kind: Type) -> str:
    """The type of a column that holds `kind`; text for what Postgres has no equal of."""
    if kind.name == "decimal":
        return "numeric({}, {})".format(*kind.arguments)
    return _PLAIN.get(kind.name, "text")


def decoded(column: Column, row: sql.Composable, into: str | None = None) -> sql.Composed:
    """The expression that takes a column's value out of `row`, a jsonb; `into` is the type of the column that receives it."""
    target = postgres_type(parse_type(column.type))
    name = sql.Literal(column.name)
    if target == "jsonb":
        value = sql.SQL("nullif({}->{}, 'null'::jsonb)").format(row, name)
    elif target == "bytea":
        value = sql.SQL("decode({}->>{}, 'base64')").format(row, name)
    else:
        value = sql.SQL("({}->>{})::{}").format(row, name, sql.SQL(target))
    return value if into in (None, target) else sql.SQL("({})::{}").format(value, sql.SQL(into or target))


def without_nul(line: str) -> str:
    r"""The row without the character NUL (`\u0000` in JSON), the one character that a text in Postgres cannot hold."""
    return _NUL.sub(r"\1", line) if "\\u0000" in line else line

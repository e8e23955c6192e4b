"""Spark's types in Postgres, and how Postgres itself decodes a row's JSON into them."""

from __future__ import annotations

import re

from psycopg import sql

from penstock.schema import Column, Type, parse_type

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
_WIDER = {  # types that hold every value of a type exactly, besides its own, text and, for numbers, numeric
    "tinyint": {"integer", "bigint", "real", "double precision"},
    "smallint": {"integer", "bigint", "real", "double precision"},
    "int": {"bigint", "double precision"},
    "float": {"double precision"},
    "boolean": {"integer"},
    "date": {"timestamp without time zone", "timestamp with time zone"},
    "timestamp": {"timestamp without time zone"},
    "timestamp_ntz": {"timestamp with time zone"},
}
_READ_FROM_TEXT = {"uuid", "json", "jsonb", "enum"}  # they take a text as it is, or fail; none is changed
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_FULL_DIGITS = {"smallint": 4, "integer": 9, "bigint": 18}


def postgres_type(kind: Type) -> str:
    """The type of a column that holds `kind`; text for what Postgres has no equal of."""
    if kind.name == "decimal":
        return "numeric({},{})".format(*kind.arguments)
    return _PLAIN.get(kind.name, "text")


def holds(column: str, kind: Type) -> bool:
    """Whether a column of type `column`, as Postgres prints it, takes every value of `kind` as it is, or fails; never changes one."""
    own = postgres_type(kind)
    if column == own or own == "bytea":
        return column == own
    if column in ("text", "character varying"):
        return True
    if own == "text":
        return column in _READ_FROM_TEXT or column.startswith("character varying(")
    if own == "jsonb":
        return column == "json"
    if kind.name in _DIGITS or kind.name == "decimal":
        precision, scale = kind.arguments if kind.name == "decimal" else (_DIGITS[kind.name], 0)
        size = re.fullmatch(r"numeric\((\d+),(-?\d+)\)", column)
        if size is not None:
            return int(size[1]) - int(size[2]) >= precision - scale and int(size[2]) >= scale
        if column == "numeric" or (scale == 0 and precision <= _FULL_DIGITS.get(column, -1)):
            return True
    return column in _WIDER.get(kind.name, ())


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
    if into is None or into == target or into.startswith("character varying("):  # a cast to that would cut a text; what is assigned is refused
        return value
    return sql.SQL("({})::{}").format(value, sql.SQL(into))

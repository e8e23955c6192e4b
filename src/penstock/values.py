"""A row's JSON as Python values of the view's types.

A timestamp is a datetime in UTC, a decimal a Decimal, bytes are bytes, a struct is a dict. What Python cannot hold stays text: intervals,
and times beyond the year 9999.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from penstock.schema import Schema, Type, parse_type

Row = dict[str, Any]
_Convert = Callable[[Any], Any]


def reader(schema: Schema, *, for_arrow: bool = False) -> Callable[[str], Row]:
    """Reads one row of JSON; `for_arrow`: a map is a list of its pairs, a variant its JSON text."""
    columns = [(column.name, _convert(parse_type(column.type), for_arrow)) for column in schema]

    def read(line: str) -> Row:
        found = json.loads(line)
        return {name: None if (value := found.get(name)) is None else convert(value) for name, convert in columns}

    return read


def key_of(row: Mapping[str, Any], key: tuple[str, ...] | None) -> Row | None:
    """The columns of a row that are its key."""
    return None if key is None else {name: row[name] for name in key if name in row}


def _convert(kind: Type, for_arrow: bool) -> _Convert:
    match kind.name:
        case "variant" if for_arrow:
            return lambda value: json.dumps(value, ensure_ascii=False)
        case "float" | "double":
            return float
        case "decimal":
            return Decimal
        case "timestamp" | "timestamp_ntz":
            return _moment
        case "date":
            return _day
        case "binary":
            return base64.b64decode
        case "array":
            return _list(_convert(kind.fields[0][1], for_arrow))
        case "struct":
            return _struct({name: _convert(part, for_arrow) for name, part in kind.fields})
        case "map":
            return _map(_key(kind.fields[0][1], for_arrow), _convert(kind.fields[1][1], for_arrow), for_arrow)
        case _:
            return _same


def _same(value: Any) -> Any:
    return value


def _moment(value: str) -> datetime | str:
    with suppress(ValueError):
        return datetime.fromisoformat(value)
    return value


def _day(value: str) -> date | str:
    with suppress(ValueError):
        return date.fromisoformat(value)
    return value


def _list(convert: _Convert) -> _Convert:
    return lambda values: [None if value is None else convert(value) for value in values]


def _struct(fields: dict[str, _Convert]) -> _Convert:
    return lambda found: {name: None if (value := found.get(name)) is None else convert(value) for name, convert in fields.items()}


def _map(key: _Convert, convert: _Convert, for_arrow: bool) -> _Convert:
    def read(found: dict[str, Any]) -> Any:
        both = [(key(name), None if value is None else convert(value)) for name, value in found.items()]
        return both if for_arrow else {_hashable(name): value for name, value in both}

    return read


def _key(kind: Type, for_arrow: bool) -> _Convert:
    """Keys of a map are text in JSON, whatever their type."""
    convert = _convert(kind, for_arrow)
    if kind.name in ("struct", "array", "map"):
        return lambda text: convert(json.loads(text))
    if kind.name == "boolean":
        return lambda text: text == "true"
    return int if kind.name in ("tinyint", "smallint", "int", "bigint") else convert


def _hashable(key: Any) -> Any:
    if isinstance(key, dict):
        return tuple(_hashable(value) for value in key.values())
    return tuple(_hashable(value) for value in key) if isinstance(key, list) else key

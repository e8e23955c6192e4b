"""Connectors as Python values: what `WITH (connector = ..., ...)` is in SQL.

Only what the user gives becomes an option; defaults and checks belong to the connector itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import OptionFault
from penstock.plan.model.declare import Secret

Value: TypeAlias = "str | int | float | bool | Secret | Sequence[str] | None"


@dataclass(frozen=True)
class Connector:
    """The options of one source or sink, written as in SQL."""

    options: Mapping[str, str | Secret] = field(repr=False)


def secret(name: str) -> Secret:
    """A reference to a secret; its value is read when the app runs and never shown."""
    if not isinstance(name, str) or not name:
        raise OptionFault(f"the name of a secret is not text: {name!r}", hint='e.g. ps.secret("pg")')
    return Secret(name)


def option_texts(options: Mapping[str, Value]) -> dict[str, str | Secret]:
    """Python values as option texts: true/false in lower case, lists with commas, None left out."""
    return {name.lower(): _text(name, value) for name, value in options.items() if value is not None}


def _text(name: str, value: Value) -> str | Secret:
    if isinstance(value, Secret | str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return ",".join(value)
    raise OptionFault(f"the option `{name}` is a {type(value).__name__}", hint="give text, a number, True or False, or ps.secret('name')")


def _connector(kind: str, given: Mapping[str, Value], more: Mapping[str, Value]) -> Connector:
    return Connector({"connector": kind, **option_texts({**given, **more})})


def Kafka(servers: str | Sequence[str] | None = None, *, topic: str | None = None, format: str | None = None, **options: Value) -> Connector:
    """A Kafka topic, to read from or to deliver to."""
    return _connector("kafka", {"servers": servers, "topic": topic, "format": format}, options)


def Files(path: str, *, format: str | None = None, header: bool | None = None, tail: bool | None = None, **options: Value) -> Connector:
    """A file, a folder or a glob; relative to the app."""
    return _connector("files", {"path": path, "format": format, "header": header, "tail": tail}, options)


def Socket(host: str, port: int, *, format: str | None = None, **options: Value) -> Connector:
    """Lines from a TCP server."""
    return _connector("socket", {"host": host, "port": port, "format": format}, options)


def Http(*, format: str | None = None, **options: Value) -> Connector:
    """Lines that are sent to `penstock serve` by POST /v1/streams/NAME/rows."""
    return _connector("http", {"format": format}, options)


def Generator(*, columns: Mapping[str, str] | None = None, **options: Value) -> Connector:
    """Rows made up from a seed; `columns` gives an expression for each column."""
    made = _connector("generator", {}, options)
    if columns is not None and not (isinstance(columns, Mapping) and all(isinstance(text, str) for pair in columns.items() for text in pair)):
        raise OptionFault(f"the columns of a generator are not expressions: {columns!r}", hint='e.g. columns={"amount": "r1 * 100"}')
    return Connector({**made.options, **(columns or {})})


def Postgres(host: str | None = None, *, table: str | None = None, **options: Value) -> Connector:
    """A table of a Postgres database."""
    return _connector("postgres", {"host": host, "table": table}, options)


def Sqlite(path: str, *, table: str | None = None, **options: Value) -> Connector:
    """A table of a SQLite file, to deliver to; the path is relative to the app."""
    return _connector("sqlite", {"path": path, "table": table}, options)


def Console(**options: Value) -> Connector:
    """Changes printed as they come."""
    return _connector("console", {}, options)


def Callback(callback: str, **options: Value) -> Connector:
    """A Python function of the app, named `module:function`, called for each epoch."""
    return _connector("callback", {"callback": callback}, options)

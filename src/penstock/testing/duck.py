"""DuckDB as a second opinion: streams of JSON files as tables, a query over them, its rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

_COLUMN = re.compile(r"(\w+) (BIGINT|INT|STRING|DOUBLE|BOOLEAN|DATE|TIMESTAMP|DECIMAL\([^)]*\))")
_STATEMENT = re.compile(r"CREATE (STREAM|TABLE) (\w+) \((.*?)\)\s+WITH \((.*?)\);", re.DOTALL)
_TYPES = {"STRING": "VARCHAR", "INT": "INTEGER"}


def load(declarations: str, files: Mapping[str, list[Path]]) -> duckdb.DuckDBPyConnection:
    """A database with one table for each stream and table declared in the SQL, filled from its files."""
    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET TimeZone = 'UTC'")
    for kind, name, body, _ in _STATEMENT.findall(declarations):
        columns = {column: _TYPES.get(type_, type_) for column, type_ in _COLUMN.findall(body.partition("WATERMARK")[0])}
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in columns.items())})")
        listed = ", ".join(f"'{path}'" for path in files[name])
        reader = "read_json" if kind == "STREAM" else "read_csv"
        form = "format = 'newline_delimited'" if kind == "STREAM" else "header = true"
        connection.execute(f"INSERT INTO {name} SELECT * FROM {reader}([{listed}], {form}, columns = {columns})")
    return connection


def ask(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = connection.execute(sql)
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

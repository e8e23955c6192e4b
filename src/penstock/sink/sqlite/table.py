"""The table that a SQLite sink writes: its columns, and the statements that bring it from one epoch to the next.

Numbers are numbers. So is a decimal that a double holds as it is, which one of at most 15 digits always is; a column of longer ones has
no type, so that SQLite rounds none: what a double does not hold is text there. Times and nested values are text.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from penstock.change import Additions, Change
from penstock.crash_points import crash_point
from penstock.errors import RefusalError
from penstock.schema import Column, Type, parse_type
from penstock.sink.spec import SinkSpec

_PLAIN = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "INTEGER"),
    **dict.fromkeys(("float", "double"), "REAL"),
    "boolean": "BOOLEAN",
    "binary": "BLOB",
}
_EXACT_DIGITS = 15
_GONE, _COPIES = "temp.penstock_gone", "__copies"
_TIMES = ("date", "timestamp", "timestamp_ntz")
_SMALL = ("tinyint", "smallint", "int")


def sqlite_type(kind: Type) -> str:
    """The declared type of a column that holds `kind` exactly."""
    if kind.name == "decimal":
        return "DECIMAL({},{})".format(*kind.arguments) if kind.arguments[0] <= _EXACT_DIGITS else ""
    return _PLAIN.get(kind.name, "TEXT")


def affinity(declared: str) -> str:
    """What SQLite makes of values in a column of a declared type, by its own five rules."""
    name = declared.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "NONE"
    return "REAL" if any(part in name for part in ("REAL", "FLOA", "DOUB")) else "NUMERIC"


@dataclass(frozen=True)
class Target:
    """A table with the columns that are written and, for a keyed view, those of its key."""

    name: str
    columns: tuple[Column, ...]
    readers: tuple[Callable[[Any], Any], ...]
    key: tuple[str, ...] | None

    def put(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
        """Apply the changes of one epoch."""
        if isinstance(changes, Additions):
            self._insert(connection, changes.rows)
        elif self.key is None:
            self._put_bag(connection, changes)
        elif not self.key:  # a view of one row
            if changes:
                self.fill(connection, [changes[-1].row] if changes[-1].op == "+" else [])
        else:
            self._put_keys(connection, list({change.key: change for change in changes}.values()))

    def fill(self, connection: sqlite3.Connection, rows: Sequence[str]) -> None:
        """Replace the table's content, of which all is this sink's own."""
        connection.execute(f"DELETE FROM {quoted(self.name)}")
        self._insert(connection, rows)

    def _put_bag(self, connection: sqlite3.Connection, changes: Iterable[Change]) -> None:
        net: Counter[str] = Counter()
        for change in changes:
            net[change.row] += 1 if change.op == "+" else -1
        gone = [row for row, count in net.items() if count < 0]
        if gone:
            self._remove_copies(connection, ([-net[row], *values] for row, values in zip(gone, self._values(gone), strict=True)))
        self._insert(connection, [row for row, count in net.items() for _ in range(count)])

    def _remove_copies(self, connection: sqlite3.Connection, gone: Iterable[Sequence[Any]]) -> None:
        """Delete exactly as many equal rows as are taken back: one pass over the table, which looks them up in an index that SQLite makes."""
        names = ", ".join(quoted(column.name) for column in self.columns)
        same = " AND ".join(f"t.{quoted(column.name)} IS g.{quoted(column.name)}" for column in self.columns)
        connection.execute(f"CREATE TEMP TABLE {_GONE} AS SELECT 0 AS {_COPIES}, {names} FROM {quoted(self.name)} WHERE 0")
        connection.executemany(f"INSERT INTO {_GONE} VALUES ({', '.join('?' * (len(self.columns) + 1))})", gone)
        connection.execute(
            f"DELETE FROM {quoted(self.name)} WHERE rowid IN (SELECT place FROM (SELECT t.rowid AS place, g.{_COPIES} AS copies,"
            f" row_number() OVER (PARTITION BY g.rowid ORDER BY t.rowid) AS copy FROM {quoted(self.name)} t CROSS JOIN {_GONE} g ON {same})"
            " WHERE copy <= copies)"
        )
        connection.execute(f"DROP TABLE {_GONE}")

    def _put_keys(self, connection: sqlite3.Connection, changes: Sequence[Change]) -> None:
        """`IS` finds a null, which no unique index of SQLite takes for equal to another."""
        assert self.key is not None
        places = [next(place for place, column in enumerate(self.columns) if column.name.lower() == name.lower()) for name in self.key]
        same = " AND ".join(f"{quoted(self.columns[place].name)} IS ?" for place in places)
        sets = ", ".join(f"{quoted(column.name)} = ?" for column in self.columns)
        into, middle = _insertion(self.name, self.columns), len(changes) // 2
        for number, (change, values) in enumerate(zip(changes, self._values([change.row for change in changes]), strict=True)):
            if number == middle:
                crash_point("sink.mid-rows")
            key = [values[place] for place in places]
            if change.op == "-":
                connection.execute(f"DELETE FROM {quoted(self.name)} WHERE {same}", key)
            elif not connection.execute(f"UPDATE {quoted(self.name)} SET {sets} WHERE {same}", [*values, *key]).rowcount:
                connection.execute(into, values)

    def _insert(self, connection: sqlite3.Connection, rows: Sequence[str]) -> None:
        middle = len(rows) // 2
        connection.executemany(_insertion(self.name, self.columns), self._values(rows[:middle]))
        crash_point("sink.mid-rows")
        connection.executemany(_insertion(self.name, self.columns), self._values(rows[middle:]))

    def _values(self, rows: Iterable[str]) -> Iterable[list[Any]]:
        readers = list(zip((column.name for column in self.columns), self.readers, strict=True))
        for row in rows:
            values = json.loads(row)
            yield [None if (value := values.get(name)) is None else read(value) for name, read in readers]


def table_text(spec: SinkSpec) -> str:
    """The statement that makes the table. A key is unique; where it holds a null, which SQLite counts apart, the sink sees to that."""
    parts = [f"{quoted(column.name)} {sqlite_type(parse_type(column.type))}" for column in spec.schema]
    if spec.key and not spec.complete:
        parts.append(f"UNIQUE ({', '.join(quoted(name) for name in spec.key)})")
    return f"CREATE TABLE {quoted(spec.options['table'])} ({', '.join(parts)})"


def text_of(connection: sqlite3.Connection, table: str) -> str | None:
    """The statement that made a table or a view; None where there is none of that name."""
    found = connection.execute("SELECT sql FROM sqlite_master WHERE lower(name) = lower(?) AND type IN ('table', 'view')", (table,)).fetchone()
    return None if found is None else str(found[0])


def find_target(connection: sqlite3.Connection, spec: SinkSpec) -> Target:
    """The sink's table, which is there. RefusalError when it cannot take the view's rows as they are."""
    table = spec.options["table"]
    declared = {str(name).lower(): (str(name), str(kind)) for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({quoted(table)})")}
    missing = [f"{column.name} {sqlite_type(parse_type(column.type))}" for column in spec.schema if column.name.lower() not in declared]
    if missing:
        raise RefusalError(
            f"sink `{spec.name}`: table {table} lacks columns of view `{spec.view}`: {', '.join(missing)}",
            hint="add them, or let Penstock make a table of another name",
        )
    readers = []
    for column in spec.schema:
        name, kind = declared[column.name.lower()]
        readers.append(_reader(parse_type(column.type), affinity(kind)))
        if not _holds(affinity(kind), parse_type(column.type)):
            wanted = sqlite_type(parse_type(column.type)) or "without a type"
            raise RefusalError(
                f"sink `{spec.name}`: table {table} cannot hold every value of view `{spec.view}` as it is: {name} is {kind} and should be {wanted}",
                hint="let Penstock make a table of another name, or cast the column in the view",
            )
    return Target(table, spec.schema.columns, tuple(readers), None if spec.complete else spec.key)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _holds(column: str, kind: Type) -> bool:
    """Whether a column of an affinity leaves every value of `kind` as it is; DATE and DATETIME are numeric to SQLite, and take text."""
    own = affinity(sqlite_type(kind))
    if column in (own, "NONE"):
        return True
    match column:
        case "INTEGER" | "NUMERIC":
            return own in ("INTEGER", "NUMERIC", "REAL") or kind.name in _TIMES
        case "REAL":
            return own == "NUMERIC" or kind.name in _SMALL
        case _:
            return own == "INTEGER" or kind.name == "decimal"


def _insertion(table: str, columns: Sequence[Column]) -> str:
    return f"INSERT INTO {quoted(table)} ({', '.join(quoted(column.name) for column in columns)}) VALUES ({', '.join('?' * len(columns))})"


def _reader(kind: Type, into: str) -> Callable[[Any], Any]:
    """What makes a value for a column of an affinity of a JSON one that is not null."""
    if kind.name == "decimal":
        return _number if into == "NONE" else _same  # elsewhere SQLite itself makes what it should be of the text
    if kind.name in ("array", "map", "struct", "variant"):
        return lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _READ.get(kind.name, _same)


def _real(value: Any) -> Any:
    """NaN stays a text: SQLite would make a null of it."""
    return value if value == "NaN" else float(value)


def _number(value: str) -> Any:
    """A decimal as the number that it is, or as its text where no number of SQLite is just that."""
    exact = Decimal(value)
    whole = int(exact)
    if whole == exact:
        return whole if abs(whole) < 2**63 else value
    return float(value) if Decimal(repr(float(value))) == exact else value


def _same(value: Any) -> Any:
    return value


_READ: dict[str, Callable[[Any], Any]] = {"float": _real, "double": _real, "binary": base64.b64decode, "boolean": int}

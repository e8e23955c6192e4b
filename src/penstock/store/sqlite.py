"""The embedded results store: one SQLite file in the state folder.

One writer at a time (SQLite's own rule), any number of readers, each on its own snapshot. A commit survives the end of the
process; after a loss of power the last ones may be missing, whole, never half (write-ahead log, synchronous = NORMAL).
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from penstock.errors import OutageError, PenstockError, StateError
from penstock.schema import Column, columns, parse_type
from penstock.store.layout import BATCH, LAYOUT, Session
from penstock.store.relational import RelationalStore

log = logging.getLogger("penstock.sink")
_TYPES = {"serial": "INTEGER PRIMARY KEY AUTOINCREMENT", "integer": "INTEGER", "bytes": "BLOB", "text": "TEXT", "brief": ""}
_SILENT_S, _WAIT_S = 5.0, 60.0
_IDLE_READERS = 4
_WRITER_CACHE_KB, _READER_CACHE_KB = 65_536, 4_096
_ROWS_AT_ONCE = 64  # one statement for many rows loads three times as fast as one for each


class SqliteStore(RelationalStore):
    """The results store in the file `path`, made if absent."""

    def __init__(self, path: Path) -> None:
        super().__init__(_SqliteDatabase(path))


class _SqliteSession:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, *values: object) -> int:
        return self._connection.execute(sql, values).rowcount

    def fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def stream(self, sql: str, *values: object) -> Generator[tuple[Any, ...], None, None]:
        with closing(self._connection.execute(sql, values)) as cursor:
            yield from cursor

    def load(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
        width = len(columns)
        into = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
        one = f"({', '.join('?' * width)})"
        flat = itertools.chain.from_iterable(rows)
        rest: list[object] = []

        def full_loads() -> Iterator[list[object]]:
            while len(values := list(itertools.islice(flat, width * _ROWS_AT_ONCE))) == width * _ROWS_AT_ONCE:
                yield values
            rest.extend(values)

        self._connection.executemany(into + ", ".join([one] * _ROWS_AT_ONCE), full_loads())
        if rest:
            self._connection.execute(into + ", ".join([one] * (len(rest) // width)), rest)

    def load_texts(self, table: str, same: Mapping[str, str | int], column: str, texts: Sequence[str]) -> None:
        into = f"INSERT INTO {table} ({', '.join((*same, column))}) VALUES "
        one = f"({', '.join(_text(value) if isinstance(value, str) else str(value) for value in same.values())}, ?)"
        full = len(texts) - len(texts) % _ROWS_AT_ONCE
        loads = (texts[at : at + _ROWS_AT_ONCE] for at in range(0, full, _ROWS_AT_ONCE))
        self._connection.executemany(into + ", ".join([one] * _ROWS_AT_ONCE), loads)
        if full < len(texts):
            self._connection.execute(into + ", ".join([one] * (len(texts) - full)), texts[full:])


class _SqliteDatabase:
    row_lock = ""
    index_method = ""
    given = "json_each(?)"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fence_token = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._reported():
            self._writer = self._connect(_WRITER_CACHE_KB)
            for statement in LAYOUT + BATCH:
                self._writer.execute(statement.format_map(_TYPES))

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Session]:
        with self._fence_token, self._reported():
            if durable:
                self._writer.execute("PRAGMA synchronous = FULL")
            self._begin()
            try:
                yield _SqliteSession(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            finally:
                if durable:
                    self._writer.execute("PRAGMA synchronous = NORMAL")

    def _begin(self) -> None:
        """Become the one writer. Another process may hold the file, for good where it is frozen: that is reported, not only waited for."""
        try:
            self._writer.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            log.warning("another process is writing to the results store %s; waiting up to %d s more", self._path, _WAIT_S)
            self._writer.execute(f"PRAGMA busy_timeout = {round(_WAIT_S * 1000)}")
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            finally:
                self._writer.execute(f"PRAGMA busy_timeout = {round(_SILENT_S * 1000)}")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._reported():
            connection = self._spare() or self._connect(_READER_CACHE_KB)
            connection.execute("BEGIN")
            try:
                yield _SqliteSession(connection)
            finally:
                connection.execute("ROLLBACK")
                self._put_by(connection)

    def bound(self, rows: Sequence[str]) -> object:
        return f"[{','.join(rows)}]"

    def fields(self, row: str, columns: Sequence[str]) -> str:
        return " || ',' || ".join(f"({row} -> {_text(f'$.{_name(column)}')})" for column in columns)

    def has_index(self, session: Session, name: str) -> bool:
        return bool(session.fetch("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?", name))

    def may_try_again(self, error: Exception) -> bool:
        return False

    def publish(self, session: Session, view: str, ddl: str) -> None:
        if not _publishable(view):
            return
        listed = ", ".join(f"{_expression(column)} AS {_name(column.name)}" for column in columns(ddl) if '"' not in column.name)
        self.unpublish(session, view)
        if listed:
            session.run(f"CREATE VIEW {_name(view)} AS SELECT {listed} FROM penstock_rows WHERE view = {_text(view)} ORDER BY id")

    def unpublish(self, session: Session, view: str) -> None:
        if _publishable(view):
            session.run(f"DROP VIEW IF EXISTS {_name(view)}")

    def _spare(self) -> sqlite3.Connection | None:
        """A connection that is idle; another thread may take the last one first."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _put_by(self, connection: sqlite3.Connection) -> None:
        """For the next reader; each keeps its cache, so of a crowd only a few stay."""
        if len(self._idle) < _IDLE_READERS:
            self._idle.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        with self._fence_token:
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_SILENT_S, isolation_level=None, check_same_thread=False)
        for setting in ("journal_mode = WAL", "synchronous = NORMAL", "temp_store = MEMORY", f"cache_size = -{cache_kb}"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._as_penstock_error(error) from error

    def _as_penstock_error(self, error: sqlite3.Error) -> PenstockError:
        """A disk that is full, a lock that is held: it may be gone when it is tried again. A damaged file stays so."""
        says = f"the results store {self._path} cannot be used: {error}"
        if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
            return OutageError(says, hint="check that the disk has room and can be written, and that nothing else writes this file")
        return StateError(says, hint="restore the state folder from a copy, or choose another with --state")


def _expression(column: Column) -> str:
    """A column of the readable view; a decimal that a double holds exactly becomes a number, so that it sorts as one."""
    value = f"json_extract(row, {_text(f'$.{_name(column.name)}')})"
    kind = parse_type(column.type)
    return f"CAST({value} AS NUMERIC)" if kind.name == "decimal" and kind.arguments[0] <= 15 else value


def _publishable(view: str) -> bool:
    return not view.startswith(("penstock_", "sqlite_", "__"))


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

"""The results store in a Postgres database, schema `penstock`: the same layout, and a typed SQL view for each view.

Jobs write in parallel, each in its own transaction; the row lock of the fence keeps two drivers of one job apart.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.errors import LockNotAvailable

from penstock.errors import SinkError
from penstock.schema import columns
from penstock.store.layout import BATCH, LAYOUT, Session
from penstock.store.postgres_server import Connection, PostgresServer
from penstock.store.postgres_text import sql_without_nul
from penstock.store.postgres_types import decoded
from penstock.store.relational import RelationalStore

_TYPES = {
    "serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "integer": "BIGINT",
    "bytes": "BYTEA",
    "text": 'TEXT COLLATE "C"',
    "brief": " ON COMMIT DELETE ROWS",
}
_ONE_AT_A_TIME = 0x70656E73  # an advisory lock: two processes that start together must not both make the tables
_LOCK_PATIENCE = "20s"  # a driver frozen in its transaction would hold it for ever
_END_FROZEN = (  # sessions of other drivers that have waited for their client all that time, in the middle of a transaction
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user"
    " AND application_name LIKE 'penstock store %%' AND application_name <> %s"
    " AND state <> 'idle' AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - %s::interval"
)


class PostgresStore(RelationalStore):
    """The results store in the database that `server` names; its tables are made if absent."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(_PostgresDatabase(server))

    @classmethod
    def at(cls, address: str, secret: Callable[[str], str]) -> PostgresStore:
        """The store at `postgres://user@host:port/database?secret=name`; `secret` reads the password by its name.

        Without a password or a name the ways of libpq apply: PGPASSWORD, a password file, or a server that asks for none.
        """
        return cls(PostgresServer.from_url(address, secret))


class _PostgresSession:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._streams = itertools.count()

    def run(self, statement: str, *values: object) -> int:
        return self.connection.execute(_marked(statement), values).rowcount

    def fetch(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(_marked(statement), values).fetchall()

    def stream(self, statement: str, *values: object) -> Generator[tuple[Any, ...], None, None]:
        with self.connection.cursor(name=f"penstock_{next(self._streams)}") as cursor:
            cursor.itersize = 10_000
            yield from cursor.execute(_marked(statement), values)

    def load(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
        with self.connection.cursor() as cursor, cursor.copy(_marked(f"COPY {table} ({', '.join(columns)}) FROM STDIN")) as copy:
            for row in rows:
                copy.write_row(row)

    def load_texts(self, table: str, same: Mapping[str, str | int], column: str, texts: Sequence[str]) -> None:
        first = tuple(same.values())
        self.load(table, (*same, column), ((*first, text) for text in texts))


class _PostgresDatabase:
    row_lock = " FOR UPDATE"
    index_method = "USING hash"
    given = "unnest(CAST(? AS TEXT[])) AS given (value)"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._application = f"penstock store {uuid.uuid4()}"
        self._idle: list[Connection] = []
        try:
            self._lay_out()
        except SinkError as error:
            if not self.may_try_again(error):
                raise
            self._lay_out()

    def _lay_out(self) -> None:
        """Make what is not there; a statement over what is there would wait for its writers, though it has nothing to do."""
        with self._connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
            connection.execute("CREATE SCHEMA IF NOT EXISTS penstock")
            for statement in LAYOUT:
                name = statement.partition(" EXISTS ")[2].split()[0]
                if connection.execute("SELECT to_regclass(%s)", (f"penstock.{name}",)).fetchone() == (None,):
                    connection.execute(_marked(statement.format_map(_TYPES)))

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Session]:
        with self._connection() as connection, connection.transaction():
            if durable:
                connection.execute("SET LOCAL synchronous_commit = on")
            yield _PostgresSession(connection)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresSession(connection)

    def bound(self, rows: Sequence[str]) -> object:
        return list(rows)

    def fields(self, row: str, columns: Sequence[str]) -> str:
        without_nul = f"replace({row}, '\\u0000', '\\uf8f0')"  # which Postgres does not read; a character of nobody's stands for it
        return " || ',' || ".join(f"(({without_nul}::json -> {sql.Literal(column).as_string()})::text)" for column in columns)

    def has_index(self, session: Session, name: str) -> bool:
        return session.fetch("SELECT to_regclass(?)", f"penstock.{name}") != [(None,)]

    def may_try_again(self, error: Exception) -> bool:
        return isinstance(error.__cause__, LockNotAvailable)

    def publish(self, session: Session, view: str, ddl: str) -> None:
        assert isinstance(session, _PostgresSession)
        if not _publishable(view):
            return
        name = sql.Identifier("penstock", view)
        listed = [sql.SQL("{} AS {}").format(decoded(column, sql.SQL("line.row"), None), sql.Identifier(column.name)) for column in columns(ddl)]
        self.unpublish(session, view)
        if listed:
            source = sql.SQL("(SELECT id, ({})::jsonb AS row FROM penstock.penstock_rows WHERE view = {} OFFSET 0) line").format(
                sql_without_nul(sql.SQL("row")), sql.Literal(view)
            )
            session.connection.execute(sql.SQL("CREATE VIEW {} AS SELECT {} FROM {} ORDER BY id").format(name, sql.SQL(", ").join(listed), source))

    def unpublish(self, session: Session, view: str) -> None:
        assert isinstance(session, _PostgresSession)
        if _publishable(view):
            session.connection.execute(sql.SQL("DROP VIEW IF EXISTS {}").format(sql.Identifier("penstock", view)))

    def _spare(self) -> Connection | None:
        """A connection that is idle; another thread may take the last one first."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """An idle connection or a new one; one that failed is not used again."""
        with self._server.reported("using the results store"):
            connection = self._spare() or self._connect()
            try:
                yield connection
            except psycopg.Error as error:
                connection.close()
                self.close()
                if isinstance(error, LockNotAvailable):
                    self._end_frozen()
                raise
            finally:
                if not connection.closed:
                    self._idle.append(connection)

    def _end_frozen(self) -> None:
        """Who was in the way may be a driver that does not go on: its session is ended, so that the next try gets through."""
        with self._server.connect() as connection:
            connection.execute(_END_FROZEN, (self._application, _LOCK_PATIENCE))

    def _connect(self) -> Connection:
        connection = self._server.connect(self._application)
        connection.execute("SET search_path = penstock, pg_temp; SET work_mem = '64MB'")
        connection.execute(sql.SQL("SET lock_timeout = {}").format(_LOCK_PATIENCE))
        for statement in BATCH:  # here and not when they are needed: a transaction that touches none of them has none to empty
            connection.execute(_marked(statement.format_map(_TYPES)))
        return connection


def _publishable(view: str) -> bool:
    return not view.startswith(("penstock_", "__"))


def _marked(statement: str) -> sql.SQL:
    return sql.SQL(statement.replace("?", "%s"))  # our own text, never a user's

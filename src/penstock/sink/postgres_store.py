"""The results store in a Postgres database, schema `penstock`: the same layout, and a typed SQL view for each view.

Jobs write in parallel, each in its own transaction; the row lock of the fence keeps two drivers of one job apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from psycopg import sql

from penstock.sink.ddl import columns
from penstock.sink.postgres_server import Connection, PostgresServer
from penstock.sink.postgres_types import decoded
from penstock.sink.relational import RelationalStore
from penstock.sink.tables import BATCH, LAYOUT, Session

_TYPES = {"serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "integer": "BIGINT", "bytes": "BYTEA", "text": 'TEXT COLLATE "C"'}
_ONE_AT_A_TIME = 0x70656E73  # an advisory lock: two processes that start together must not both make the tables


_ONE_DRIVER = 0x70656E75  # an advisory lock for each job: unlike a row's lock, it tells who holds it
_LOCK_PATIENCE = "20s"  # a driver frozen in its transaction would hold it for ever


class PostgresStore(RelationalStore):
    """The results store in the database that `server` names; its tables are made if absent."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(_PostgresDatabase(server))

    @classmethod
    def at(cls, address: str, secret: Callable[[str], str]) -> PostgresStore:
        """The store at `postgres://user@host:port/database?secret=name`; `secret` reads the password by its name.

        Without a password or a name the ways of libpq apply: PGPASSWORD, a password file, or a server that asks for none.
        """
        named = parse_qs(urlsplit(address).query).get("secret")
        server = PostgresServer.from_url(address)
        return cls(replace(server, password=secret(named[-1])) if named else server)


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

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._idle: list[Connection] = []
        with self._connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
            connection.execute("CREATE SCHEMA IF NOT EXISTS penstock")
            for statement in LAYOUT:
                connection.execute(_marked(statement.format_map(_TYPES)))

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Session]:
        with self._connection() as connection, connection.transaction():
            if durable:
                connection.execute("SET LOCAL synchronous_commit = on")
            for statement in BATCH:
                connection.execute(_marked(statement.format_map(_TYPES)))
            yield _PostgresSession(connection)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with self._connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresSession(connection)

    def hold(self, session: Session, job: str) -> None:
        session.fetch("SELECT pg_advisory_xact_lock(?, hashtext(?))", _ONE_DRIVER, job)

    def end_holder(self, job: str) -> bool:
        with self._connection() as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
                " AND classid = %s::bigint::oid AND objid = ((hashtext(%s)::bigint & x'ffffffff'::bigint)::oid)",
                (_ONE_DRIVER, job),
            ).fetchall()
        return bool(ended)

    def publish(self, session: Session, view: str, ddl: str) -> None:
        assert isinstance(session, _PostgresSession)
        if view.startswith(("penstock_", "__")):
            return
        name = sql.Identifier("penstock", view)
        listed = [sql.SQL("{} AS {}").format(decoded(column, sql.SQL("line.row"), None), sql.Identifier(column.name)) for column in columns(ddl)]
        session.connection.execute(sql.SQL("DROP VIEW IF EXISTS {}").format(name))
        if listed:
            source = sql.SQL("(SELECT id, row::jsonb AS row FROM penstock.penstock_rows WHERE view = {} OFFSET 0) line").format(sql.Literal(view))
            session.connection.execute(sql.SQL("CREATE VIEW {} AS SELECT {} FROM {} ORDER BY id").format(name, sql.SQL(", ").join(listed), source))

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
            except psycopg.Error:
                connection.close()
                self.close()
                raise
            finally:
                if not connection.closed:
                    self._idle.append(connection)

    def _connect(self) -> Connection:
        connection = self._server.connect()
        connection.execute("SET search_path = penstock, pg_temp; SET work_mem = '64MB'")
        connection.execute(sql.SQL("SET lock_timeout = {}").format(_LOCK_PATIENCE))
        return connection


def _marked(statement: str) -> sql.SQL:
    return sql.SQL(statement.replace("?", "%s"))  # our own text, never a user's

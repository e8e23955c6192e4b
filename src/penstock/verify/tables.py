"""Tables, read as any program would: the results store by plain SQL, a Postgres sink by a SELECT."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from psycopg import sql

from penstock.errors import SinkError, StateError
from penstock.schema import Schema
from penstock.settings import Settings
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.postgres.sink import ledger_of
from penstock.sink.spec import SinkSpec
from penstock.sink.sqlite import sink as sqlite_sink
from penstock.sink.sqlite.table import quoted
from penstock.store.forgetting import trimmed_note
from penstock.store.generations import ViewGeneration, note_of, read_generation
from penstock.store.postgres_server import Connection, PostgresServer, identifier
from penstock.verify.changes import Delivered
from penstock.verify.rows import Reader, Row

Fetch = Callable[..., list[tuple[Any, ...]]]
_TRIES = 5


@contextmanager
def store_snapshot(settings: Settings, state: Path, secret: Callable[[str], str]) -> Iterator[Fetch]:
    """The results store at one moment; nothing is written to it and nobody waits for it."""
    address = settings.text("store")
    if address:
        named = parse_qs(urlsplit(address).query).get("secret")
        server = PostgresServer.from_url(address)
        with _postgres_snapshot(replace(server, password=secret(named[-1])) if named else server) as session:
            session.execute("SET search_path = penstock, pg_temp")
            yield lambda text, *values: session.execute(sql.SQL(text.replace("?", "%s")), values).fetchall()
        return
    path = state / "results.db"
    if not path.exists():
        raise StateError(f"there is no results store at {path}", hint="run the app first: `penstock run APP --drain`")
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = 1")
        connection.execute("BEGIN")
        yield lambda text, *values: connection.execute(text, values).fetchall()
    except sqlite3.Error as error:
        raise StateError(f"the results store {path} cannot be read: {error}", hint="restore it from a copy, or start over") from error
    finally:
        connection.close()


def read_store(fetch: Fetch, job: str, generation: str, view: str) -> Delivered:
    """The view's rows, and the epoch that its ledger says."""
    epoch = ledger_epoch(fetch, job, generation)
    rows = fetch("SELECT id, row FROM penstock_rows WHERE view = ? ORDER BY id", view)
    if epoch < 0:  # what is there belongs to an earlier generation of the view
        return Delivered(-1, [], [], earlier=len(rows))
    return Delivered(epoch, [Row(row, f"penstock_rows id {number}") for number, row in rows], [])


def ledger_epoch(fetch: Fetch, job: str, generation: str) -> int:
    """The last epoch that the ledger says of a job; -1 if there is none."""
    found = fetch("SELECT epoch FROM penstock_ledger WHERE job = ? AND generation = ?", job, generation)
    return int(found[0][0]) if found else -1


def generation_of(fetch: Fetch, view: str) -> ViewGeneration | None:
    """The generation that the view's rows are of, by the store's note."""
    found = fetch("SELECT value FROM penstock_notes WHERE name = ?", note_of(view))
    return read_generation(found[0][0]) if found else None


def confirmed(fetch: Fetch, names: Collection[str], generation: str) -> int:
    """The last epoch that was confirmed to the store for a sink that is known there by these names; -1 if there is none."""
    found = fetch("SELECT sink, epoch FROM penstock_delivered WHERE generation = ?", generation)
    return max((int(epoch) for name, epoch in found if name in names), default=-1)


def waiting(fetch: Fetch, view: str, generation: str, after: int) -> int:
    """How many epochs the store has logged of a view that a sink at epoch `after` has still to get: not every epoch changes every view."""
    found = fetch("SELECT count(*) FROM penstock_epochs WHERE view = ? AND generation = ? AND epoch > ?", view, generation, after)
    return int(found[0][0])


def same_since(fetch: Fetch, view: str, generation: str, epoch: int) -> bool:
    """Whether a view holds what it held after `epoch`: nothing was logged since, also nothing that was dropped from the log."""
    dropped = fetch("SELECT value FROM penstock_notes WHERE name = ?", trimmed_note(view, generation))
    return not waiting(fetch, view, generation, epoch) and all(int(last) <= epoch for (last,) in dropped)


def read_postgres(spec: SinkSpec, reader: Reader, generation: str, position: Callable[[], int]) -> Delivered:
    """The rows of a sink's table with the epoch of its ledger, of one snapshot; `position` gives the epoch of a sink without one."""
    server = PostgresServer.from_options(spec.options)
    for _ in range(_TRIES):
        before = position()
        with _postgres_snapshot(server) as connection, server.reported(f"sink `{spec.name}`: reading table {spec.options['table']}"):
            found = _rows(connection, spec, reader)
            own = _ledger(connection, spec, generation) if delivery_of(spec.options) == EXACTLY_ONCE else None
        if own is not None:
            return Delivered(own, found if own >= 0 else [], [], earlier=len(found) if own < 0 else 0)
        if position() == before:
            return Delivered(before, found if before >= 0 else [], [], earlier=len(found) if before < 0 else 0)
    raise SinkError(f"sink `{spec.name}`: table {spec.options['table']} changes faster than it can be read", hint="try again, or stop the app first")


def read_sqlite(spec: SinkSpec, reader: Reader, generation: str, position: Callable[[], int]) -> Delivered:
    """The same of a table in a SQLite file."""
    path, table = sqlite_sink.file_of(spec), spec.options["table"]
    if not path.exists():
        return Delivered(-1, [], [])
    for _ in range(_TRIES):
        before = position()
        try:
            with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=60, isolation_level=None)) as connection:
                connection.execute("BEGIN")
                cursor = connection.execute(f"SELECT * FROM {quoted(table)}")
                names = [str(column[0]) for column in cursor.description]
                rows = [Row(reader.text(row), f"{table} row {n}") for n, row in enumerate(of_view(reader.schema, names, cursor), start=1)]
                own = _sqlite_ledger(connection, spec, generation) if delivery_of(spec.options) == EXACTLY_ONCE else None
        except sqlite3.Error as error:
            raise SinkError(f"sink `{spec.name}`: table {table} of {path} cannot be read: {error}", hint="restore the file, or run again") from error
        at = own if own is not None else before
        if own is not None or position() == before:
            return Delivered(at, rows if at >= 0 else [], [], earlier=len(rows) if at < 0 else 0)
    raise SinkError(f"sink `{spec.name}`: table {table} changes faster than it can be read", hint="try again, or stop the app first")


def _sqlite_ledger(connection: sqlite3.Connection, spec: SinkSpec, generation: str) -> int:
    found = connection.execute(
        f"SELECT epoch FROM {sqlite_sink.LEDGER} WHERE sink = ? AND target = ? AND generation = ?",
        (spec.name, spec.options["table"].lower(), generation),
    ).fetchone()
    return -1 if found is None else int(found[0])


@contextmanager
def _postgres_snapshot(server: PostgresServer) -> Iterator[Connection]:
    connection = server.connect()
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
    finally:
        connection.close()


def _ledger(connection: Connection, spec: SinkSpec, generation: str) -> int:
    ledger = ledger_of(spec.options["table"])
    if connection.execute("SELECT to_regclass(%s)", (ledger.as_string(connection),)).fetchone() == (None,):
        return -1
    found = connection.execute(
        sql.SQL("SELECT epoch FROM {} WHERE sink = %s AND target = %s AND generation = %s").format(ledger),
        (spec.name, spec.options["table"], generation),
    ).fetchone()
    return -1 if found is None else int(found[0])


def sharers_of_table(spec: SinkSpec) -> list[str]:
    """The other sinks, perhaps of another app, that have delivered to the same table, as the ledger beside it says."""
    server, ledger = PostgresServer.from_options(spec.options), ledger_of(spec.options["table"])
    with _postgres_snapshot(server) as connection, server.reported(f"sink `{spec.name}`: reading table {ledger.as_string()}"):
        if connection.execute("SELECT to_regclass(%s)", (ledger.as_string(connection),)).fetchone() == (None,):
            return []
        found = connection.execute(
            sql.SQL("SELECT sink FROM {} WHERE target = %s AND sink <> %s AND epoch >= 0 ORDER BY sink").format(ledger),
            (spec.options["table"], spec.name),
        )
        return [str(sink) for (sink,) in found]


def _rows(connection: Connection, spec: SinkSpec, reader: Reader) -> list[Row]:
    table = spec.options["table"]
    found = of_view(reader.schema, *read_table(connection, table))
    return [Row(reader.text(row), f"{table} row {number}") for number, row in enumerate(found, start=1)]


def read_table(connection: Connection, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of all columns, and all rows in the database's own types; nothing where there is no such table."""
    name = identifier(table)
    if connection.execute("SELECT to_regclass(%s)", (name.as_string(connection),)).fetchone() == (None,):
        return [], []
    cursor = connection.execute(sql.SQL("SELECT * FROM {}").format(name))
    return [column.name for column in cursor.description or ()], cursor.fetchall()


def of_view(schema: Schema, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """The view's columns of a table's rows: a table of the user's own may have more, and names in another case."""
    held = {name: place for place, name in enumerate(names)}
    folded = {name.lower(): place for name, place in held.items()}
    places = [(column.name, held.get(column.name, folded.get(column.name.lower()))) for column in schema]
    for row in rows:
        yield {column: None if place is None else row[place] for column, place in places}

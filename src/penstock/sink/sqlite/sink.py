"""Delivers to a table of a SQLite file: keyed views upsert and delete, others insert and take back single copies, complete ones replace.

Exactly-once (the default): rows and ledger, table `penstock_sinks` of the same file, change in one transaction, so that a reader sees whole
epochs only; a replayed epoch is skipped, an older driver is fenced. Table `penstock_made` says which tables Penstock made, and for which sink: only
such a one is emptied when a view begins again (a new generation), or by a view of which every epoch replaces all rows.
At-least-once and at-most-once: no ledger, so nobody knows what an earlier generation delivered, and it stays.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.change import Epoch
from penstock.crash_points import crash_point
from penstock.errors import FencedError, RefusalError, SinkError
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.spec import SinkSpec
from penstock.sink.sqlite.table import Target, find_target, quoted, table_text, text_of

LEDGER = "penstock_sinks"
_MADE = "penstock_made"
_LAYOUT = (
    f"CREATE TABLE IF NOT EXISTS {LEDGER} (sink TEXT, target TEXT, generation TEXT NOT NULL, fence INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " PRIMARY KEY (sink, target))",
    f"CREATE TABLE IF NOT EXISTS {_MADE} (target TEXT PRIMARY KEY, sink TEXT NOT NULL, alone INTEGER NOT NULL)",
)
_WAIT_S = 30.0


def file_of(spec: SinkSpec) -> Path:
    """The file of a sink."""
    return spec.folder / spec.options["path"]


def ledger_in_words(spec: SinkSpec) -> str:
    """Where the place of a sink stands."""
    return f"the row of sink `{spec.name}` and target `{spec.options['table'].lower()}` in table {LEDGER} of {file_of(spec)}"


class SqliteSink:
    """One connection, one transaction per epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._path = file_of(spec)
        self._table = spec.options["table"]
        self._place = (spec.name, self._table.lower())
        self._ledgered = delivery_of(spec.options) == EXACTLY_ONCE
        self._replaces = spec.complete or spec.key == ()
        self.ledger = ledger_in_words(spec)
        self._ready, self._fence = False, 0
        self._open: sqlite3.Connection | None = None
        self._check_name()

    def position(self, generation: str) -> int | None:
        with self._transaction() as connection:
            for statement in _LAYOUT:
                connection.execute(statement)
            made_now = text_of(connection, self._table) is None
            if made_now:
                self._make(connection)
            self._check_alone(connection)
            if not self._ledgered:
                find_target(connection, self._spec)
                self._ready = True
                return None
            found = connection.execute(
                f"INSERT INTO {LEDGER} VALUES (?, ?, ?, 1, -1) ON CONFLICT (sink, target) DO UPDATE SET fence = fence + 1"
                " RETURNING generation, fence, epoch",
                (*self._place, generation),
            ).fetchall()
            before, fence, epoch = found[0]
            if before != generation and epoch >= 0:
                self._check_may_clear(connection)
                epoch = -1  # the first epoch brings the table into the shape of the new generation
            elif made_now and epoch >= 0:
                raise RefusalError(
                    f"sink `{self._spec.name}`: table {self._table} is gone, but the ledger says that epochs up to {epoch} are in it",
                    hint="restore the table, or start the view again with an empty state folder",
                )
            else:
                connection.execute(f"UPDATE {LEDGER} SET generation = ? WHERE sink = ? AND target = ?", (generation, *self._place))
                find_target(connection, self._spec)
        self._fence, self._ready = int(fence), True
        return int(epoch)

    def deliver(self, epoch: Epoch) -> None:
        self._write(epoch, lambda connection, target: target.put(connection, epoch.changes))

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._write(epoch, lambda connection, target: target.fill(connection, rows))

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _write(self, epoch: Epoch, change: Callable[[sqlite3.Connection, Target], None]) -> None:
        if not self._ready:
            self.position(epoch.generation)
        with self._transaction() as connection:
            if self._ledgered:
                generation, last = self._claim(connection)
                if generation == epoch.generation and epoch.epoch <= last:
                    return
                if generation != epoch.generation:
                    self._renew(connection)
            change(connection, find_target(connection, self._spec))
            if self._ledgered:
                connection.execute(
                    f"UPDATE {LEDGER} SET generation = ?, epoch = ? WHERE sink = ? AND target = ?", (epoch.generation, epoch.epoch, *self._place)
                )
            crash_point("sink.before-commit")

    def _claim(self, connection: sqlite3.Connection) -> tuple[str, int]:
        """What the ledger says; nobody else writes until the transaction ends."""
        found = connection.execute(f"SELECT generation, epoch, fence FROM {LEDGER} WHERE sink = ? AND target = ?", self._place).fetchone()
        if found is None or found[2] != self._fence:
            raise FencedError(
                f"sink `{self._spec.name}`: another driver has taken over table {self._table} of {self._path}",
                hint="only one `penstock run` may deliver to it; give the other sink another name or another table",
            )
        return str(found[0]), int(found[1])

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute(table_text(self._spec))
        connection.execute(f"INSERT OR REPLACE INTO {_MADE} VALUES (?, ?, ?)", (self._table.lower(), self._spec.name, self._replaces))

    def _renew(self, connection: sqlite3.Connection) -> None:
        """An empty table, made again where the view's columns or key are others now."""
        self._check_may_clear(connection)
        if text_of(connection, self._table) == table_text(self._spec):
            connection.execute(f"DELETE FROM {quoted(self._table)}")
            return
        connection.execute(f"DROP TABLE IF EXISTS {quoted(self._table)}")
        self._make(connection)

    def _check_name(self) -> None:
        if self._table.lower() in (LEDGER, _MADE) or self._table.lower().startswith("sqlite_"):
            raise RefusalError(f"sink `{self._spec.name}`: a table cannot be called {self._table} here", hint="name another table")

    def _check_alone(self, connection: sqlite3.Connection) -> None:
        """RefusalError where every epoch of this sink, or of the one that made the table, would remove rows that are not its own."""
        maker, alone = self._made(connection)
        if alone and maker != self._spec.name:
            raise RefusalError(
                f"sink `{self._spec.name}`: table {self._table} is that of sink `{maker}`, which replaces all its rows with every epoch",
                hint="name another table: Penstock makes it",
            )
        shared = self._is_shared(connection)
        if self._replaces and (maker != self._spec.name or shared):
            raise RefusalError(
                f"sink `{self._spec.name}`: every epoch of view `{self._spec.view}` replaces all rows of table {self._table},"
                f" but {'other sinks write to it too' if shared else 'Penstock did not make that table for it'}",
                hint="name another table: Penstock makes it",
            )

    def _check_may_clear(self, connection: sqlite3.Connection) -> None:
        maker, _ = self._made(connection)
        shared = self._is_shared(connection)
        if maker is not None and not shared:
            return
        raise RefusalError(
            f"sink `{self._spec.name}`: view `{self._spec.view}` starts again from the beginning, but table {self._table} holds what an earlier run"
            f" delivered, and {'other sinks write to it too' if shared else 'Penstock did not make that table, so it does not empty it'}",
            hint=f"name another table, or empty it and DELETE FROM {LEDGER} WHERE sink = '{self._spec.name}'",
        )

    def _made(self, connection: sqlite3.Connection) -> tuple[str | None, bool]:
        """The sink that the table was made for, and whether it is that sink's alone; None for a table of the user's own."""
        found = connection.execute(f"SELECT sink, alone FROM {_MADE} WHERE target = ?", (self._table.lower(),)).fetchone()
        return (str(found[0]), bool(found[1])) if found is not None else (None, False)

    def _is_shared(self, connection: sqlite3.Connection) -> bool:
        found = connection.execute(f"SELECT 1 FROM {LEDGER} WHERE target = ? AND sink <> ?", (self._table.lower(), self._spec.name))
        return found.fetchone() is not None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._reported():
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _connected(self) -> sqlite3.Connection:
        if self._open is not None and not self._path.exists():  # who has it open could still write to it, and nobody would ever read that
            raise FileNotFoundError("the file is gone")
        if self._open is None:
            is_new = not self._path.exists()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._open = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            if is_new:
                self._open.execute("PRAGMA journal_mode = WAL")  # readers and the one writer do not wait for each other
            self._open.execute(f"PRAGMA synchronous = {'FULL' if self._ledgered else 'NORMAL'}")
        return self._open

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise RefusalError(f"sink `{self._spec.name}`: {self._path} is not a SQLite file", hint="give the sink another `path`") from error
            busy = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY
            raise SinkError(
                f"sink `{self._spec.name}` cannot write to table {self._table} of {self._path}: {error}",
                hint=f"another process has been writing to it for {_WAIT_S:.0f} s: end it, or let it finish"
                if busy
                else "check that the file may be written and that the disk has room",
            ) from error

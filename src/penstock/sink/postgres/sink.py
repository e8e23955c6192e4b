"""Delivers to a table of a Postgres database: keyed views upsert and delete, others insert and take back single copies.

Exactly-once (the default): rows and ledger change in one transaction, table `penstock_sinks` beside the target; a replayed
epoch is skipped, an older driver is fenced. When a view starts over (a new generation), the first epoch replaces the content of a
table that Penstock made, whose columns it recreates where the view has others now; a table of the user's own is never emptied: that is
refused. So is a view of which every epoch replaces all rows (EMIT COMPLETE, or a single row) where the table is not this sink's alone.
At-least-once and at-most-once: no ledger, so nobody knows what an earlier generation delivered, and it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from psycopg import sql
from psycopg.errors import LockNotAvailable

from penstock.change import Epoch
from penstock.crash_points import crash_point
from penstock.errors import FencedError, RefusalError, SinkError
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.postgres.table import Target
from penstock.sink.postgres.target import check_alone, find_target, known_by, make_if_absent, renewed
from penstock.sink.spec import SinkSpec
from penstock.store.postgres_server import Connection, PostgresServer, identifier

_LEDGER = (
    "CREATE TABLE IF NOT EXISTS {} (sink text, target text, generation text NOT NULL, fence bigint NOT NULL, epoch bigint NOT NULL,"
    " made boolean NOT NULL, PRIMARY KEY (sink, target))"
)
_ONE_AT_A_TIME = 0x70656E74  # an advisory lock: CREATE TABLE IF NOT EXISTS fails when two sinks do it in the same moment

_LOCK_PATIENCE = "5s"


def ledger_of(table: str) -> sql.Identifier:
    """The ledger of a sink to `table`: in the same schema, under a name that the results store, which may be there too, does not use."""
    return identifier(table, beside="penstock_sinks")


def ledger_in_words(spec: SinkSpec) -> str:
    """Where the place of a sink stands."""
    table, server = spec.options["table"], PostgresServer.from_options(spec.options)
    return f"the row of sink `{spec.name}` and target `{table}` in table {ledger_of(table).as_string()} of {server}"


class PostgresSink:
    """One connection, one transaction per epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._server = PostgresServer.from_options(spec.options)
        self._table = spec.options["table"]
        self._ledger = ledger_of(self._table)
        self._ledgered = delivery_of(spec.options) == EXACTLY_ONCE
        self.ledger = ledger_in_words(spec)
        self._application = f"penstock {spec.name} to {self._table}"
        self._fence: int | None = None
        self._open: Connection | None = None
        self._target: Target | None = None

    def position(self, generation: str) -> int | None:
        try:
            return self._taken_over(generation)
        except SinkError as error:
            self._end_others(error)
            return self._taken_over(generation)

    def _taken_over(self, generation: str) -> int | None:
        with self._transaction(_LOCK_PATIENCE) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ONE_AT_A_TIME,))
            made_now = make_if_absent(connection, self._spec)
            if not self._ledgered:
                self._prepared(connection)
                return None
            connection.execute(sql.SQL(_LEDGER).format(self._ledger))
            taken = connection.execute(
                sql.SQL(
                    "INSERT INTO {} AS l VALUES (%s, %s, %s, 1, -1, %s) ON CONFLICT (sink, target) DO UPDATE SET fence = l.fence + 1"
                    " RETURNING generation, fence, epoch, made"
                ).format(self._ledger),
                (self._spec.name, self._table, generation, made_now),
            ).fetchone()
            assert taken is not None
            before, self._fence, epoch, made = taken
            if epoch < 0 and not made_now:
                self._check_spelling(connection)
            if before != generation and epoch >= 0:
                self._check_may_clear(connection, bool(made))
                self._target = None  # the first epoch finds it: it brings the table into the shape of the new generation
                return -1
            if before != generation:  # a generation that delivered nothing left nothing
                connection.execute(
                    sql.SQL("UPDATE {} SET generation = %s WHERE sink = %s AND target = %s").format(self._ledger),
                    (generation, self._spec.name, self._table),
                )
            if made_now and epoch >= 0:
                raise RefusalError(
                    f"sink `{self._spec.name}`: table {self._table} is gone, but the ledger says that epochs up to {epoch} are in it",
                    hint="restore the table, or let the view start over with an empty state folder",
                )
            self._prepared(connection)
            check_alone(connection, self._spec, made=bool(made), shared=self._is_shared(connection))
            return int(epoch)

    def _end_others(self, error: SinkError) -> None:
        """A driver that was frozen in its transaction holds its rows for ever: the server ends its session, and so the transaction.

        Raises the error again where it is not that a lock could not be had.
        """
        if not isinstance(error.__cause__, LockNotAvailable):
            raise error
        self.close()  # its own session has the same name
        with self._server.reported(f"sink `{self._spec.name}`: taking over table {self._table}"), self._server.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()"
                " AND usename = current_user",
                (self._application.encode()[:63].decode("utf-8", "ignore"),),
            )

    def deliver(self, epoch: Epoch) -> None:
        self._write(epoch, lambda connection, target: target.put(connection, epoch.changes))

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._write(epoch, lambda connection, target: target.fill(connection, rows))

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _write(self, epoch: Epoch, change: Callable[[Connection, Target], None]) -> None:
        if not self._ledgered:
            self._write_plainly(change)
            return
        if self._fence is None:
            self.position(epoch.generation)
        with self._transaction() as connection:
            connection.execute("SET LOCAL synchronous_commit = on")
            generation, last = self._claim(connection)
            if generation == epoch.generation and epoch.epoch <= last:
                return
            if generation != epoch.generation:
                self._target = renewed(connection, self._spec, self._ledgered)
            change(connection, self._prepared(connection))
            connection.execute(
                sql.SQL("UPDATE {} SET generation = %s, epoch = %s WHERE sink = %s AND target = %s").format(self._ledger),
                (epoch.generation, epoch.epoch, self._spec.name, self._table),
            )
            crash_point("sink.before-commit")

    def _write_plainly(self, change: Callable[[Connection, Target], None]) -> None:
        """Without a ledger's row to claim, a driver that was frozen is met only at the rows; a lock that is then still held is not a driver's."""
        try:
            self._write_within(_LOCK_PATIENCE, change)
        except SinkError as error:
            self._end_others(error)
            self._write_within(None, change)

    def _write_within(self, patience: str | None, change: Callable[[Connection, Target], None]) -> None:
        with self._transaction(patience) as connection:
            change(connection, self._prepared(connection))
            crash_point("sink.before-commit")

    def _claim(self, connection: Connection) -> tuple[str, int]:
        """Holds the ledger's row until the transaction ends; what it says."""
        found = connection.execute(
            sql.SQL("SELECT generation, epoch, fence FROM {} WHERE sink = %s AND target = %s FOR UPDATE").format(self._ledger),
            (self._spec.name, self._table),
        ).fetchone()
        if found is None or found[2] != self._fence:
            raise FencedError(
                f"sink `{self._spec.name}`: another driver has taken over table {self._table}",
                hint="only one `penstock run` may deliver to it; give the other sink another name or another table",
            )
        return str(found[0]), int(found[1])

    def _check_may_clear(self, connection: Connection, made: bool) -> None:
        if made and not self._is_shared(connection):
            return
        raise RefusalError(
            f"sink `{self._spec.name}`: view `{self._spec.view}` starts over, but table {self._table} holds what an earlier run delivered,"
            f" and {'other sinks write to it too' if made else 'Penstock did not make that table, so it does not empty it'}",
            hint=f"name another table, or empty it and DELETE FROM penstock_sinks WHERE sink = '{self._spec.name}'",
        )

    def _check_spelling(self, connection: Connection) -> None:
        """The ledger knows a table as it is written: `t` and `public.t` are two places to it, and all would be delivered to the one once more."""
        for sink, written, epoch in self._writers(connection):
            if sink == self._spec.name and written != self._table and epoch >= 0:
                raise RefusalError(
                    f"sink `{sink}`: table {self._table} is the table {written}, to which it has delivered epochs up to {epoch}",
                    hint=f"write table = '{written}' as before: it then goes on where it was; or name another table",
                )

    def _is_shared(self, connection: Connection) -> bool:
        return any(sink != self._spec.name for sink, _, _ in self._writers(connection))

    def _writers(self, connection: Connection) -> list[tuple[str, str, int]]:
        """Name, spelling of the table, and last epoch of every sink that writes to this table."""
        own = known_by(connection, identifier(self._table))
        rows = connection.execute(sql.SQL("SELECT sink, target, epoch FROM {}").format(self._ledger)).fetchall()
        return [(sink, written, epoch) for sink, written, epoch in rows if known_by(connection, identifier(written)) == own]

    def _prepared(self, connection: Connection) -> Target:
        if self._target is None:
            make_if_absent(connection, self._spec)
            self._target = find_target(connection, self._spec, self._ledgered)
            if not self._ledgered:
                check_alone(connection, self._spec, made=None, shared=False)
        return self._target

    @contextmanager
    def _transaction(self, patience: str | None = None) -> Iterator[Connection]:
        """`patience` is how long to wait for a lock that another session holds; None: as long as the server says, which is for ever."""
        if self._open is None or self._open.closed:
            self._open = self._server.connect(self._application)
        known = self._target
        try:
            with self._server.reported(f"sink `{self._spec.name}`: writing to table {self._table}"), self._open.transaction():
                if patience is not None:
                    self._open.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(patience))
                yield self._open
        except BaseException:
            self._target = known
            raise

"""The physical layout of a results store, the same in every database, and the little that a database must do for it.

    penstock_rows       what each view holds now: view, key (None in a bag), partition, the row as JSON
    penstock_changes    the change log, in order of id
    penstock_replaced   rows of keyed views that another took the place of, by the epoch that did so, for those who follow the view
    penstock_epochs     the logged epochs of each view, those without changes too
    penstock_jobs       who may write a job: the fence goes up with every driver that takes over
    penstock_ledger     the last committed epoch of each job and generation
    penstock_owners      whose rows each job's views hold: of which generation and state folder
    penstock_delivered  the last epoch that was confirmed for each sink, also where the sink has a ledger of its own
    penstock_views      each view's columns and key
    penstock_dead       records that did not decode
    penstock_notes      small facts
    penstock_batch, penstock_dead_batch   temporary: rows on their way in, so that one statement handles them all

SQL here is what SQLite and Postgres both read; values are marked with `?`. `{text}` is compared byte by byte; `{brief}` empties a
temporary table with the transaction where deleted rows would else pile up for as long as the connection lives.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

LAYOUT: tuple[str, ...] = (
    "CREATE TABLE IF NOT EXISTS penstock_rows (id {serial}, view {text} NOT NULL, key {text}, part {text}, row TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS penstock_rows_in_order ON penstock_rows (view, id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS penstock_rows_by_key ON penstock_rows (view, key) WHERE key IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS penstock_rows_by_part ON penstock_rows (view, part) WHERE part IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS penstock_changes (id {serial}, view {text} NOT NULL, generation TEXT NOT NULL, epoch BIGINT NOT NULL,"
    " op TEXT NOT NULL, key {text}, row TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS penstock_changes_by_epoch ON penstock_changes (view, generation, epoch, id)",
    "CREATE TABLE IF NOT EXISTS penstock_replaced (view {text} NOT NULL, generation TEXT NOT NULL, epoch BIGINT NOT NULL,"
    " key {text} NOT NULL, row TEXT NOT NULL, PRIMARY KEY (view, generation, epoch, key))",
    "CREATE TABLE IF NOT EXISTS penstock_epochs (view {text} NOT NULL, generation TEXT NOT NULL, epoch BIGINT NOT NULL,"
    " PRIMARY KEY (view, generation, epoch))",
    "CREATE TABLE IF NOT EXISTS penstock_jobs (job TEXT PRIMARY KEY, generation TEXT NOT NULL, fence BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS penstock_ledger (job TEXT NOT NULL, generation TEXT NOT NULL, fence BIGINT NOT NULL, epoch BIGINT NOT NULL,"
    " PRIMARY KEY (job, generation))",
    "CREATE TABLE IF NOT EXISTS penstock_owners (job TEXT PRIMARY KEY, generation TEXT NOT NULL, folder TEXT NOT NULL, place TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS penstock_delivered (sink TEXT NOT NULL, generation TEXT NOT NULL, epoch BIGINT NOT NULL,"
    " PRIMARY KEY (sink, generation))",
    "CREATE TABLE IF NOT EXISTS penstock_views (view TEXT PRIMARY KEY, ddl TEXT NOT NULL, key TEXT)",
    "CREATE TABLE IF NOT EXISTS penstock_dead (id {serial}, stream TEXT NOT NULL, position TEXT NOT NULL, reason TEXT NOT NULL,"
    " raw {bytes} NOT NULL, seen_at TEXT NOT NULL, UNIQUE (stream, position))",
    "CREATE TABLE IF NOT EXISTS penstock_notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
BATCH: tuple[str, ...] = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS penstock_batch (n {integer} PRIMARY KEY, key {text}, part {text}, row TEXT){brief}",
    "CREATE TEMPORARY TABLE IF NOT EXISTS penstock_dead_batch"
    " (n {integer} PRIMARY KEY, position TEXT, reason TEXT, raw {bytes}, seen_at TEXT){brief}",
)


class Session(Protocol):
    """A transaction of a database."""

    def run(self, sql: str, *values: object) -> int:
        """Execute; the number of rows touched."""

    def fetch(self, sql: str, *values: object) -> list[tuple[Any, ...]]: ...

    def stream(self, sql: str, *values: object) -> Generator[tuple[Any, ...], None, None]:
        """The rows one by one, for results that may be large; to be closed before the transaction ends."""

    def load(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
        """Put many rows in the fastest way that the database has."""

    def load_texts(self, table: str, same: Mapping[str, str | int], column: str, texts: Sequence[str]) -> None:
        """Put a row for each text, the other columns the `same` in all of them; twice as fast as `load`."""


class Database(Protocol):
    """A database that holds the layout. `row_lock` is what makes a SELECT hold its row until the end of the transaction."""

    row_lock: str
    index_method: str
    """How an index over the text of a field is made, so that a long text fits."""
    given: str
    """What gives the texts of one bound list of rows, as a column `value`."""

    def bound(self, rows: Sequence[str]) -> object:
        """A list of rows as `given` takes it."""

    def fields(self, row: str, columns: Sequence[str]) -> str:
        """SQL for the values of these columns of a row, as one text; exactly as they stand in it."""

    def has_index(self, session: Session, name: str) -> bool: ...

    def writing(self, *, durable: bool = False) -> AbstractContextManager[Session]:
        """A transaction that commits at the end and rolls back on any exception; `durable`: its commit survives a loss of power."""

    def reading(self) -> AbstractContextManager[Session]:
        """A snapshot: everything read in it is of one moment, and nothing waits for a writer."""

    def may_try_again(self, error: Exception) -> bool:
        """Whether the failure was a frozen driver that was in the way and now is not: its transaction has been ended."""

    def publish(self, session: Session, view: str, ddl: str) -> None:
        """Make a view readable by plain SQL under its own name."""

    def unpublish(self, session: Session, view: str) -> None:
        """Undo that."""

    def close(self) -> None: ...

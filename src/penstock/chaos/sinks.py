"""The reader at the real places: the results store, tables of Postgres, topics, folders; each read as a stranger would."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from psycopg import sql

from penstock.change import Change
from penstock.chaos.follow import TOMBSTONE, Bag, Epochs, Log, Records, Seen, Table, canonical, row
from penstock.errors import SinkError
from penstock.schema import columns as columns_of
from penstock.sink.kafka.server import KafkaServer
from penstock.sink.postgres.sink import ledger_of
from penstock.sink.spec import SinkSpec
from penstock.store.postgres_server import PostgresServer
from penstock.store.postgres_text import without_nul
from penstock.verify.rows import Reader as RowReader
from penstock.verify.tables import of_view, read_table

_POLL_S = 0.25
_IDLE_SHARE = 5  # a reader that looks all the time would slow down what it watches
_AWAY = (psycopg.Error, sqlite3.Error, OSError, SinkError)
Query = Callable[[str], list[tuple[Any, ...]]]
Snapshots = Callable[[Callable[[Query], None]], None]


class Place(Protocol):
    """Where a sink delivers. `fetch` reads it, `judge` compares what was read with the log, which was read after."""

    name: str

    def fetch(self) -> None: ...

    def judge(self) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


@dataclass
class StoreReader:
    """The change logs, ledger and rows of a results store, in one snapshot each time."""

    snapshot: Snapshots
    keyed: Mapping[str, bool]
    seen: Seen

    def __post_init__(self) -> None:
        self.logs = {view: Log(view, keyed, self.seen) for view, keyed in self.keyed.items()}
        self.epochs: dict[str, int] = {}
        self.dead = 0
        self._tables = {view: Table(f"the store's `{view}`", log, self.seen) for view, log in self.logs.items()}
        self._generations: dict[str, str] = {}

    def begin(self) -> None:
        """Take what is there as given; a store that is not made yet holds nothing."""
        try:
            self.snapshot(self._take_as_given)
        except _AWAY:
            return

    def poll(self) -> None:
        self.snapshot(self._read)

    def rows(self) -> dict[str, Bag]:
        """What every view holds."""
        found: dict[str, Bag] = {}

        def read(query: Query) -> None:
            for view in self.logs:
                found[view] = Counter(row(line) for _, line in query(_ROWS.format(view=_quoted(view))))

        self.snapshot(read)
        return found

    def _take_as_given(self, query: Query) -> None:
        for view, generation, epoch in query(_NEWEST):
            if view in self.logs:
                self._generations[view] = generation
                self.logs[view].begin(int(epoch), query(_ROWS.format(view=_quoted(view))))

    def _read(self, query: Query) -> None:
        for job, epoch in query("SELECT l.job, l.epoch FROM penstock_ledger l JOIN penstock_jobs j ON l.job = j.job AND l.generation = j.generation"):
            if int(epoch) < self.epochs.get(job, -1):
                self.seen.note("retracted", 1, f"the ledger of `{job}` went back from epoch {self.epochs[job]} to {epoch}")
            self.epochs[job] = int(epoch)
        for view, ddl in query("SELECT view, ddl FROM penstock_views"):
            if view in self.logs:
                self.logs[view].columns = columns_of(ddl)
        self.dead = int(query("SELECT count(*) FROM penstock_dead")[0][0])
        for view, generation, epoch in query(_NEWEST):
            if view in self.logs:
                if self._generations.setdefault(view, generation) != generation:
                    self.seen.note("retracted", 1, f"view `{view}` started over")
                    self._generations[view] = generation
                self._learn(query, view, generation)
                self._tables[view].look(int(epoch), [row(line) for _, line in query(_ROWS.format(view=_quoted(view)))])

    def _learn(self, query: Query, view: str, generation: str) -> None:
        log = self.logs[view]
        after = max(log.newest - 3, log.first)  # the last few again: they must not change
        where = f"view = {_quoted(view)} AND generation = {_quoted(generation)} AND epoch > {after}"
        found: dict[int, list[Change]] = {int(epoch): [] for (epoch,) in query(f"SELECT epoch FROM penstock_epochs WHERE {where} ORDER BY epoch")}
        for epoch, op, key, line in query(f"SELECT epoch, op, key, row FROM penstock_changes WHERE {where} ORDER BY id"):
            found[int(epoch)].append(Change(op, key, line))
        for epoch, changes in found.items():
            log.learn(epoch, changes)


_NEWEST = (
    "SELECT e.view, e.generation, max(e.epoch) FROM penstock_epochs e WHERE e.generation IN (SELECT generation FROM penstock_jobs)"
    " GROUP BY e.view, e.generation"
)
_ROWS = "SELECT key, row FROM penstock_rows WHERE view = {view} ORDER BY id"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def sqlite_snapshots(path: Path) -> Snapshots:
    """Snapshots of a SQLite store, reopened each time: the file may not be there yet."""

    def snapshot(read: Callable[[Query], None]) -> None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            read(lambda text: connection.execute(text).fetchall())

    return snapshot


def postgres_snapshots(server: PostgresServer) -> Snapshots:
    """Snapshots of a store in Postgres."""

    def snapshot(read: Callable[[Query], None]) -> None:
        with _reading(server) as connection:
            connection.execute("SET search_path = penstock")
            read(lambda text: connection.execute(sql.SQL(text)).fetchall())

    return snapshot


def _reading(server: PostgresServer) -> psycopg.Connection[tuple[Any, ...]]:
    connection = psycopg.connect(
        host=server.host,
        port=server.port,
        dbname=server.database,
        user=server.user,
        password=server.password or None,
        sslmode=server.sslmode,
        connect_timeout=5,
    )
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    return connection


class PostgresPlace:
    """A table and the ledger beside it, in one snapshot; of the table what the view has there, as `verify` reads it."""

    def __init__(self, sink: str, options: Mapping[str, str], log: Log, seen: Seen) -> None:
        self._server = PostgresServer.from_options(options)
        self._sink, self._table = sink, options["table"]
        self._ledger = ledger_of(self._table)
        self.name = f"table {self._table}"
        self._judged = Table(self.name, log, seen)
        self._values: RowReader | None = None
        self._found: tuple[int, list[str], list[tuple[Any, ...]]] | None = None

    def fetch(self) -> None:
        self._found = None
        with suppress(psycopg.errors.UndefinedTable), _reading(self._server) as connection:  # nothing was delivered yet
            ledger = connection.execute(
                sql.SQL("SELECT epoch FROM {} WHERE sink = %s AND target = %s").format(self._ledger), (self._sink, self._table)
            ).fetchone()
            if ledger is not None:
                self._found = int(ledger[0]), *read_table(connection, self._table)

    def judge(self) -> None:
        columns = self._judged.log.columns
        if self._found is None or columns is None:
            return
        epoch, names, rows = self._found
        self._values = self._values or RowReader(columns, None, as_held=without_nul)
        self._judged.read = self._values.values
        self._judged.look(epoch, map(self._values.values, of_view(columns, names, rows)))

    def finish(self) -> None:
        if self._judged.epoch < self._judged.log.newest:
            late = [number for number in self._judged.log.epochs if number > self._judged.epoch and self._judged.log.epochs[number]]
            if late:
                self._judged.seen.note("lost", len(late), f"{self._judged.name} stays at epoch {self._judged.epoch}, the log is at {max(late)}")

    def close(self) -> None:
        """Nothing is kept open."""


class KafkaPlace:
    """A topic, read from where it ended when the reader came; only what is committed, and what no header says to be another sink's.

    With `marked_only` also not what says nothing of a sink.
    """

    def __init__(self, spec: SinkSpec, log: Log, seen: Seen, *, repeats: bool, marked_only: bool = False) -> None:
        self._spec, self._topic, self._marked_only = spec, spec.options["topic"], marked_only
        self.name = f"topic {self._topic}"
        self._judged = Records(self.name, log, seen, repeats)
        self._consumer: Any = None
        self._refused = ""

    def fetch(self) -> None:
        if self._consumer is None:
            self._open()
        while self._consumer is not None and (messages := self._consumer.consume(2000, 0.05)):
            for message in messages:
                error = message.error()
                if error is None:
                    self._take(message)
                elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:  # reported once only
                    self._refused = error.str()
        if self._refused:
            raise SinkError(self._refused)

    def judge(self) -> None:
        """Judged as a whole when nothing more comes; the order of epochs at once."""

    def finish(self) -> None:
        self._judged.finish()

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _open(self) -> None:
        """Nothing is open as long as there is no such topic; SinkError where nobody can say."""
        consumer = Consumer(self._settings())
        try:
            found = consumer.list_topics(self._topic, 5).topics[self._topic]
            if found.error is not None and found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise KafkaException(found.error)
            if found.partitions:
                consumer.assign(self._begin(consumer, list(found.partitions)))
                self._consumer = consumer
        except KafkaException as error:
            raise SinkError(error.args[0].str()) from error
        finally:
            if self._consumer is None:
                consumer.close()

    def _settings(self) -> dict[str, Any]:
        own = {"client.id": "penstock-chaos", "group.id": uuid.uuid4().hex, "enable.auto.commit": False, "allow.auto.create.topics": False}
        return {**KafkaServer(self._spec).login, **own, "isolation.level": "read_committed", "auto.offset.reset": "earliest"}

    def _begin(self, consumer: Any, partitions: list[int]) -> list[Any]:
        known = [TopicPartition(self._topic, number, 0) for number in partitions]
        if self._judged.log.first < 0:
            return known
        # What was there before is not judged.
        return [TopicPartition(at.topic, at.partition, consumer.get_watermark_offsets(at, timeout=5)[1]) for at in known]

    def _take(self, message: Any) -> None:
        headers = dict(message.headers() or [])
        epoch = headers.get("penstock-epoch")
        own = self._spec.name.encode()
        if epoch is None or headers.get("penstock-sink", b"" if self._marked_only else own) != own:
            return
        value, op = message.value(), headers.get("penstock-op", b"+").decode()
        gone = op == "-" and self._judged.log.keyed
        self._judged.take(message.partition(), int(epoch), (op, TOMBSTONE) if value is None or gone else (op, row(value.decode())))


class FilesPlace:
    """A folder of epochs in JSON."""

    def __init__(self, folder: Path, log: Log, seen: Seen, *, append_only: bool) -> None:
        self._folder, self._append_only = folder, append_only
        self.name = f"folder {folder.name}"
        self._judged = Epochs(self.name, log, seen)
        self._known: dict[Path, tuple[int, int, Bag]] = {}
        self._found: dict[int, Bag] = {}

    def fetch(self) -> None:
        found: dict[int, Bag] = {}
        for place in self._folder.glob("epoch=*"):
            number = place.name.removeprefix("epoch=")
            if number.isdecimal():
                found[int(number)] = sum((self._records(path) for path in sorted(place.iterdir())), Counter())
        self._found = found

    def judge(self) -> None:
        self._judged.look(self._found)

    def finish(self) -> None:
        self._judged.finish()

    def close(self) -> None:
        """Nothing is kept open."""

    def _records(self, path: Path) -> Bag:
        stat = path.stat()
        known = self._known.get(path)
        if known is not None and known[:2] == (stat.st_mtime_ns, stat.st_size):
            return known[2]
        with path.open(encoding="utf-8", newline="\n") as lines:  # JSON text may hold the line ends of Unicode as they are
            records: Bag = Counter(map(self._record, lines))
        self._known[path] = (stat.st_mtime_ns, stat.st_size, records)
        return records

    def _record(self, line: str) -> Hashable:
        found = json.loads(line)
        op = "+" if self._append_only else found.pop("_op")
        return (op, canonical(found))


class Reader:
    """Follows the store and every sink on a thread of its own, all the way; what is away at the moment is read later.

    `left_out` says which sinks are not followed though they promise something, and why.
    """

    def __init__(self, store: StoreReader, places: list[Place], left_out: Sequence[str] = ()) -> None:
        self.store, self.left_out = store, left_out
        self._places = places
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="reader", daemon=True)
        self._away = [""] * len(places)
        self._store_away = ""
        self.looks = 0
        self.broken: Exception | None = None
        self.unread: list[str] = []

    def start(self) -> None:
        self.store.begin()
        self._thread.start()

    def look(self) -> bool:
        """One look at everything; False when something could not be reached."""
        with self._lock:
            self._away = [_tried(place.fetch) for place in self._places]
            self._store_away = _tried(self.store.poll)
            if self._store_away:
                return False
            for place, away in zip(self._places, self._away, strict=True):
                if not away:
                    place.judge()
            self.looks += 1
            return not any(self._away)

    def finish(self) -> None:
        """The last look, and the verdict on what never came; of a place that cannot be read nobody knows, so it is `unread`."""
        self._over.set()
        self._thread.join()
        for _ in range(8):
            if self.look():
                break
        if self._store_away:
            self.unread.append(f"the results store cannot be read: {self._store_away}")
        for place, away in zip(self._places, self._away, strict=True):
            if away:
                self.unread.append(f"{place.name} cannot be read: {away}")
            else:
                place.finish()
            place.close()

    def _work(self) -> None:
        took_s = 0.0
        while not self._over.wait(max(_POLL_S, _IDLE_SHARE * took_s)):
            began = time.monotonic()
            try:
                self.look()
            except Exception as error:  # a reader that cannot judge must not pass for one that saw nothing wrong
                self.broken = error
                return
            took_s = time.monotonic() - began


def _tried(read: Callable[[], None]) -> str:
    """Why it could not be read just now; empty when it was."""
    try:
        read()
    except _AWAY as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""

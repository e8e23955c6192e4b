"""`verify` says equal when it is, for every kind of view and sink; and names what was planted when it is not."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from psycopg import sql

from penstock.catalog import Catalog
from penstock.errors import NameFault, PlanFault, StateError
from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Row, Trial
from penstock.verify.report import Verdict, summary
from penstock.verify.run import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SALES = """
CREATE STREAM sales (id INT, item STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS) WITH ({});
"""
FOLDER = "connector = 'files', path = 'sales', format = 'json'"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT id, item, amount FROM sales WHERE amount > 0;"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total, avg(amount) AS mean FROM sales GROUP BY item;"
WINDOWS = """
CREATE MATERIALIZED VIEW minutes AS SELECT window, item, count(*) AS n FROM sales GROUP BY window(at, '1 minute'), item;
CREATE MATERIALIZED VIEW closed AS SELECT window, item, count(*) AS n FROM sales GROUP BY window(at, '1 minute'), item EMIT ON WINDOW CLOSE;
"""
SLIDING = """
CREATE MATERIALIZED VIEW sliding AS SELECT window.start AS since, count(*) AS n, avg(amount) AS mean
FROM (SELECT at AS t, amount FROM sales WHERE amount > 0) s WHERE s.amount < 1000 GROUP BY window(s.t, '1 minute', '20 seconds');
CREATE MATERIALIZED VIEW kinds AS SELECT window, count(DISTINCT item) AS items FROM sales GROUP BY window(at, '1 minute');
CREATE MATERIALIZED VIEW visits AS SELECT session_window, item, count(*) AS n FROM sales
GROUP BY session_window(at, '30 seconds'), item EMIT ON WINDOW CLOSE;
"""
CUT = """
CREATE MATERIALIZED VIEW ranked AS SELECT item, total, rank() OVER (ORDER BY total DESC) AS place
FROM (SELECT item, sum(amount) AS total FROM sales GROUP BY item);
CREATE MATERIALIZED VIEW latest AS SELECT item, amount FROM (
  SELECT item, amount, row_number() OVER (PARTITION BY item ORDER BY at DESC, id DESC) AS n FROM sales) WHERE n = 1;
CREATE MATERIALIZED VIEW top AS SELECT item, total FROM totals ORDER BY total DESC, item LIMIT 2;
CREATE MATERIALIZED VIEW board AS SELECT item, count(*) AS n FROM sales GROUP BY item EMIT COMPLETE;
"""
JOINED = """
CREATE STREAM returns (sale INT, why STRING, back TIMESTAMP, WATERMARK FOR back AS back - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = 'returns', format = 'json');
CREATE MATERIALIZED VIEW returned AS SELECT s.id, s.item, r.why FROM sales s JOIN returns r
ON s.id = r.sale AND r.back BETWEEN s.at AND s.at + INTERVAL 60 SECONDS;
CREATE MATERIALIZED VIEW returned_by_minute AS SELECT window, count(*) AS n FROM sales s JOIN returns r
ON s.id = r.sale AND r.back BETWEEN s.at AND s.at + INTERVAL 60 SECONDS GROUP BY window(s.at, '1 minute') EMIT ON WINDOW CLOSE;
"""


def sale(number: int, second: int, item: str = "tea") -> Row:
    return {"id": number, "item": item, "amount": number * 10, "at": f"2024-05-01T10:{second // 60:02}:{second % 60:02}"}


def taken_back(number: int, second: int) -> Row:
    return {"sale": number, "why": f"because {number}", "back": f"2024-05-01T10:{second // 60:02}:{second % 60:02}"}


# Files of one epoch each. Sale 6 is late for its minute, 8 for two of its three sliding windows, 11 again for its minute.
BATCHES = [
    [sale(1, 5), sale(2, 65, "milk")],
    [sale(3, 70), sale(4, 200)],
    [sale(5, 210, "milk")],
    [sale(6, 20), sale(7, 215), sale(8, 150)],
    [sale(9, 400), sale(10, 230)],
    [sale(11, 100), sale(12, 395, "milk")],
]
RETURNS = [
    [taken_back(1, 20)],
    [taken_back(2, 90), taken_back(4, 201)],
    [taken_back(3, 215)],
    [taken_back(5, 220), taken_back(7, 230)],
    [taken_back(9, 410)],
    [taken_back(8, 160), taken_back(12, 396)],
]


def verdicts(trial: Trial, view: str | None = None) -> dict[tuple[str, str | None], Verdict]:
    with trial.engine() as engine:
        return {(found.view, found.sink): found for found in verify(engine, view, session=trial.session)}


def all_equal(found: dict[tuple[str, str | None], Verdict]) -> bool:
    assert [verdict.as_json() for verdict in found.values() if not verdict.equal] == []
    return True


def test_every_kind_of_view_is_equal_over_files_and_late_rows_are_counted(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    place = ", ".join(f"{name} = '{value}'" for name, value in {**postgres, "database": database}.items())
    sinks = [
        "CREATE SINK copies FROM copy WITH (connector = 'files', path = 'out/copies', format = 'csv');",
        "CREATE SINK sums FROM totals WITH (connector = 'files', path = 'out/sums', format = 'parquet');",
        "CREATE SINK best FROM top WITH (connector = 'files', path = 'out/best');",
        "CREATE SINK boards FROM board WITH (connector = 'files', path = 'out/boards');",
        "CREATE SINK shown FROM copy WITH (connector = 'console');",
        f"CREATE SINK rows FROM copy WITH (connector = 'postgres', table = 'rows', {place});",
        f"CREATE SINK by_minute FROM minutes WITH (connector = 'postgres', table = 'by_minute', {place});",
        f"CREATE SINK places FROM ranked WITH (connector = 'postgres', table = 'places', {place});",
    ]
    trial.write("app.sql", "\n".join([SALES.format(FOLDER), COPY, TOTALS, WINDOWS, SLIDING, CUT, JOINED, *sinks]))
    for sales, returns in zip(BATCHES, RETURNS, strict=True):
        trial.feed("sales", *sales)
        trial.feed("returns", *returns)
    watched = trial.having(batch_files_max="1").drain()
    found = verdicts(trial)
    assert all_equal(found)
    assert len(found) == 13 + 8
    assert found["copy", "shown"].unread
    assert found["copy", "rows"].found.rows == found["copy", "copies"].found.rows == 12
    assert {view: found[view, None].late for view in ("minutes", "closed", "kinds")} == {"minutes": 3, "closed": 3, "kinds": 3}
    assert found["sliding", None].late == 3
    assert found["returned", None].late > 0
    assert {job: progress.late for job, progress in watched.last.items() if job in ("minutes", "closed")} == {"minutes": 3, "closed": 3}
    assert all(verdict.epoch >= 5 for verdict in found.values() if not verdict.unread)


def produced(servers: str, topic: str, rows: list[Row]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for row in rows:
        producer.produce(topic, value=json.dumps(row).encode())
    producer.flush()


def test_views_from_topic_to_topic_are_equal_also_while_they_run_and_in_a_second_life(trial: Trial, kafka: str) -> None:
    topic = f"sales-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(topic, 1)])[topic].result(30)  # one partition, so that the same rows are late every time
    source = f"connector = 'kafka', servers = '{kafka}', topic = '{topic}', format = 'json'"
    sinks = [
        f"CREATE SINK {view}_out FROM {view} WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}-{view}', delivery = 'exactly-once');"
        for view in ("copy", "totals", "closed")
    ]
    trial.write("app.sql", "\n".join([SALES.format(source), COPY, TOTALS, WINDOWS, *sinks]))
    for rows in BATCHES:
        produced(kafka, topic, rows)
    small = trial.having(batch_rows_max="2")  # so that there are several epochs, and rows that are late
    small.drain()
    found = verdicts(small)
    assert all_equal(found)
    assert [found[place].late for place in (("minutes", None), ("closed", None), ("closed", "closed_out"))] == [2, 2, 2]
    with small.live() as running:
        produced(kafka, topic, [sale(number, 400 + number) for number in range(20, 40)])
        running.until(lambda: len(trial_rows(trial, "copy")) > 14)
        assert all_equal(verdicts(trial, "copy"))
        running.until(lambda: len(trial_rows(trial, "copy")) == 32)
    trial.write("app.sql", (trial.folder / "app.sql").read_text(encoding="utf-8").replace("GROUP BY item;", "WHERE item <> 'milk' GROUP BY item;"))
    small.having(batch_rows_max="100").drain()
    found = verdicts(trial)
    assert all_equal(found)
    assert found["totals", "totals_out"].found.rows == 1  # milk, which the topic had in its first generation, was taken back


def trial_rows(trial: Trial, view: str) -> list[str]:
    """What the store holds now, if there is one."""
    try:
        with closing(sqlite3.connect(f"file:{trial.state / 'results.db'}?mode=ro", uri=True)) as store:
            return [row for (row,) in store.execute("SELECT row FROM penstock_rows WHERE view = ?", (view,))]
    except sqlite3.OperationalError:
        return []


def test_a_running_app_is_equal_at_every_moment(trial: Trial) -> None:
    trial.write(
        "app.sql",
        SALES.format(FOLDER) + COPY + TOTALS + WINDOWS + "CREATE SINK copies FROM copy WITH (connector = 'files', path = 'out');",
    )
    (trial.folder / "sales").mkdir()
    fed: list[Path] = []

    def feed(files: int = 1) -> None:
        for number in range(len(fed), len(fed) + files):
            rows = sale(100 + number, number * 30, "tea" if number % 3 else "milk"), sale(500 + number, (number * 7) % 90)
            fed.append(trial.feed("sales", *rows))
            time.sleep(0.1)

    with trial.live() as running:
        for _ in range(6):
            feed()
            running.until(lambda: len(trial_rows(trial, "copy")) == 2 * len(fed))
        running.until(lambda: all(trial_rows(trial, view) for view in ("totals", "minutes", "closed")))
        feeder = threading.Thread(target=feed, args=(10,))
        feeder.start()
        first = verdicts(trial)
        feeder.join()
        running.until(lambda: len(trial_rows(trial, "copy")) == 2 * len(fed))
        second = verdicts(trial, "copy")
    assert all_equal(first)
    assert all_equal(second)
    assert second["copy", None].found.rows == 32
    trial.drain()
    found = verdicts(trial, "copy")
    assert all_equal(found)
    assert found["copy", "copies"].found.rows == 2 * len(fed)
    assert verdicts(trial, "minutes")["minutes", None].late > 0


RowOwner = list[tuple[Row, Any]]  # a row, and what its place needs to write it again


class Place(Protocol):
    """Where rows of a view are kept, as somebody sees it who can write there."""

    def held(self) -> RowOwner: ...

    def put(self, held: RowOwner) -> None: ...


@dataclass(frozen=True)
class InStore:
    path: Path
    view: str

    def held(self) -> RowOwner:
        with sqlite3.connect(self.path) as store:
            found = store.execute("SELECT row, key FROM penstock_rows WHERE view = ? ORDER BY id", (self.view,)).fetchall()
        return [(json.loads(row), key) for row, key in found]

    def put(self, held: RowOwner) -> None:
        with sqlite3.connect(self.path) as store:
            store.execute("DELETE FROM penstock_rows WHERE view = ?", (self.view,))
            rows = [(self.view, key, json.dumps(row)) for row, key in held]
            store.executemany("INSERT INTO penstock_rows (view, key, row) VALUES (?, ?, ?)", rows)


@dataclass(frozen=True)
class InTable:
    connect: Callable[[], psycopg.Connection[tuple[Any, ...]]]
    table: str

    def held(self) -> RowOwner:
        with self.connect() as connection:
            return [(row, None) for (row,) in connection.execute(sql.SQL("SELECT to_jsonb(t) FROM {} t").format(sql.Identifier(self.table)))]

    def put(self, held: RowOwner) -> None:
        name = sql.Identifier(self.table)
        with self.connect() as connection:
            connection.execute(sql.SQL("DELETE FROM {}").format(name))
            for row, _ in held:
                insert = sql.SQL("INSERT INTO {} SELECT * FROM jsonb_populate_record(NULL::{}, %s)").format(name, name)
                connection.execute(insert, (json.dumps(row),))


@dataclass(frozen=True)
class InFolder:
    folder: Path

    def held(self) -> RowOwner:
        files = sorted(self.folder.glob("epoch=*/*.json"))
        return [(json.loads(line), file) for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def put(self, held: RowOwner) -> None:
        for file in self.folder.glob("epoch=*/*.json"):
            file.write_text("".join(json.dumps(row) + "\n" for row, place in held if place == file), encoding="utf-8")


@dataclass(frozen=True)
class InTopic:
    """What is in the topic is deleted and written again."""

    servers: str
    topic: str

    def held(self) -> RowOwner:
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": uuid.uuid4().hex, "enable.partition.eof": True, "auto.offset.reset": "earliest"}
        )
        places = [TopicPartition(self.topic, number, 0) for number in consumer.list_topics(self.topic, 30).topics[self.topic].partitions]
        consumer.assign(places)
        found, ends = [], 0
        while ends < len(places) and (record := consumer.poll(30)) is not None:
            if record.error() is None:
                found.append((json.loads(record.value() or b"{}"), record))
            ends += record.error() is not None
        consumer.close()
        return found

    def put(self, held: RowOwner) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})
        everything = [TopicPartition(self.topic, number, -1) for number in admin.list_topics(self.topic, timeout=30).topics[self.topic].partitions]
        for deleted in admin.delete_records(everything).values():
            deleted.result(30)
        producer = Producer({"bootstrap.servers": self.servers})
        for row, record in held:
            producer.produce(self.topic, value=json.dumps(row).encode(), key=record.key(), headers=record.headers(), partition=record.partition())
        producer.flush()


@dataclass(frozen=True)
class Planted:
    """An app that has run, and the places where its views are, by kind."""

    trial: Trial
    places: Callable[[str], dict[str, Place]]

    def verdicts(self, view: str, fault: Callable[[RowOwner], RowOwner]) -> dict[str, Verdict]:
        """By kind of place, while each of them holds what `fault` makes of it."""
        places = self.places(view)
        before = {kind: place.held() for kind, place in places.items()}
        try:
            for kind, place in places.items():
                place.put(fault(before[kind]))
            found = {verdict.kind: verdict for verdict in verdicts(self.trial, view).values()}
        finally:
            for kind, place in places.items():
                place.put(before[kind])
        assert list(found) == ["store", "files", "postgres", "kafka"]
        assert "NOT equal: 4 of 4 places differ" in summary(list(found.values())), [verdict.in_words() for verdict in found.values()]
        return found


@pytest.fixture(scope="module")
def planted(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, kafka: str, postgres: dict[str, str | int], postgres_server: TemporaryPostgres
) -> Planted:
    trial = Trial(tmp_path_factory.mktemp("planted"), spark, {"batch_files_max": "1"})
    database, topic = postgres_server.new_database(), f"planted-{uuid.uuid4().hex[:8]}"
    place = ", ".join(f"{name} = '{value}'" for name, value in {**postgres, "database": database}.items())
    sinks = [
        f"CREATE SINK {view}_{kind} FROM {view} WITH (connector = '{kind}', {options});"
        for view in ("copy", "totals")
        for kind, options in {
            "files": f"path = 'out/{view}'",
            "postgres": f"table = '{view}', {place}",
            "kafka": f"servers = '{kafka}', topic = '{topic}-{view}', delivery = 'exactly-once'",
        }.items()
    ]
    trial.write("app.sql", "\n".join([SALES.format(FOLDER), COPY, TOTALS, *sinks]))
    for rows in BATCHES:
        trial.feed("sales", *rows)
    trial.drain()
    assert all_equal(verdicts(trial))

    def places(view: str) -> dict[str, Place]:
        return {
            "store": InStore(trial.state / "results.db", view),
            "files": InFolder(trial.folder / "out" / view),
            "postgres": InTable(lambda: postgres_server.connect(database), view),
            "kafka": InTopic(kafka, f"{topic}-{view}"),
        }

    return Planted(trial, places)


def counts(verdict: Verdict) -> tuple[int, int, int]:
    return len(verdict.found.missing), len(verdict.found.extra), len(verdict.found.different)


def faults(verdict: Verdict) -> list[dict[str, Any]]:
    found = verdict.as_json()["faults"]
    assert isinstance(found, list)
    return found


def test_a_lost_row_is_named_in_every_kind_of_sink_with_its_place_in_the_input(planted: Planted) -> None:
    for verdict in planted.verdicts("copy", lambda held: [pair for pair in held if pair[0]["id"] != 7]).values():
        assert counts(verdict) == (1, 0, 0), verdict.kind
        (fault,) = faults(verdict)
        assert json.loads(fault["expected"]) == {"id": 7, "item": "tea", "amount": 70}
        assert fault["epoch"] == 3
        assert fault["input"] == [f"{planted.trial.folder / 'sales' / '0003.json'} line 2"]


def test_a_doubled_row_is_named_in_every_kind_of_sink(planted: Planted) -> None:
    for verdict in planted.verdicts("copy", lambda held: [*held, *(pair for pair in held if pair[0]["id"] == 7)]).values():
        assert counts(verdict) == (0, 1, 0), verdict.kind
        (fault,) = faults(verdict)
        assert json.loads(fault["found"]) == {"id": 7, "item": "tea", "amount": 70}
        assert fault["place"]
        assert fault["input"] == [f"{planted.trial.folder / 'sales' / '0003.json'} line 2"]


def test_a_changed_value_is_named_in_every_kind_of_sink(planted: Planted) -> None:
    """In a keyed view it is the row of that key that is different; in a view without a key one row is missing and one too many."""
    found = planted.verdicts("totals", lambda held: [({**row, "total": 591} if row["total"] == 590 else row, tag) for row, tag in held])
    for verdict in found.values():
        assert counts(verdict) == (0, 0, 1), verdict.kind
        (fault,) = faults(verdict)
        assert json.loads(fault["expected"])["total"] == 590
        assert json.loads(fault["found"])["total"] == 591
        assert len(fault["input"]) == 5
    for verdict in planted.verdicts("copy", lambda held: [({**row, "amount": 71} if row["id"] == 7 else row, tag) for row, tag in held]).values():
        assert counts(verdict) == (1, 1, 0), verdict.kind


def test_a_skipped_epoch_is_named_in_every_kind_of_sink(planted: Planted) -> None:
    for verdict in planted.verdicts("copy", lambda held: [pair for pair in held if pair[0]["id"] not in (6, 7, 8)]).values():
        assert counts(verdict) == (3, 0, 0), verdict.kind
        assert [fault["epoch"] for fault in faults(verdict)] == [3, 3, 3]
        assert "of epoch 3" in "\n".join(verdict.in_words())


def test_the_last_epoch_is_missed_even_though_nothing_follows_it(planted: Planted) -> None:
    for verdict in planted.verdicts("copy", lambda held: [pair for pair in held if pair[0]["id"] not in (11, 12)]).values():
        assert counts(verdict) == (2, 0, 0), verdict.kind
        assert {fault["epoch"] for fault in faults(verdict)} == {5}


LOSING = """
CREATE MATERIALIZED VIEW copy AS SELECT id, amount FROM sales;
CREATE MATERIALIZED VIEW straight WITH (store = false) AS SELECT id, amount FROM sales;
CREATE SINK copy_files FROM copy WITH (connector = 'files', path = 'out/copy');
CREATE SINK copy_table FROM copy WITH (connector = 'postgres', table = 'copy', {place});
CREATE SINK straight_files FROM straight WITH (connector = 'files', path = 'out/straight');
CREATE SINK straight_table FROM straight WITH (connector = 'postgres', table = 'straight', {place});
"""


def test_a_sink_that_was_set_back_or_emptied_is_not_equal_and_a_run_says_the_same(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """Its own ledger went back with its rows, so it looks like one that only lags, or that has nothing to lag behind."""
    place = ", ".join(f"{name} = '{value}'" for name, value in {**postgres, "database": database}.items())
    trial = trial.having(batch_files_max="1")
    trial.write("app.sql", SALES.format(FOLDER) + LOSING.format(place=place))
    trial.feed("sales", sale(1, 5))
    trial.drain()
    shutil.copytree(trial.folder / "out", trial.folder.parent / "older")
    for number in (2, 3):
        trial.feed("sales", sale(number, number))
    trial.drain()
    assert all_equal(verdicts(trial))
    shutil.rmtree(trial.folder / "out")
    (trial.folder.parent / "older").rename(trial.folder / "out")
    with postgres_server.connect(database) as connection:
        for table in ("copy", "straight"):
            connection.execute(sql.SQL("DELETE FROM {} WHERE id > 1").format(sql.Identifier(table)))
        connection.execute("UPDATE penstock_sinks SET epoch = 0")
    sinks = {key: verdict for key, verdict in verdicts(trial).items() if key[1] is not None}
    assert len(sinks) == 4
    for (view, sink), verdict in sinks.items():
        assert (verdict.equal, counts(verdict), verdict.behind) == (False, (2, 0, 0), 0)
        assert f"sink `{sink}` has view `{view}` up to epoch 0, but epochs up to 2 were delivered to it" in verdict.refused
    _, seen = trial.fail(StateError)
    for view in ("copy", "straight"):
        assert sinks[view, f"{view}_files"].refused.startswith(f"{seen.last[view].detail}; ")
    shutil.rmtree(trial.folder / "out")
    with postgres_server.connect(database) as connection:
        connection.execute("DROP TABLE copy, straight, penstock_sinks")
    for (_, sink), verdict in verdicts(trial).items():
        assert verdict.equal is (sink is None)
        assert sink is None or (counts(verdict) == (3, 0, 0) and "up to epoch -1, but epochs up to 2" in verdict.refused)


def test_a_sink_of_a_view_that_was_quiet_for_long_is_compared_all_the_same(trial: Trial) -> None:
    """Nothing of such a view is logged, so its sink stays at an epoch that Spark has forgotten; only streams with event time keep theirs."""
    stream = "CREATE STREAM lines (k STRING, level STRING) WITH (connector = 'files', path = 'lines', format = 'json');"
    view = "CREATE MATERIALIZED VIEW worst AS SELECT k, count(*) AS n FROM lines WHERE level = 'ERROR' GROUP BY k ORDER BY 2 DESC LIMIT 3;"
    sinks = "".join(
        f"CREATE SINK {name} FROM worst WITH (connector = 'files', path = 'out/{name}', delivery = '{delivery}');"
        for name, delivery in {"once": "exactly-once", "least": "at-least-once"}.items()
    )
    trial.write("app.sql", stream + view + sinks)
    for level in ("ERROR", "INFO", "INFO", "INFO"):
        trial.feed("lines", {"k": "a", "level": level})
    trial.having(batch_files_max="1").drain()
    found = Catalog(trial.state).present_generation("worst")
    assert found is not None
    for epoch in (0, 1):
        (found.checkpoint / "offsets" / str(epoch)).unlink()
    assert not (found.checkpoint / "epochs.log").exists()
    found_by_sink = verdicts(trial)
    assert all_equal(found_by_sink)
    assert [(verdict.epoch, verdict.found.rows, verdict.behind) for verdict in found_by_sink.values()] == [(3, 1, 0)] * 3


EMPTY = """
CREATE STREAM sales (id INT, item STRING) WITH (connector = 'files', path = 'sales', format = 'json');
CREATE STREAM more (id INT, item STRING) WITH (connector = 'files', path = 'more', format = 'json');
CREATE MATERIALIZED VIEW both AS SELECT id, item FROM sales UNION ALL SELECT id, item FROM more;
CREATE MATERIALIZED VIEW paired AS SELECT s.id, m.item FROM sales s LEFT JOIN more m ON s.id = m.id;
"""


def test_a_stream_that_had_nothing_yet_counts_for_nothing_whatever_came_to_it_since(trial: Trial) -> None:
    """Spark's log has no end for it, which is not the end of all that is there now."""
    trial.write("app.sql", EMPTY)
    trial.feed("sales", {"id": 1, "item": "tea"})
    (trial.folder / "more").mkdir()
    trial.drain()
    trial.feed("more", {"id": 1, "item": "milk"})
    assert all_equal(verdicts(trial))
    with closing(sqlite3.connect(trial.state / "results.db")) as connection, connection:
        for view in ("both", "paired"):
            assert connection.execute("DELETE FROM penstock_rows WHERE view = ?", (view,)).rowcount == 1
    for view in ("both", "paired"):
        verdict = verdicts(trial, view)[view, None]
        assert counts(verdict) == (1, 0, 0)
        ((epoch, places),) = [(fault["epoch"], fault["input"]) for fault in faults(verdict)]
        assert (epoch, len(places)) == (0, 1)
        assert "/sales/" in places[0]


def test_a_row_lost_in_a_large_sum_of_doubles_is_found_and_the_order_of_additions_is_not(trial: Trial) -> None:
    """Tenths that are added epoch by epoch end in other digits than in one go."""
    trial = trial.having(batch_files_max="1")
    trial.write(
        "app.sql",
        """CREATE STREAM paid (k STRING, v DOUBLE) WITH (connector = 'files', path = 'paid', format = 'json');
        CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS total FROM paid GROUP BY k;""",
    )
    tenths: list[Row] = [{"k": "small", "v": number / 10} for number in range(50)]
    for part in range(3):
        trial.feed("paid", *tenths[part::3], {"k": "large", "v": [2e9, 1.5, 7.25][part]})
    trial.drain()
    assert all_equal(verdicts(trial))
    with closing(sqlite3.connect(trial.state / "results.db")) as connection, connection:
        lost = connection.execute("UPDATE penstock_rows SET row = replace(row, '2.00000000875E9', '2.00000000725E9') WHERE row LIKE '%large%'")
        assert lost.rowcount == 1
    (verdict,) = verdicts(trial).values()
    assert counts(verdict) == (0, 0, 1)


def test_what_never_ran_or_has_changed_since_is_reported_plainly(trial: Trial) -> None:
    trial.write("app.sql", SALES.format(FOLDER) + COPY)
    with pytest.raises(StateError, match="nothing has run yet"):
        verdicts(trial)
    assert not trial.state.exists()
    with pytest.raises(NameFault, match="no stream, table or view `cpoy`"):
        verdicts(trial, "cpoy")
    trial.feed("sales", *BATCHES[0])
    trial.drain()
    assert all_equal(verdicts(trial))
    trial.write("app.sql", SALES.format(FOLDER) + COPY + TOTALS)
    assert all_equal(verdicts(trial, "copy"))
    with pytest.raises(StateError, match="`totals` has not run yet"):
        verdicts(trial)
    trial.write("app.sql", SALES.format(FOLDER) + COPY.replace("> 0", "> 10"))
    with pytest.raises(StateError, match="`copy` has changed since it ran"):
        verdicts(trial)
    trial.write("app.sql", SALES.format(FOLDER) + "CREATE MATERIALIZED VIEW broken AS SELECT id / 0 AS n FROM sales;" + COPY)
    trial.fail(PlanFault)
    seen: list[Verdict] = []
    with trial.engine() as engine, pytest.raises(StateError, match="`broken` has not finished an epoch"):
        seen.extend(verify(engine, session=trial.session))
    assert [(verdict.view, verdict.equal) for verdict in seen] == [("copy", True)]


def test_the_page_about_verify_runs_as_written(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "verify.md").read_text(encoding="utf-8")
    steps = re.findall(r"^```sh\n(.*?)^```\n\n(?:```text\n(.*?)^```)?", page, re.MULTILINE | re.DOTALL)
    assert len(steps) == 2
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PENSTOCK_MASTER": "local[2]", "PENSTOCK_DRIVER_MEMORY": "1g", "PENSTOCK_FAST_START": "true", "NO_COLOR": "1"}
    for commands, shown in steps:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        assert done.stdout.replace(str(tmp_path), "$PWD") == shown

"""What a crash in the middle of an epoch does to what was delivered: nothing where exactly-once is promised."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.errors import SinkError
from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Row, Trial

SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;"
TOP = "CREATE MATERIALIZED VIEW top AS SELECT item, total FROM totals ORDER BY total DESC LIMIT 1;"
# Listed after the other sinks, this one fails when they have the epoch and Spark has not: what a crash at that moment does.
CRASH = """
from pathlib import Path

def crash(changes, epoch):
    mark = Path(__file__).parent / f"crashed-{epoch}"
    if epoch == 1 and not mark.exists():
        mark.touch()
        raise RuntimeError("crash between the sinks' commit and Spark's")
"""
ROWS = [("tea", 1), ("milk", 2), ("tea", 3), ("salt", 4)]


def app(trial: Trial, *statements: str) -> Trial:
    """The statements over four files, one epoch each, of which the second crashes."""
    trial.write("app.sql", "\n".join([SALES, *statements]))
    trial.write("crashing.py", CRASH)
    for item, amount in ROWS:
        trial.feed("sales", {"item": item, "amount": amount})
    return trial.having(batch_files_max="1")


def crash(view: str) -> str:
    return f"CREATE SINK zz_crash FROM {view} WITH (connector = 'callback', callback = 'crashing:crash');"


def epochs(trial: Trial, path: str) -> dict[int, list[Row]]:
    return {
        int(file.parent.name.removeprefix("epoch=")): [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for file in sorted((trial.folder / path).glob("epoch=*/*.json"))
    }


def crashed(trial: Trial) -> bool:
    return (trial.folder / "crashed-1").exists()


def place(server: dict[str, str | int], database: str) -> str:
    return ", ".join(f"{name} = '{value}'" for name, value in {**server, "database": database}.items() if value not in ("", None))


def values(servers: str, topic: str) -> Iterable[Row]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "enable.auto.commit": False})
    try:
        places = [TopicPartition(topic, number, 0) for number in consumer.list_topics(topic, 30).topics[topic].partitions]
        consumer.assign(places)
        for _ in range(sum(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)):
            record = consumer.poll(30)
            assert record is not None
            value = record.value()
            assert isinstance(value, bytes)
            yield json.loads(value)
    finally:
        consumer.close()


def test_a_crash_after_the_stores_commit_doubles_and_loses_nothing_in_store_files_and_postgres(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """The epoch is run again by Spark and recognised by the ledger of each."""
    small = app(
        trial,
        COPY,
        "CREATE SINK f FROM copy WITH (connector = 'files', path = 'out', delivery = 'exactly-once');",
        f"CREATE SINK p FROM copy WITH (connector = 'postgres', {place(postgres, database)}, table = 'copy', delivery = 'exactly-once');",
        crash("copy"),
    )
    seen = small.drain(restarts=1)
    assert crashed(trial)
    assert seen.last["copy"].restarts == 1
    wanted = [{"item": item, "amount": amount} for item, amount in ROWS]
    assert trial.rows("copy") == wanted
    assert epochs(trial, "out") == {number: [row] for number, row in enumerate(wanted)}
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT item, amount FROM copy ORDER BY amount").fetchall() == ROWS


def test_a_crash_in_a_view_with_state_counts_every_row_once_and_its_followers_too(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """A replayed epoch still runs its plan, so that Spark's state has it, but is not written twice."""
    small = app(
        trial,
        TOTALS,
        TOP,
        "CREATE SINK f FROM totals WITH (connector = 'files', path = 'out');",
        f"CREATE SINK p FROM top WITH (connector = 'postgres', {place(postgres, database)}, table = 'top');",
        crash("totals"),
    )
    small.drain(restarts=1)
    assert crashed(trial)
    assert {row["item"]: row["total"] for row in trial.rows("totals")} == {"tea": 4, "milk": 2, "salt": 4}
    changes = [(number, change["item"], change["total"]) for number, rows in epochs(trial, "out").items() for change in rows]
    assert changes == [(0, "tea", 1), (1, "milk", 2), (2, "tea", 4), (3, "salt", 4)]
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT total FROM top").fetchall() == [(4,)]


def test_a_view_without_a_store_is_exactly_once_in_sinks_that_keep_a_ledger(trial: Trial) -> None:
    """There is no outbox to deliver from: the sink itself knows what it has."""
    small = app(
        trial,
        COPY.replace("copy AS", "copy WITH (store = false) AS"),
        "CREATE SINK f FROM copy WITH (connector = 'files', path = 'out');",
        crash("copy"),
    )
    small.drain(restarts=1)
    assert crashed(trial)
    assert epochs(trial, "out") == {number: [{"item": item, "amount": amount}] for number, (item, amount) in enumerate(ROWS)}


def test_the_results_store_on_postgres_is_exactly_once_too(trial: Trial, postgres: dict[str, str | int], database: str) -> None:
    """Rows, change log and ledger are one transaction there as well."""
    login = f"{postgres['user']}:{postgres['password']}" if postgres.get("password") else str(postgres["user"])
    address = f"postgres://{login}@{postgres['host']}:{postgres['port']}/{database}"
    small = app(trial, TOTALS, crash("totals")).having(store=address)
    small.drain(restarts=1)
    assert crashed(trial)
    assert {row["item"]: row["total"] for row in small.rows("totals")} == {"tea": 4, "milk": 2, "salt": 4}


@pytest.mark.parametrize("stored", ["true", "false"])
def test_kafka_loses_nothing_and_may_repeat_only_the_epoch_that_crashed(trial: Trial, kafka: str, stored: str) -> None:
    """At-least-once: every row is there, and no epoch but the crashed one can be there twice."""
    topic = uuid.uuid4().hex
    small = app(
        trial,
        COPY.replace("copy AS", f"copy WITH (store = {stored}) AS"),
        f"CREATE SINK k FROM copy WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');",
        crash("copy"),
    )
    small.drain(restarts=1)
    assert crashed(trial)
    got = Counter((row["item"], row["amount"]) for row in values(kafka, topic))
    assert set(got) == set(ROWS)
    assert all(times == 1 for row, times in got.items() if row != ROWS[1])
    assert got[ROWS[1]] in (1, 2)


def test_sinks_that_were_away_get_every_epoch_they_missed_in_order(trial: Trial) -> None:
    """The change log waits for a sink that fails: it takes up where it stood, the others do not repeat."""
    trial.write("app.sql", "\n".join([SALES, COPY, "CREATE SINK f FROM copy WITH (connector = 'files', path = 'out');"]))
    for item, amount in ROWS:
        trial.feed("sales", {"item": item, "amount": amount})
    small = trial.having(batch_files_max="1", restarts_max="0")
    in_the_way = trial.folder / "out" / "_penstock"  # the sink's own file has this name
    in_the_way.mkdir(parents=True)
    small.fail(SinkError)
    in_the_way.rmdir()
    small.drain()
    assert epochs(trial, "out") == {number: [{"item": item, "amount": amount}] for number, (item, amount) in enumerate(ROWS)}

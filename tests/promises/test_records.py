"""Options of formats hold for records of Kafka and lines of a socket as they do for files; what a mended declaration can read is read again, once."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.dev.produce import produce
from penstock.testing.trial import Trial
from penstock.verify.run import verify

COLUMNS = "id INT, name STRING, amount DECIMAL(12,2), at TIMESTAMP, day DATE, WATERMARK FOR at AS at - INTERVAL 10 SECONDS"
WRITTEN = ", delimiter = ';', null_value = 'NA', decimal = ',', encoding = 'windows-1252', zone = 'Europe/Lisbon', date_format = 'dd.MM.yyyy'"
MENDED = f"{WRITTEN}, timestamp_format = 'yyyy/MM/dd HH:mm'"
VIEWS = """
    CREATE MATERIALIZED VIEW names AS SELECT id, name, amount, at, day FROM orders;
    CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(amount) AS total FROM orders;
"""
LINES = [
    "1;José;1.234,50;2015/07/01 10:00;01.07.2015",
    "2;NA;NA;2015/01/01 10:00;NA",
    "3;Zoë;x;2015/01/01 10:00;NA",
    "4;10 €;2;2015/01/01 11:00;NA",
]
ROWS = [
    {"id": 1, "name": "José", "amount": "1234.50", "at": "2015-07-01T09:00:00Z", "day": "2015-07-01"},
    {"id": 2, "name": None, "amount": None, "at": "2015-01-01T10:00:00Z", "day": None},
    {"id": 4, "name": "10 €", "amount": "2.00", "at": "2015-01-01T11:00:00Z", "day": None},
]


@pytest.fixture
def topic() -> str:
    return f"records-{uuid.uuid4().hex}"


def encoded(lines: list[str]) -> list[bytes]:
    return [line.encode("windows-1252") for line in lines]


def all_equal(trial: Trial) -> bool:
    with trial.engine() as engine:
        found = list(verify(engine, session=trial.session))
    return bool(found) and all(verdict.equal for verdict in found)


def replay(trial: Trial) -> str:
    with trial.engine() as engine:
        return engine.replay("orders")


def rows(trial: Trial) -> list[dict[str, object]]:
    return sorted(trial.rows("names"), key=lambda row: int(row["id"]))


def letters(trial: Trial) -> list[int]:
    return sorted(letter["position"]["offset"] for letter in trial.rows("orders__dead"))


def test_records_of_a_topic_are_read_by_a_mended_declaration_once(trial: Trial, kafka: str, topic: str) -> None:
    head = f"CREATE STREAM orders ({COLUMNS}) WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}', format = 'csv'%s);{VIEWS}"
    produce([*encoded(LINES), b"5;\x81;1;2015/01/01 10:00;NA"], kafka, topic, partitions=1)
    trial.write("app.sql", head % WRITTEN)
    trial.drain()
    assert (rows(trial), letters(trial)) == ([], [0, 1, 2, 3, 4])
    assert "none of the 5 records" in replay(trial)
    trial.write("app.sql", head % MENDED)
    assert replay(trial).startswith("3 of 5 records of `orders` can be read by now; the next `penstock run`")
    trial.drain()
    produce(encoded(["6;Ada;1;2015/01/01 12:00;NA"]), kafka, topic)
    trial.drain()
    added = {"id": 6, "name": "Ada", "amount": "1.00", "at": "2015-01-01T12:00:00Z", "day": None}
    assert rows(trial) == [*ROWS, added]
    assert trial.rows("totals") == [{"n": 4, "total": "1237.50"}] == trial.batch("totals")
    assert {letter["reason"] for letter in trial.rows("orders__dead")} == {"does not fit the declared types: amount", "not valid windows-1252"}
    assert letters(trial) == [2, 4]
    assert "none of the 2 records" in replay(trial)
    assert all_equal(trial)


def test_what_a_run_has_read_since_the_mending_leaves_the_list_when_that_is_asked(trial: Trial) -> None:
    head = f"CREATE STREAM orders ({COLUMNS}) WITH (connector = 'files', path = 'orders', format = 'csv'%s);{VIEWS}"
    trial.feed_bytes("orders", b"\r\n".join(encoded(LINES)), "csv")
    trial.write("app.sql", head % WRITTEN)
    trial.drain()
    trial.write("app.sql", head % MENDED)
    trial.drain()
    assert rows(trial) == ROWS
    assert len(trial.rows("orders__dead")) == 4
    assert replay(trial) == "3 of 4 records of `orders` can be read by now; the views over it have read them since, once"
    trial.drain()
    assert (rows(trial), len(trial.rows("orders__dead"))) == (ROWS, 1)
    assert all_equal(trial)


@contextmanager
def sends(content: bytes) -> Iterator[int]:
    """A server that sends this to the first who comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.sendall(content)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(30)


def test_lines_of_a_socket_have_the_options_of_formats_too(trial: Trial) -> None:
    with sends(b"\r\n".join(encoded(LINES)) + b"\r\n") as port:
        trial.write("app.sql", f"CREATE STREAM orders ({COLUMNS}) WITH (connector = 'socket', port = {port}, format = 'csv'{MENDED});{VIEWS}")
        trial.drain()
    assert rows(trial) == ROWS
    (dead,) = trial.rows("orders__dead")
    assert dead["reason"] == "does not fit the declared types: amount"
    assert all_equal(trial)


@pytest.mark.parametrize(
    ("records", "proposed"),
    [
        (encoded(LINES), ["c4 TIMESTAMP", "delimiter = ';'", "timestamp_format = 'yyyy/MM/dd HH:mm'", "encoding = 'windows-1252'"]),
        (
            [b'{"id": 1,\n "at": 1420106400}', b'{"id": 2, "at": 1420106401}'],
            ["id BIGINT", "`at` TIMESTAMP", "WATERMARK FOR `at`", "'epoch_seconds'"],
        ),
    ],
    ids=["csv", "json"],
)
def test_a_declaration_is_inferred_from_a_topic_and_reads_it(trial: Trial, kafka: str, topic: str, records: list[bytes], proposed: list[str]) -> None:
    produce(records, kafka, topic, partitions=2)
    found = CliRunner().invoke(program(), ["infer", topic, "--servers", kafka, "--name", "orders"])
    assert found.exit_code == 0, found.stderr
    assert [words for words in proposed if words not in found.stdout] == []
    trial.write("app.sql", found.stdout + "CREATE MATERIALIZED VIEW copy AS SELECT * FROM orders;")
    assert len(trial.batch("copy")) == len(records)

"""Records that do not decode: none stops a view, none is lost from sight, none costs a good one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import logging
import random
import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.catalog import Catalog
from penstock.errors import OptionFault, SourceError
from penstock.testing.trial import Trial
from penstock.verify.run import verify

BROKEN: list[tuple[bytes | None, str]] = [
    (b'{"id": 1, "amount": 2', "not valid JSON"),
    (b'{"id": "seven", "amount": 1}', "does not fit the declared types: id"),
    (b"", "no value"),
    (b'{"id": 1, "note": "\xff\xfe"}', "not valid UTF-8"),
    (None, "no value"),
    (b'{"id": 1, "amount": 2} garbage', "more follows the JSON record"),
    (b'{"id": 1, "amount": 2}}', "more follows the JSON record"),
    (b'{"id": 1, "amount": 2}{"id": 2, "amount": 3}', "more follows the JSON record"),
    (b'{"id": 1, "amount": 2}, {"id": 2}', "more follows the JSON record"),
    (b"[]", "does not fit the declared types"),
]
GOOD_FORMS = (
    '{"id": %d, "amount": %d, "note": "tee ☕"}'.encode(),
    '  {"id": %d, "amount": %d, "note": "tee ☕", "more": {"of": [{}, {"it": "}"}]}} \r\n'.encode(),
    '{"id": %d, "amount": %d, "note": "tee ☕", "more": {"n": NaN}}'.encode(),
)
GOOD, BAD = 950, 50


@pytest.fixture
def topic(kafka: str) -> str:
    """A topic of two partitions."""
    name = uuid.uuid4().hex
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, num_partitions=2)])[name].result(30)
    return name


def filled(servers: str, topic: str) -> tuple[int, dict[tuple[int, int], str]]:
    """950 good records and 50 broken ones in random order; the sum of the good amounts, and the broken ones by partition and offset."""
    order = random.Random(7)
    records: list[tuple[bytes | None, str | None]] = [(GOOD_FORMS[number % len(GOOD_FORMS)] % (number, number % 9), None) for number in range(GOOD)]
    records += [BROKEN[number % len(BROKEN)] for number in range(BAD)]
    order.shuffle(records)
    producer = Producer({"bootstrap.servers": servers})
    places: dict[tuple[int, int], str] = {}
    ends = [0, 0]
    for value, reason in records:
        partition = order.randrange(2)
        producer.produce(topic, value, partition=partition)
        if reason is not None:
            places[partition, ends[partition]] = reason
        ends[partition] += 1
    assert producer.flush(60) == 0
    return sum(number % 9 for number in range(GOOD)), places


def test_a_topic_with_5_percent_broken_records_loses_no_good_one_and_every_broken_one_is_found_once(trial: Trial, kafka: str, topic: str) -> None:
    """Three views read the stream; each has all the good records, and the broken ones are kept once, with offset and reason."""
    total, places = filled(kafka, topic)
    trial.write(
        "app.sql",
        f"""
        CREATE STREAM orders (id INT, amount INT, note STRING) WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}', format = 'json');
        CREATE MATERIALIZED VIEW copy AS SELECT id, note FROM orders;
        CREATE MATERIALIZED VIEW sums AS SELECT sum(amount) AS total, count(*) AS n FROM orders;
        CREATE MATERIALIZED VIEW ranked AS SELECT id, rank() OVER (ORDER BY amount DESC, id) AS place FROM orders;
        """,
    )
    seen = trial.having(batch_rows_max="400").drain()
    assert trial.rows("sums") == [{"total": total, "n": GOOD}]
    copied = trial.rows("copy")
    assert sorted(row["id"] for row in copied) == list(range(GOOD))
    assert {row["note"] for row in copied} == {"tee ☕"}
    assert len(trial.rows("ranked")) == GOOD
    letters = trial.rows("orders__dead")
    assert {(letter["position"]["partition"], letter["position"]["offset"]): letter["reason"] for letter in letters} == places
    assert len(letters) == BAD
    assert {letter["position"]["topic"] for letter in letters} == {topic}
    assert sum(progress.dead for progress in seen.last.values()) == BAD
    assert {letter["raw"] for letter in letters if letter["reason"] == "not valid JSON"} == {'{"id": 1, "amount": 2'}
    assert trial.batch("sums") == [{"total": total, "n": GOOD}]


def test_a_broken_line_of_a_file_is_found_with_file_and_line(trial: Trial) -> None:
    """The good lines around it are read, and the letter holds the line as it was."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM orders (id INT, note STRING) WITH (connector = 'files', path = 'orders', format = 'json');
        CREATE MATERIALIZED VIEW copy AS SELECT id, note FROM orders;
        CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM orders;
        """,
    )
    first = trial.feed_bytes("orders", b'{"id": 1, "note": "a"}\n{"id": 2, "note": \n{"id": 3, "note": "c"}\n')
    second = trial.feed_bytes("orders", '{"id": 4, "note": "d"}\n{"id": 5}\n{"id": "sechs", "note": "größer"}\n'.encode())
    trial.drain()
    assert trial.rows("n") == [{"n": 4}]
    letters = {(letter["position"]["file"], letter["position"]["line"]): letter for letter in trial.rows("orders__dead")}
    assert set(letters) == {(str(first), 2), (str(second), 3)}
    assert letters[str(first), 2]["raw"] == '{"id": 2, "note": '
    assert letters[str(second), 3]["raw"] == '{"id": "sechs", "note": "größer"}'
    assert {letter["base64"] for letter in letters.values()} == {None}
    assert letters[str(second), 3]["reason"] == "does not fit the declared types: id"


def test_a_broken_line_of_csv_is_found_as_it_was_with_its_line_and_the_columns_to_blame(trial: Trial) -> None:
    """Also where the reader could read it and kept no text: no values at all, bytes that are not UTF-8, a time too far ahead."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM s (id INT, note STRING, price DECIMAL(6,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
          WITH (connector = 'files', path = 's', format = 'csv', header = 'true');
        CREATE MATERIALIZED VIEW copy AS SELECT id, note FROM s;
        """,
    )
    lines = [
        b"note,id,price,at",
        b'"a, ""b""",1,2.50,2024-05-01T10:00:00Z',
        b",,,",
        b'"x, y",two,many,2024-05-01T10:00:00Z',
        b"z,3,1,2131-05-01T10:00:00Z",
        b"\xff,4,1,2024-05-01T10:00:00Z",
        b",,,",
        b"short,5",
    ]
    file = trial.feed_bytes("s", b"\n".join(lines) + b"\n")
    trial.drain()
    assert trial.rows("copy") == [{"id": 1, "note": 'a, "b"'}]
    letters = trial.rows("s__dead")
    assert {letter["position"]["file"] for letter in letters} == {str(file)}
    assert {letter["position"]["line"]: letter["raw"] for letter in letters} == {
        number: line.decode("utf-8", "replace") for number, line in enumerate(lines, start=1) if number > 2
    }
    assert [base64.b64decode(letter["base64"]) for letter in letters if letter["base64"]] == [lines[5]]
    reasons = {letter["position"]["line"]: letter["reason"] for letter in letters}
    assert "beyond max_ahead 1 day" in reasons.pop(5)
    assert reasons == {
        3: "none of the declared columns",
        4: "does not fit the declared types: id, price",
        6: "not valid UTF-8",
        7: "none of the declared columns",
        8: "does not fit the declared types: more or fewer than 4 values",
    }


def test_a_record_from_which_a_column_cannot_be_computed_is_a_letter_and_stops_nothing(trial: Trial) -> None:
    """Text that is no time and a division by zero; a column that is NULL because its input is, is good."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM s (id INT, t STRING, n INT, at AS to_timestamp(t), share DOUBLE AS (100 / n), day DATE AS (CAST(to_timestamp(t) AS DATE)),
          WATERMARK FOR at AS at - INTERVAL 1 SECOND)
          WITH (connector = 'files', path = 's', format = 'json');
        CREATE MATERIALIZED VIEW copy AS SELECT id FROM s;
        CREATE MATERIALIZED VIEW shares AS SELECT id, share FROM s;
        CREATE MATERIALIZED VIEW hourly AS SELECT window.start AS since, count(*) AS n FROM s GROUP BY window(at, '1 hour') EMIT ON WINDOW CLOSE;
        CREATE MATERIALIZED VIEW of_may AS SELECT id FROM s WHERE at >= '2024-05-01' AND at < '2024-06-01' AND day <> '2024-05-02';
        """,
    )
    good = [
        {"id": 1, "t": "2024-05-01 10:00:00", "n": 4},
        {"id": 2, "t": "2024-05-01 10:30:00"},
        {"id": 3, "n": 5},
        {"id": 4, "t": "2024-05-01 12:00:00", "n": 1},
    ]
    bad = [{"id": 5, "t": "soon", "n": 1}, {"id": 6, "t": "2024-05-01 10:00:00", "n": 0}]
    trial.feed_bytes("s", "\n".join(json.dumps(row) for row in [good[0], bad[0], *good[1:], bad[1]]).encode())
    trial.drain()
    assert sorted(row["id"] for row in trial.rows("copy")) == [1, 2, 3, 4]
    assert {row["id"]: row["share"] for row in trial.rows("shares")} == {1: 25.0, 2: None, 3: 20.0, 4: 100.0}
    assert [row["n"] for row in trial.rows("hourly")] == [2]
    letters = {json.loads(letter["raw"])["id"]: letter for letter in trial.rows("s__dead")}
    assert {number: letter["reason"] for number, letter in letters.items()} == {
        5: "the column `at` cannot be computed",
        6: "the column `share` cannot be computed",
    }
    assert {number: letter["position"]["line"] for number, letter in letters.items()} == {5: 2, 6: 6}
    assert trial.batch("hourly") == trial.rows("hourly")
    assert sorted(row["id"] for row in trial.batch("copy")) == [1, 2, 3, 4]
    assert sorted(row["id"] for row in trial.batch("of_may")) == sorted(row["id"] for row in trial.rows("of_may")) == [1, 2, 4]


@pytest.mark.parametrize(
    ("options", "columns", "content", "expected"),
    [
        (
            "format = 'json'",
            "card STRING, limit INT",
            b'{"card": "a", "limit": 1}\n{"card": "b", "limit": "none"}\n{"card": \n',
            ["types: limit", "JSON"],
        ),
        ("format = 'csv', header = 'true'", "card STRING, limit INT", b"card,limit\na,1\nb,none\n", ["declared types"]),
        ("format = 'text'", "limit INT", b"1\nnone\n", ["declared types"]),
    ],
)
def test_records_that_a_table_leaves_out_are_reported_and_the_same_for_every_view(
    trial: Trial, caplog: pytest.LogCaptureFixture, options: str, columns: str, content: bytes, expected: list[str]
) -> None:
    """Also for a view that does not ask for the column that is wrong."""
    trial.write(
        "app.sql",
        f"""
        CREATE TABLE t ({columns}) WITH (connector = 'files', path = 't.data', {options});
        CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;
        CREATE MATERIALIZED VIEW first AS SELECT {columns.split()[0]} FROM t;
        """,
    )
    (trial.folder / "t.data").write_bytes(content)
    trial.drain()
    assert trial.rows("n") == [{"n": 1}]
    assert len(trial.rows("first")) == 1
    warnings = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert len(warnings) == len(expected)
    assert all("t.data: 1 of its records are left out" in warning for warning in warnings)
    assert all(any(words in warning for warning in warnings) for words in expected)


def test_a_table_that_cannot_be_read_is_reported_once_and_without_a_trace(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    """An exception in a thread would fail the test by itself."""
    trial.write(
        "app.sql",
        """
        CREATE TABLE t WITH (connector = 'postgres', host = '127.0.0.1', port = '1', database = 'd', user = 'u', table = 't');
        CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;
        """,
    )
    with pytest.raises(SourceError, match="table `t` cannot be read from Postgres"):
        trial.batch("n")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING and "`t`" in record.getMessage()]


def test_a_view_judges_by_an_event_time_of_its_own_live_and_in_batch(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM s (id INT, made TIMESTAMP, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
          WITH (connector = 'files', path = 's', format = 'json');
        CREATE MATERIALIZED VIEW own AS SELECT id FROM STREAM s WATERMARK made DELAY OF INTERVAL 1 SECOND;
        """,
    )
    now, later = datetime.now(UTC), datetime.now(UTC) + timedelta(days=9)
    rows = [{"id": 1, "made": now, "at": now}, {"id": 2, "made": later, "at": now}, {"id": 3, "made": now, "at": later}]
    trial.feed_bytes("s", "\n".join(json.dumps(row, default=datetime.isoformat) for row in rows).encode())
    trial.drain()
    assert sorted(row["id"] for row in trial.rows("own")) == [1, 3]
    assert sorted(row["id"] for row in trial.batch("own")) == [1, 3]
    assert [json.loads(letter["raw"])["id"] for letter in trial.rows("s__dead")] == [2]


def test_an_archive_that_was_cut_off_gives_what_it_has_and_is_named(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM orders (id INT, note STRING) WITH (connector = 'files', path = 'orders', format = 'json');
        CREATE MATERIALIZED VIEW copy AS SELECT id FROM orders;
        """,
    )
    lines = "".join(f'{{"id": {number}, "note": "{hashlib.sha256(str(number).encode()).hexdigest()}"}}\n' for number in range(5000)).encode()
    folder = trial.folder / "orders"
    folder.mkdir()
    (folder / "whole.json.gz").write_bytes(gzip.compress(lines))
    (folder / "cut.json.gz").write_bytes(gzip.compress(lines)[:-4000])
    (folder / "bad.json").write_bytes(b'{"id": \n{"id": 7}\n')
    trial.drain()
    assert 5001 <= len(trial.rows("copy")) < 10001
    letters = {Path(letter["position"]["file"]).name: letter for letter in trial.rows("orders__dead") if "line" not in letter["position"]}
    assert list(letters) == ["cut.json.gz"]
    assert "cannot be unpacked to its end" in letters["cut.json.gz"]["reason"]


def test_a_file_that_cannot_be_read_to_its_end_is_named_whatever_is_wrong_with_it_and_nothing_else_is_lost(
    trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that is not what its name says, a page that is damaged below a sound footer; also where history is read again, and in a table."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM orders (id INT) WITH (connector = 'files', path = 'orders', format = 'json');
        CREATE STREAM sales (id BIGINT) WITH (connector = 'files', path = 'sales', format = 'parquet');
        CREATE TABLE cards (id INT) WITH (connector = 'files', path = 'cards', format = 'json');
        CREATE MATERIALIZED VIEW copy AS SELECT o.id FROM orders o LEFT JOIN cards c ON o.id = c.id;
        CREATE MATERIALIZED VIEW again AS SELECT id, (SELECT count(*) FROM cards c WHERE c.id > o.id) AS n FROM orders o;
        CREATE MATERIALIZED VIEW sold AS SELECT id FROM sales;
        """,
    )
    (trial.folder / "cards").mkdir()
    for number in (1, 2):
        (trial.folder / "cards" / f"{number}.json").write_text(f'{{"id": {number * 10}}}\n')
    corrupt(trial.folder / "cards" / "2.json")
    for number in (1, 2, 3):
        trial.feed("orders", {"id": number})
    corrupt(trial.folder / "orders" / "0001.json")
    (trial.folder / "sales").mkdir()
    for number in (1, 2):
        found = trial.folder / "sales" / f"{number}.parquet"
        pyarrow.parquet.write_table(
            pyarrow.table({"id": range(number * 1000, number * 1000 + 1000)}), found, compression="gzip", use_dictionary=False
        )
    found.write_bytes(found.read_bytes()[:40] + b"\xff" * 400 + found.read_bytes()[440:])
    trial.drain()
    trial.feed("orders", {"id": 4})
    trial.feed("orders", {"id": 5})
    corrupt(trial.folder / "orders" / "0004.json")
    trial.drain()
    assert sorted(row["id"] for row in trial.rows("copy")) == [1, 3, 4]
    assert sorted((row["id"], row["n"]) for row in trial.rows("again")) == [(1, 1), (3, 1), (4, 1)]
    assert sorted(row["id"] for row in trial.rows("sold")) == list(range(1000, 2000))
    letters = {
        stream: {Path(letter["position"]["file"]).name: letter["reason"] for letter in trial.rows(f"{stream}__dead")}
        for stream in ("orders", "sales")
    }
    assert {stream: sorted(named) for stream, named in letters.items()} == {"orders": ["0001.json.gz", "0004.json.gz"], "sales": ["2.parquet"]}
    assert all(re.match("cannot be (read|unpacked) to its end: ", reason) for named in letters.values() for reason in named.values())
    assert any(
        "table `cards`" in record.getMessage() and "2.json.gz: cannot be unpacked to its end" in record.getMessage() for record in caplog.records
    )
    with trial.engine() as engine:
        assert all(verdict.equal for verdict in verify(engine, session=trial.session))
    caplog.clear()
    assert sorted(row["id"] for row in trial.batch("copy")) == [1, 3, 4]
    assert sum("rows are left out" in record.getMessage() for record in caplog.records) >= 2


def corrupt(path: Path) -> None:
    """As if the file were packed, which it is not."""
    path.rename(path.with_name(f"{path.name}.gz"))


def test_the_same_bad_line_of_one_log_after_the_other_is_a_dead_letter_each_time(trial: Trial) -> None:
    """Two views read it: that does not make two of one."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM s (id INT) WITH (connector = 'files', path = 'app.log', format = 'json', tail = 'true');
        CREATE MATERIALIZED VIEW copy AS SELECT id FROM s;
        CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM s;
        """,
    )
    log, lines = trial.folder / "app.log", b'bad\n{"id": 1}\n'
    log.write_bytes(lines)
    trial.drain()
    log.rename(trial.folder / "app.log.1")
    log.write_bytes(lines)
    trial.drain()
    log.write_bytes(b"bad\n")
    trial.drain()
    letters = trial.rows("s__dead")
    assert [(letter["position"]["line"], letter["raw"]) for letter in letters] == [(1, "bad")] * 3
    assert {letter["position"]["file"] for letter in letters} == {str(log)}
    assert [letter["position"].get("rewrites", 0) for letter in letters] == [0, 0, 1]
    assert len({letter["position"]["inode"] for letter in letters}) == 2
    assert trial.rows("n") == [{"n": 2}]


@pytest.mark.parametrize("shape", ["json", "csv", "tail"])
def test_a_time_beyond_the_years_1_to_9999_is_a_dead_letter_that_names_its_column(trial: Trial, shape: str) -> None:
    """Milliseconds where seconds are expected are the year 55840, which no file of parquet from Python and hardly a database can take."""
    nested = shape != "csv"
    trial.write(
        "app.sql",
        f"""
        CREATE STREAM s (id INT, at TIMESTAMP, day DATE{", more ARRAY<STRUCT<t: TIMESTAMP_NTZ>>" if nested else ""},
            later TIMESTAMP AS (at + INTERVAL 1 DAY))
          WITH (connector = 'files', path = 's/*', format = '{"csv" if shape == "csv" else "json"}', tail = '{str(shape == "tail").lower()}');
        CREATE MATERIALIZED VIEW copy AS SELECT * FROM s;
        CREATE SINK out FROM copy WITH (connector = 'files', path = 'out', format = 'parquet');
        """,
    )
    good = [{"id": 1, "at": "2024-01-01T00:00:00Z", "day": "2024-01-01"}, {"id": 2, "at": "0001-01-01T00:00:00Z"}, {"id": 3, "day": "9999-12-31"}]
    far = [{"id": 4, "at": "+55840-01-01T00:00:00Z"}, {"id": 5, "day": "-0044-03-15"}, {"id": 6, "at": "9999-12-31T12:00:00Z"}]
    named = {4: "at", 5: "day", 6: "later"}
    if nested:
        good.append({"id": 7, "more": [{"t": "2024-01-01T00:00:00"}, None, {}]})
        far += [{"id": 8, "more": [{"t": "2024-01-01T00:00:00"}, {"t": "+10000-01-01T00:00:00"}]}, {"id": 9, "at": 1_700_000_000_000}]
        named |= {8: "more", 9: "at"}
    if shape == "csv":
        lines = [f"{row['id']},{row.get('at', '')},{row.get('day', '')}" for row in [*good, *far]]
    else:
        lines = [json.dumps(row) for row in [*good, *far]]
    trial.feed_bytes("s", ("\n".join(lines) + "\n").encode(), shape)
    trial.drain()
    assert sorted(row["id"] for row in trial.rows("copy")) == [row["id"] for row in good]
    letters = {int(letter["position"]["line"]): letter for letter in trial.rows("s__dead")}
    assert {lines.index(letter["raw"]) + 1 for letter in letters.values()} == set(letters)
    reasons = {[*good, *far][line - 1]["id"]: letter["reason"] for line, letter in letters.items()}
    assert reasons == {number: f"the column `{column}` is beyond the years 1 to 9999" for number, column in named.items()}
    assert sorted(row["id"] for row in trial.batch("copy")) == [row["id"] for row in good]
    assert sorted(pyarrow.parquet.read_table(trial.folder / "out")["id"].to_pylist()) == [row["id"] for row in good]


def test_csv_files_of_two_orders_are_never_mixed_up(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM orders (id INT, amount INT) WITH (connector = 'files', path = 'orders', format = 'csv', header = 'true');
        CREATE TABLE declared (id INT, amount INT) WITH (connector = 'files', path = 'orders', format = 'csv', header = 'true');
        CREATE TABLE found WITH (connector = 'files', path = 'orders', format = 'csv', header = 'true');
        CREATE MATERIALIZED VIEW copy AS SELECT id, amount FROM orders;
        """,
    )
    folder = trial.folder / "orders"
    folder.mkdir()
    (folder / "1.csv").write_text("amount,id\n100,1\n")
    trial.drain()
    assert trial.rows("copy") == [{"id": 1, "amount": 100}]
    (folder / "2.csv").write_text("id,amount\n2,200\n")
    with pytest.raises(OptionFault, match=r"2\.csv has other columns, or in another order: id, amount"):
        trial.drain()
    assert trial.rows("copy") == [{"id": 1, "amount": 100}]
    with pytest.raises(OptionFault, match=r"2\.csv has other columns"):
        trial.batch("copy")
    for name in ("orders", "declared", "found"):
        with pytest.raises(OptionFault, match=r"2\.csv has other columns"):
            trial.rows(name)
    assert trial.rows("orders__dead") == []
    (folder / "2.csv").write_text("amount,id\n200,2\n")
    trial.drain()
    assert trial.rows("copy") == [{"id": 1, "amount": 100}, {"id": 2, "amount": 200}]
    for number, header in enumerate(("amount,note,id", "id,total"), start=3):  # one column more in between; one that is called otherwise
        (folder / f"{number}.csv").write_text(f"{header}\n300,x,3\n")
        with pytest.raises(OptionFault, match=rf"{number}\.csv has other columns, or in another order: {header.replace(',', ', ')}"):
            trial.drain()
        assert len(trial.rows("copy")) == 2
        (folder / f"{number}.csv").unlink()


def test_rows_dated_in_the_future_are_dead_letters_and_do_not_move_the_watermark(trial: Trial) -> None:
    """Such a row would close every window at once; beyond `max_ahead` it is put aside and the rows after it still count."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM seen (who STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
          WITH (connector = 'files', path = 'seen', format = 'json', max_ahead = '2 hours');
        CREATE MATERIALIZED VIEW hourly AS SELECT window.start AS hour, count(*) AS n FROM seen GROUP BY window(at, '1 hour') EMIT ON WINDOW CLOSE;
        """,
    )
    far = (datetime.now(UTC) + timedelta(hours=3)).isoformat()
    trial.feed("seen", {"who": "ann", "at": "2024-05-01T10:10:00Z"}, {"who": "eve", "at": far})
    trial.drain()
    trial.feed("seen", {"who": "bob", "at": "2024-05-01T10:20:00Z"})
    trial.drain()
    trial.feed("seen", {"who": "ann", "at": "2024-05-01T12:10:00Z"})
    seen = trial.drain()
    assert trial.rows("hourly") == [{"hour": "2024-05-01T10:00:00Z", "n": 2}]
    assert seen.last["hourly"].late == 0
    (letter,) = trial.rows("seen__dead")
    assert "beyond max_ahead 2 hours" in letter["reason"]
    assert letter["position"]["line"] == 2
    assert json.loads(letter["raw"])["who"] == "eve"


def test_column_names_keep_their_case_and_text_outside_ascii_survives_in_good_and_broken_records(trial: Trial) -> None:
    """`Größe` is not `größe`, and what is broken is shown as it came."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM orders (`Größe` STRING, `Order Id` INT) WITH (connector = 'files', path = 'orders', format = 'json');
        CREATE MATERIALIZED VIEW kept AS SELECT `Größe`, `Order Id` FROM orders;
        """,
    )
    trial.feed("orders", {"Größe": "日本 🫖", "Order Id": 1}, {"größe": "klein", "Order Id": 2}, {"Größe": "übel", "Order Id": "drei"})
    trial.drain()
    assert trial.rows("kept") == [{"Größe": "日本 🫖", "Order Id": 1}, {"Größe": None, "Order Id": 2}]
    (letter,) = trial.rows("orders__dead")
    assert json.loads(letter["raw"]) == {"Größe": "übel", "Order Id": "drei"}


def test_dead_letters_are_not_counted_again_by_a_view_that_is_rebuilt(trial: Trial) -> None:
    """A record is one dead letter, however often and by however many views it is read."""
    stream = "CREATE STREAM orders (id INT) WITH (connector = 'files', path = 'orders', format = 'json');"
    trial.write("app.sql", stream + "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM orders;")
    trial.feed_bytes("orders", b'{"id": 1}\n{"id": \n')
    trial.drain()
    trial.write(
        "app.sql", stream + "CREATE MATERIALIZED VIEW n AS SELECT count(id) AS n FROM orders; CREATE MATERIALIZED VIEW m AS SELECT id FROM orders;"
    )
    trial.feed_bytes("orders", b'{"id": 2}\nnothing\n')
    trial.drain()
    assert trial.rows("n") == [{"n": 2}]
    assert [letter["raw"] for letter in trial.rows("orders__dead")] == ['{"id": ', "nothing"]


def test_a_row_that_was_dated_ahead_stays_dead_when_its_time_has_come(trial: Trial) -> None:
    """Also in a view that is recomputed each time, and for `verify` when Spark's own log no longer reaches back."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM seen (id INT, card STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
          WITH (connector = 'files', path = 'seen', format = 'json', max_ahead = '2 seconds');
        CREATE MATERIALIZED VIEW copied AS SELECT id FROM seen;
        CREATE MATERIALIZED VIEW numbered AS SELECT id, row_number() OVER (PARTITION BY card ORDER BY at) AS n FROM seen;
        """,
    )
    ahead = datetime.now(UTC) + timedelta(seconds=25)  # what a loaded machine takes to begin is a part of it
    trial.feed("seen", {"id": 1, "card": "a", "at": "2024-05-01T10:00:00Z"}, {"id": 2, "card": "a", "at": ahead.isoformat()})
    trial.drain()
    assert trial.rows("numbered") == [{"id": 1, "n": 1}]
    while datetime.now(UTC) < ahead:
        time.sleep(0.5)
    trial.feed("seen", {"id": 3, "card": "a", "at": "2024-05-01T10:00:05Z"})
    trial.drain()
    assert trial.rows("numbered") == [{"id": 1, "n": 1}, {"id": 3, "n": 2}]
    assert trial.rows("copied") == [{"id": 1}, {"id": 3}]
    for job in ("copied", "numbered"):
        current = Catalog(trial.state).current(job)
        assert current is not None
        (current[1] / "offsets" / "0").unlink()
    with trial.engine() as engine:
        assert [verdict.as_json() for verdict in verify(engine, session=trial.session) if not verdict.equal] == []


def test_a_view_with_an_event_time_of_its_own_puts_aside_what_is_dated_ahead_of_that(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM seen (id INT, at TIMESTAMP) WITH (connector = 'files', path = 'seen', format = 'json');
        CREATE MATERIALIZED VIEW hourly AS SELECT window, count(*) AS n FROM STREAM seen WATERMARK at DELAY OF INTERVAL 10 SECONDS
          GROUP BY window(at, '1 hour');
        """,
    )
    trial.feed("seen", {"id": 1, "at": "2024-05-01T10:00:00Z"}, {"id": 2, "at": "2131-05-01T10:00:00Z"})
    trial.drain()
    assert [row["n"] for row in trial.rows("hourly")] == [1]
    (letter,) = trial.rows("seen__dead")
    assert "in the future" in letter["reason"]
    with trial.engine() as engine:
        assert [verdict.as_json() for verdict in verify(engine, session=trial.session) if not verdict.equal] == []

"""Nothing is set aside in silence: whichever verb reads, it says how much it could not read, where, why, and what to do."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.errors import DataFault
from penstock.testing.trial import Trial

ORDERS = """
    CREATE STREAM orders (id INT, amount DECIMAL(12,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
      WITH (connector = 'files', path = 'orders', format = 'csv'%s);
    CREATE MATERIALIZED VIEW hourly AS SELECT window.start AS hour, sum(amount) AS total FROM orders GROUP BY window(at, '1 hour');
    CREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n, sum(amount) AS total FROM orders;
"""
GOOD = b"1,10.00,2024-05-01T10:00:00Z\n2,5.00,2024-05-01T10:00:01Z\n"


def test_a_batch_counts_what_it_could_not_read_and_shows_the_first(trial: Trial) -> None:
    trial.write("app.sql", ORDERS % "")
    trial.feed_bytes("orders", GOOD + b"three,1,2024-05-01T10:00:02Z\n4,1,yesterday\n", "csv")
    with trial.engine() as engine:
        for answer in (engine.batch("totals"), engine.peek("orders"), engine.query("SELECT id FROM orders")):
            assert list(answer.lines)
            (found,) = answer.dead()
            assert (found.source, found.count, found.raw) == ("orders", 2, b"three,1,2024-05-01T10:00:02Z")
            assert json.loads(found.position) == {"file": str(trial.folder / "orders" / "0000.csv"), "line": 3}
            assert found.reason == "does not fit the declared types: id"
            assert found.first.endswith("0000.csv line 3: does not fit the declared types: id: `three,1,2024-05-01T10:00:02Z`")


def test_a_batch_over_files_that_are_not_there_says_so(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write("app.sql", ORDERS % "")
    with trial.engine() as engine:
        assert [json.loads(line) for line in engine.batch("totals").lines] == [{"n": 0, "total": None}]
    assert "stream `orders`: there is no folder or file" in caplog.text


def test_a_line_with_more_columns_than_were_declared_is_read_again_too(trial: Trial) -> None:
    app = """CREATE STREAM p (name STRING, id %s) WITH (connector = 'files', path = 'p', format = 'csv', header = 'true');
             CREATE MATERIALIZED VIEW named AS SELECT id, name FROM p;"""
    trial.write("app.sql", app % "INT")
    trial.feed_bytes("p", b"id,name,city\n1,ana,Porto\nx7,bo,Lagos\n", "csv")
    trial.drain()
    trial.write("app.sql", app % "STRING")
    with trial.engine() as engine:
        assert engine.replay("p").startswith("1 of 1 records of `p` can be read by now")
    trial.drain()
    assert sorted(row["id"] for row in trial.rows("named")) == ["1", "x7"]


def test_an_event_time_may_have_any_name(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """CREATE STREAM o (id INT, `order time` TIMESTAMP, WATERMARK FOR `order time` AS `order time` - INTERVAL 5 SECONDS)
             WITH (connector = 'files', path = 'o', format = 'json');
           CREATE MATERIALIZED VIEW w AS SELECT window(`order time`, '1 hour').start AS h, count(*) AS n FROM o GROUP BY 1;""",
    )
    trial.feed("o", {"id": 1, "order time": "2024-05-01T10:00:00Z"}, {"id": 2, "order time": "2024-05-01T10:30:00Z"})
    trial.drain()
    assert trial.rows("w") == trial.batch("w") == [{"h": "2024-05-01T10:00:00Z", "n": 2}]


def test_sound_input_is_read_once_and_has_nothing_to_tell(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.write("app.sql", ORDERS % "")
    trial.feed_bytes("orders", GOOD, "csv")
    monkeypatch.setattr("penstock.spark.run.dead.set_aside.first_letters", lambda *_: pytest.fail("the input is read a second time"))
    with trial.engine() as engine:
        answer = engine.batch("totals")
        assert [json.loads(line) for line in answer.lines] == [{"n": 2, "total": "15.00"}]
        assert list(answer.dead()) == []
    scheduler = trial.session._sc._jsc.sc().dagScheduler()
    assert scheduler.activeQueryToJobs().isEmpty(), "Spark keeps the jobs of an answer that was given"


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        (b"1,10.00,2015/01/01 01:00:00\n2,5.00,2015/01/31 02:00:00\n", "timestamp_format = 'yyyy/MM/dd HH:mm:ss'"),
        (b"1;10.00;2024-05-01T10:00:00Z\n2;5.00;2024-05-01T10:00:01Z\n", "delimiter = ';'"),
        (b"id,amount,at\n", "header = 'true'"),
        (b'[\n {"id": 1,\n "amount": 2}\n]', "format = 'json', multiline = 'true'"),
    ],
)
def test_input_of_which_nothing_can_be_read_is_an_error_with_its_remedy(trial: Trial, content: bytes, remedy: str) -> None:
    trial.write("app.sql", ORDERS % "")
    trial.feed_bytes("orders", content, "csv")
    twice = "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id"
    for ask, what in (("batch", "totals"), ("batch", "hourly"), ("peek", "orders"), ("query", "SELECT count(*) FROM orders"), ("query", twice)):
        with trial.engine() as engine, pytest.raises(DataFault) as raised:
            list(getattr(engine, ask)(what).lines)
        assert "stream `orders`" in raised.value.message
        assert raised.value.hint is not None
        assert remedy in raised.value.hint
        assert raised.value.exit_code == 2


def test_pretty_printed_json_names_multiline(trial: Trial) -> None:
    trial.write("app.sql", "CREATE STREAM s (id INT) WITH (connector = 'files', path = 's', format = 'json'%s);")
    app = trial.folder / "app.sql"
    text = app.read_text()
    app.write_text(text % "")
    trial.feed_bytes("s", b'{\n  "id": 1\n}\n{\n  "id": 2\n}\n')
    with trial.engine() as engine, pytest.raises(DataFault, match="not one of its 6 records") as raised:
        list(engine.peek("s").lines)
    assert "multiline = 'true'" in (raised.value.hint or "")
    app.write_text(text % ", multiline = 'true'")
    assert trial.rows("s") == [{"id": 1}, {"id": 2}]


def test_dead_letters_can_be_asked_for_before_anything_has_run(trial: Trial) -> None:
    trial.write("app.sql", ORDERS % "" + "CREATE TABLE places (id INT, name STRING) WITH (connector = 'files', path = 'places.csv', format = 'csv');")
    trial.write("places.csv", "1,Faro\ntwo,Braga\n")
    trial.feed_bytes("orders", GOOD + b"three,1,2024-05-01T10:00:02Z\n", "csv")
    (letter,) = trial.rows("orders__dead")
    assert list(letter) == ["position", "reason", "raw", "base64", "seen_at"]
    assert (letter["position"]["line"], letter["raw"]) == (3, "three,1,2024-05-01T10:00:02Z")
    with trial.engine() as engine:
        asked = [json.loads(line) for line in engine.query("SELECT raw, reason FROM Orders__dead WHERE raw LIKE 'three%'").lines]
        assert asked == [{"raw": "three,1,2024-05-01T10:00:02Z", "reason": "does not fit the declared types: id"}]
    assert [row["raw"] for row in trial.rows("places__dead")] == ["two,Braga"]


def test_a_table_says_what_it_left_out(trial: Trial) -> None:
    trial.write("app.sql", "CREATE TABLE places (id INT, name STRING) WITH (connector = 'files', path = 'places.csv', format = 'csv');")
    trial.write("places.csv", "1,Faro\ntwo,Braga\n")
    with trial.engine() as engine:
        answer = engine.peek("places")
        assert [json.loads(line) for line in answer.lines] == [{"id": 1, "name": "Faro"}]
        (found,) = answer.dead()
        assert (found.source, found.count, found.raw) == ("places", 1, b"two,Braga")


def test_a_live_run_goes_on_and_says_loudly_that_it_reads_nothing(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write("app.sql", ORDERS % "")
    trial.feed_bytes("orders", b"1,10.00,2015/01/01 01:00:00\n2,5.00,2015/01/31 02:00:00\n", "csv")
    with caplog.at_level(logging.WARNING, "penstock.source"):
        trial.drain()
    (warning,) = [record.getMessage() for record in caplog.records if "not one of its 2 records" in record.getMessage()]
    assert "timestamp_format = 'yyyy/MM/dd HH:mm:ss'" in warning
    assert len(trial.rows("orders__dead")) == 2


def test_what_a_mended_declaration_can_read_flows_once(trial: Trial) -> None:
    trial.write("app.sql", ORDERS % "")
    trial.feed_bytes("orders", b"1,10.00,2015/01/01 01:00:00\nx,1,2015/01/02 01:00:00\n3,5.00,2015/01/31 02:00:00\n", "csv")
    trial.drain()
    assert (trial.rows("totals"), len(trial.rows("orders__dead"))) == ([{"n": 0, "total": None}], 3)
    with trial.engine() as engine:
        assert "none of the 3 records" in engine.replay("orders")
    trial.write("app.sql", ORDERS % ", timestamp_format = 'yyyy/MM/dd HH:mm:ss'")
    with trial.engine() as engine:
        assert engine.replay("orders").startswith("2 of 3 records of `orders` can be read by now")
    trial.drain()
    trial.drain()
    assert trial.rows("totals") == [{"n": 2, "total": "15.00"}] == trial.batch("totals")
    assert [row["raw"] for row in trial.rows("orders__dead")] == ["x,1,2015/01/02 01:00:00"]


def test_dead_letters_of_other_encodings_and_of_many_lines_keep_their_place_and_bytes(trial: Trial) -> None:
    trial.write(
        "app.sql",
        """
        CREATE STREAM latin (id INT, note STRING)
          WITH (connector = 'files', path = 'latin', format = 'csv', encoding = 'windows-1252', multiline = 'true');
        CREATE STREAM docs (id INT) WITH (connector = 'files', path = 'docs', format = 'json', multiline = 'true');
        CREATE MATERIALIZED VIEW a AS SELECT * FROM latin;
        CREATE MATERIALIZED VIEW b AS SELECT * FROM docs;
        """,
    )
    trial.feed_bytes("latin", '1,"é\nf"\r\nzwölf,"ä\nö"\r\n3,x\r\n'.encode("cp1252"), "csv")
    trial.feed_bytes("docs", b'[{"id": 1},\n {"id": "two"}, {"id": 3}]')
    trial.drain()
    assert trial.rows("a") == [{"id": 1, "note": "é\nf"}, {"id": 3, "note": "x"}]
    (letter,) = trial.rows("latin__dead")
    assert letter["position"]["line"] == 3
    assert letter["base64"] is not None
    assert trial.rows("b") == [{"id": 1}, {"id": 3}]
    (letter,) = trial.rows("docs__dead")
    assert (letter["position"]["element"], letter["raw"]) == (2, '{"id":"two"}')


def test_a_text_of_sixty_megabytes_is_read(trial: Trial) -> None:
    trial.write("app.sql", "CREATE STREAM s (id INT, t STRING) WITH (connector = 'files', path = 's', format = 'json');")
    trial.feed_bytes("s", json.dumps({"id": 1, "t": "x" * 60_000_000}).encode())
    with trial.engine() as engine:
        assert [json.loads(line) for line in engine.query("SELECT id, length(t) AS n FROM s").lines] == [{"id": 1, "n": 60_000_000}]


def test_the_command_line_says_it_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "commits.csv").write_text("time,commits\n2015/01/01 01:00:00,3\n2015/01/01 02:00:00,4\n")
    done = CliRunner().invoke(program(), ["infer", str(tmp_path / "commits.csv")])
    assert done.exit_code == 0
    assert "timestamp_format = 'yyyy/MM/dd HH:mm:ss'" in done.stdout
    assert "WATERMARK FOR `time`" in done.stdout
    assert "assumed: `time` is the event time" in done.stderr

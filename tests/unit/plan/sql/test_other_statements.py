"""Statements and options of Flink, ksqlDB and RisingWave: taken where they mean one thing here, else answered with Penstock's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import UserError
from penstock.plan.check.app import check
from penstock.plan.load import merged
from penstock.plan.model.declare import Declared, Stream
from penstock.plan.model.findings import Finding
from penstock.plan.sql.statements import Create, parse, parse_for_check
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options


def fault(text: str) -> UserError:
    with pytest.raises(UserError) as caught:
        parse(text, "app.sql")
    assert caught.value.excerpt
    return caught.value


def found(text: str) -> list[Finding]:
    return check(Declared("app", Path("."), merged(parse_for_check(text, "app.sql"))), check_source_options, check_sink_options)


def hints(text: str) -> str:
    return "\n".join(str(finding.hint) for finding in found(text) if finding.severity == "error")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            "INSERT INTO alerts SELECT id, amount FROM orders WHERE amount > 5",
            "CREATE MATERIALIZED VIEW alerts_rows AS SELECT id, amount FROM orders WHERE amount > 5; CREATE SINK alerts FROM alerts_rows WITH (",
        ),
        (
            "CREATE TABLE totals AS SELECT id, sum(amount) AS s FROM orders GROUP BY id EMIT CHANGES",
            "CREATE MATERIALIZED VIEW totals AS SELECT id, sum(amount) AS s FROM orders GROUP BY id EMIT CHANGES;",
        ),
        ("CREATE STREAM big WITH (kafka_topic = 'b', value_format = 'JSON') AS SELECT * FROM orders", "CREATE SINK big_out FROM big WITH (connector"),
        ("CREATE SOURCE clicks (id VARCHAR) WITH (connector = 'kafka')", "CREATE STREAM clicks (...)"),
        ("CREATE SOURCE IF NOT EXISTS clicks (id VARCHAR) WITH (connector = 'kafka')", "CREATE STREAM clicks (...)"),
        ("SET 'execution.checkpointing.interval' = '10s'", "penstock.toml"),
        ("CREATE TEMPORARY VIEW v AS SELECT 1 AS a", "leave TEMPORARY out"),
        ("CREATE SINK out AS SELECT id FROM orders WITH (connector = 'kafka')", "CREATE MATERIALIZED VIEW out_rows AS SELECT id FROM orders;"),
        ("CREATE VIEW v AS SELECT id FROM orders EMIT CHANGES LIMIT 5", "LIMIT 5 EMIT CHANGES"),
        ("CREATE VIEW v AS SELECT k, count(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k", "GROUP BY window(at, '1 hour'), ..."),
        (
            "CREATE VIEW v AS SELECT k, count(*) AS n FROM s WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES, GRACE PERIOD 1 DAY) GROUP BY k",
            "window(at, '1 hour', '5 minutes')",
        ),
        ("CREATE VIEW v AS SELECT k, count(*) AS n FROM s WINDOW SESSION (5 MINUTES) GROUP BY k", "session_window(at, '5 minutes')"),
        ("CREATE STREAM s (id STRING, ts TIMESTAMP(3) METADATA FROM 'timestamp') WITH (connector = 'kafka')", "let the record hold it: `ts`"),
        ("CREATE STREAM s (id VARCHAR KEY, v INT) WITH (connector = 'kafka')", "leave KEY out"),
        ("CREATE STREAM s (id VARCHAR) WITH (connector = 'kafka') FORMAT DEBEZIUM ENCODE AVRO", "FORMAT PLAIN ENCODE JSON or CSV"),
        ("CREATE TABLE s (at TIMESTAMP, WATERMARK FOR at AS at) WITH (connector = 'kafka')", "CREATE STREAM s (...)"),
    ],
)
def test_a_statement_of_another_system_is_answered_with_ours(text: str, hint: str) -> None:
    assert hint in str(fault(text).hint)


FLINK = """
CREATE STREAM orders (
  id STRING NOT NULL, note VARCHAR, small VARCHAR(10), amount DECIMAL(10, 2), n INT8, price DOUBLE PRECISION, raw BYTES,
  who ROW<name VARCHAR, born TIMESTAMP_LTZ(3)>, ts TIMESTAMP(3), zoned TIMESTAMP(3) WITH LOCAL TIME ZONE,
  WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED
) WITH (connector = 'kafka', servers = 'h:9092', topic = 'orders') FORMAT PLAIN ENCODE JSON;
"""


def test_types_keys_that_are_not_enforced_and_plain_encodings_are_taken() -> None:
    (create,) = parse(FLINK, "app.sql")
    assert isinstance(create, Create)
    assert isinstance(create.declaration, Stream)
    types = {column.name: column.type for column in create.declaration.schema}
    assert types == {
        "id": "string", "note": "string", "small": "string", "amount": "decimal(10,2)", "n": "bigint", "price": "double", "raw": "binary",
        "who": "struct<name:string,born:timestamp>", "ts": "timestamp", "zoned": "timestamp",
    }  # fmt: skip
    assert (create.declaration.event_time, create.declaration.lateness) == ("ts", "0 seconds")
    assert create.declaration.options["format"] == "json"
    assert found(FLINK) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:9092', 'properties.group.id' = 'g', "
            "'scan.startup.mode' = 'latest-offset', 'value.format' = 'json'",
            ["servers = 'h:9092'", "keeps the offsets of each view itself", "start = 'latest'", "format = 'json'"],
        ),
        (
            "kafka_topic = 't', value_format = 'JSON', key_format = 'KAFKA', partitions = 2, timestamp = 'ts'",
            [
                "connector = 'kafka'",
                "topic = 't'",
                "format = 'json'",
                "the key of a record is not read",
                "broker's own tools",
                "WATERMARK FOR",
                "servers",
            ],
        ),
        ("connector = 'files', path = 'x', latenes = '10 seconds', hedaer = 'true'", ["`lateness`", "WATERMARK FOR", "`header`"]),
        ("connector = 'filesystem', path = 'x'", ["connector = 'files'"]),
        ("connector = 'datagen'", ["connector = 'generator'"]),
    ],
)
def test_every_option_of_another_system_is_answered_at_once(options: str, expected: list[str]) -> None:
    shown = hints(f"CREATE STREAM s (id STRING, v BIGINT) WITH ({options});")
    assert [part for part in expected if part not in shown] == []
    assert "did you mean `late`?" not in shown


@pytest.mark.parametrize(
    ("query", "instead"),
    [
        ("SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) AS w, count(*) AS n FROM s GROUP BY ts", "write window(ts, '1 hour').start"),
        ("SELECT TUMBLE_END(ts, INTERVAL '90' SECOND) AS w FROM s", "write window(ts, '1 minute 30 seconds').end"),
        ("SELECT HOP_START(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR) AS w FROM s", "write window(ts, '1 hour', '5 minutes').start"),
        ("SELECT SESSION_END(ts, INTERVAL '10' MINUTE) AS w FROM s", "write session_window(ts, '10 minutes').end"),
        ("SELECT count(*) AS n FROM s GROUP BY TUMBLE(ts, INTERVAL '1' DAY)", "write window(ts, '1 day')"),
    ],
)
def test_a_group_window_is_rewritten_with_the_users_own_arguments(query: str, instead: str) -> None:
    stream = "CREATE STREAM s (ts TIMESTAMP) WITH (connector = 'files', path = 's');"
    assert instead in hints(f"{stream} CREATE VIEW v AS {query};")


def test_all_faults_of_a_file_are_found_at_once() -> None:
    error = fault("CREATE STREAM s (a, b STRING, c) WITH (connector = 'files', path = 'x'); INSERT INTO t SELECT 1; CREATE VIEW v AS SELECT FROM;")
    assert len((error, *error.others)) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE STREAM s (id STRNG, at TIMESTAMPP, WATERMARK FOR att AS att - INTERVAL 10 SECOND) "
            "WITH (connector = 'kafka', properties.bootstrap.servers = 'k:9', topik = 't')",
            ["columns: id, at", "STRING?", "TIMESTAMP?", "servers = 'k:9'", "`topic`?", "topic = '...'"],
        ),
        (
            "CREATE TABLE clicks (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
            "WITH ('connector' = 'kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'k:9', 'properties.group.id' = 'g')",
            ["CREATE STREAM clicks (...)", "servers = 'k:9'", "leave it out"],
        ),
        (
            "CREATE STREAM s (id STRING) WITH ('connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'k:9')",
            ["connector = 'kafka'", "servers = 'k:9'"],
        ),
        (
            "CREATE TABLE t (id STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:postgresql://h/d', 'table-name' = 't', 'username' = 'u')",
            ["connector = 'postgres'", "write its parts", "use `table`", "use `user`", "database = '...'"],
        ),
        ("CREATE SINK k FROM v WITH (connector = 'kafkaa', topi = 't')", ["`kafka`?", "`topic`?", "servers = '...'", "topic = '...'"]),
    ],
)
def test_columns_watermark_connector_and_options_of_one_statement_are_reported_together(text: str, expected: list[str]) -> None:
    given = [finding.hint or "" for finding in found(text) if finding.severity == "error" and "not a view" not in finding.message]
    assert len(given) == len(expected), given
    assert all(words in hint for words, hint in zip(expected, given, strict=True)), given
    if "WATERMARK FOR" in text:
        with pytest.raises(UserError):
            parse(text, "app.sql")

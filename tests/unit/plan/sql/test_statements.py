"""Statements become declarations; what is wrong is reported with its place and what to do."""

from __future__ import annotations

import pytest

from penstock.errors import NameFault, SyntaxFault, UserError, Where
from penstock.plan.model.declare import Emit, Secret, Sink, Stream, Table, View
from penstock.plan.model.nodes import Item, Project, Scan
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import Create, Drop, Select, Subscribe, parse, parse_creates
from penstock.schema import Column, Schema

PAYMENTS = """
-- what people pay; and when
CREATE STREAM Payments (
  id STRING NOT NULL, Card STRING COMMENT 'it''s; a card', amount DECIMAL(12, 2), at TIMESTAMP,
  `läng`  STRUCT<a: INT, b: ARRAY<MAP<STRING, DOUBLE>>> /* nested */,
  WATERMARK FOR at AS at - INTERVAL '10' SECONDS
) WITH (connector = 'kafka', Servers = 'a:1,' 'b:2', rows = 5, rate = -1.5, header = TRUE, password = secret('pw'), 'kafka.x-y' = "q", a.b = 'c');
"""


def one(text: str) -> Create:
    (statement,) = parse(text, "app.sql")
    assert isinstance(statement, Create)
    return statement


def test_a_stream() -> None:
    stream = one(PAYMENTS).declaration
    assert isinstance(stream, Stream)
    assert stream.name == "Payments"
    assert stream.schema == Schema(
        (
            Column("id", "string"),
            Column("Card", "string"),
            Column("amount", "decimal(12,2)"),
            Column("at", "timestamp"),
            Column("läng", "struct<a:int,b:array<map<string,double>>>"),
        )
    )
    assert (stream.event_time, stream.lateness) == ("at", "10 seconds")
    assert stream.options == {
        "connector": "kafka",
        "servers": "a:1,b:2",
        "rows": "5",
        "rate": "-1.5",
        "header": "true",
        "password": Secret("pw"),
        "kafka.x-y": "q",
        "a.b": "c",
    }
    assert stream.where == Where("app.sql", 3, 15)


@pytest.mark.parametrize(
    ("clause", "lateness"),
    [
        ("WATERMARK FOR at AS at - INTERVAL 10 SECONDS", "10 seconds"),
        ("watermark for AT as at - interval '5 minutes'", "5 minutes"),
        ("WATERMARK FOR at AS at", "0 seconds"),
        ("WATERMARK FOR at", "0 seconds"),
    ],
)
def test_watermarks(clause: str, lateness: str) -> None:
    stream = one(f"CREATE STREAM s ({clause}, at TIMESTAMP) WITH (a = 'b')").declaration
    assert isinstance(stream, Stream)
    assert (stream.event_time, stream.lateness) == ("at", lateness)


def test_tables_may_leave_their_columns_to_the_file() -> None:
    assert one("CREATE TABLE cards WITH (connector = 'files')").declaration == Table("cards", Schema(()), {"connector": "files"})
    assert one("create table c (a int) with (b = 1)").declaration == Table("c", Schema((Column("a", "int"),)), {"b": "1"})


@pytest.mark.parametrize(
    ("words", "emit"),
    [
        ("", Emit.CHANGES),
        ("EMIT CHANGES", Emit.CHANGES),
        ("emit on window close", Emit.ON_CLOSE),
        ("EMIT FINAL", Emit.ON_CLOSE),
        ("EMIT /* all */ COMPLETE", Emit.COMPLETE),
    ],
)
def test_a_view_says_when_it_emits(words: str, emit: Emit) -> None:
    create = one(f"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a  AS b FROM t {words} WITH (late = 'keep');")
    assert create.or_replace
    view = create.declaration
    assert view == View("v", Project(Scan("t"), (Item("a", "b"),)), emit, {"late": "keep"})
    assert isinstance(view, View)
    assert view.text == "SELECT a  AS b FROM t"


def test_options_of_a_view_may_stand_before_its_query_too() -> None:
    view = one("CREATE VIEW IF NOT EXISTS v WITH (late = 'keep') AS WITH c AS (SELECT 1 x) SELECT x FROM c WITH (store = false)").declaration
    assert isinstance(view, View)
    assert view.options == {"late": "keep", "store": "false"}


@pytest.mark.parametrize("end", ["GROUP BY ALL", "WHERE 3 < offset", "WHERE 3 < partition", "GROUP BY t.order"])
def test_emit_follows_columns_that_are_called_as_clauses_are(end: str) -> None:
    view = one(f"CREATE VIEW v AS SELECT max(a) AS b FROM t {end} EMIT ON WINDOW CLOSE").declaration
    assert isinstance(view, View)
    assert (view.emit, view.text) == (Emit.ON_CLOSE, f"SELECT max(a) AS b FROM t {end}")


def test_emit_may_be_a_name() -> None:
    view = one("CREATE VIEW v AS SELECT emit, a AS emit FROM emit ORDER BY emit").declaration
    assert isinstance(view, View)
    assert view.emit is Emit.CHANGES


def test_a_watermark_in_from_is_noted_on_the_view() -> None:
    text = "CREATE VIEW v AS SELECT * FROM STREAM t WATERMARK at DELAY OF INTERVAL 10 SECONDS AS k WHERE k.a > 1"
    view = one(text).declaration
    assert isinstance(view, View)
    assert view.watermarks == {"t": ("at", "10 seconds")}
    assert view.query == parse_select("SELECT * FROM t AS k WHERE k.a > 1")


def test_a_sink() -> None:
    assert one("CREATE SINK s FROM v WITH (connector = 'console')").declaration == Sink("s", "v", {"connector": "console"})


def test_drops_selects_and_subscriptions() -> None:
    statements = parse("DROP STREAM a; DROP MATERIALIZED VIEW IF EXISTS `b c`; DROP sink S;; SUBSCRIBE v; SELECT 1;", "SQL")
    assert statements == [
        Drop("stream", "a"),
        Drop("view", "b c", True),
        Drop("sink", "S"),
        Subscribe("v"),
        Select(Project(None, (Item("1"),)), "SELECT 1"),
    ]


def test_semicolons_in_strings_names_and_comments_end_nothing() -> None:
    statements = parse("SELECT ';', \";\", `;` /* ; */ FROM t -- ;\n; -- the end;", "SQL")
    assert len(statements) == 1


@pytest.mark.parametrize("name", ["orders__latest", "stg_shop__late_orders", "late", "a__kept_b"])
def test_a_name_is_reserved_by_its_ending_alone(name: str) -> None:
    assert one(f"CREATE VIEW {name} AS SELECT 1").declaration.name == name


def test_a_file_of_comments_is_empty() -> None:
    assert parse("-- nothing\n/* at all */ ;", "SQL") == []


def test_parse_creates_takes_nothing_else() -> None:
    assert [entry.declaration.name for entry in parse_creates(PAYMENTS, "app.py", 7)] == ["Payments"]
    with pytest.raises(SyntaxFault):
        parse_creates("SELECT 1", "app.py", 7)


@pytest.mark.parametrize(
    ("text", "line", "part", "hint"),
    [
        ("CREATE STREEM s (a INT) WITH (b = 1)", 1, "STREEM", "STREAM"),
        ("CREAT STREAM s (a INT) WITH (b = 1)", 1, "CREAT", "CREATE"),
        ("FROBNICATE x", 1, "FROBNICATE", "CREATE"),
        ("CREATE STREAM s (a INT)", 1, "options", "WITH"),
        ("CREATE STREAM s WITH (a = 1)", 1, "columns", "CREATE STREAM"),
        ("CREATE STREAM s (a INT) WITH (b = 1)\nCREATE VIEW v AS SELECT 1", 2, "semicolon", ";"),
        ("CREATE VIEW v AS SELECT a FROM t\nCREATE OR REPLACE VIEW w AS SELECT 1", 2, "semicolon", ";"),
        ("CREATE STREAM s (\na INT,\nA INT) WITH (b = 1)", 3, "twice", "case"),
        ("CREATE STREAM s (a INT,, b INT) WITH (b = 1)", 1, "missing", "comma"),
        ("CREATE STREAM s (a) WITH (b = 1)", 1, "type", "STRING"),
        ("CREATE STREAM s (a INT, b NOT NULL) WITH (b = 1)", 1, "type", "computed"),
        ("CREATE STREAM s (a INT,\nWATERMARK FOR b AS b - INTERVAL 1 SECOND) WITH (b = 1)", 2, "`b`", "columns: a"),
        ("CREATE STREAM s (a TIMESTAMP, WATERMARK FOR a AS b) WITH (b = 1)", 1, "late", "WATERMARK FOR"),
        ("CREATE TABLE s (a TIMESTAMP, WATERMARK FOR a) WITH (b = 1)", 1, "table", "CREATE STREAM"),
        ("CREATE TABLE s USING csv", 1, "USING", "WITH"),
        ("CREATE STREAM s (a INT) WITH (b = c)", 1, "`b`", "quotes"),
        ("CREATE STREAM s (a INT) WITH (b = 'c' d = 'e')", 1, "comma", None),
        ("CREATE STREAM s (a INT) WITH (b = 1, B = 2)", 1, "twice", None),
        ("CREATE STREAM s (a INT) WITH (b 1)", 1, "option", "name = 'value'"),
        ("CREATE STREAM s (a INT WITH (b = 1)", 1, "bracket", "bracket"),
        ("CREATE STREAM x.s (a INT) WITH (b = 1)", 1, "one part", "alone"),
        ("CREATE STREAM (a INT) WITH (b = 1)", 1, "name", None),
        ("CREATE STREAM __s (a INT) WITH (b = 1)", 1, "reserved", "Penstock"),
        ("CREATE VIEW late_orders__LATE AS SELECT 1", 1, "reserved", "__late"),
        ("CREATE VIEW orders__dead AS SELECT 1", 1, "reserved", "__dead"),
        ("CREATE MATERIALIZED TABLE s", 1, "VIEW", "MATERIALIZED VIEW"),
        ("CREATE VIEW v SELECT 1", 1, "query", "AS SELECT"),
        ("CREATE VIEW v AS\nSELECT a FROM t\nEMIT SOMETIMES", 3, "SOMETIMES", "EMIT CHANGES"),
        ("CREATE VIEW v AS\n\nSELECT a b c FROM t", 3, "not expected", "word"),
        ("CREATE VIEW v AS", 1, "missing", None),
        ("CREATE SINK s WITH (a = 1)", 1, "which view", "FROM"),
        ("CREATE SINK s FROM (SELECT 1) WITH (a = 1)", 1, "view", "view"),
        ("DROP TABEL t", 1, "TABEL", "TABLE"),
        ("DROP VIEW v w", 1, "`w`", None),
        ("SUBSCRIBE", 1, "SUBSCRIBE", "SUBSCRIBE"),
        ("CREATE", 1, "early", "CREATE STREAM"),
        ("SELECT 'abc", 1, "string", "close"),
    ],
)
def test_faults_say_what_where_and_what_next(text: str, line: int, part: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        parse(text, "app.sql")
    fault = caught.value
    assert isinstance(fault, SyntaxFault | NameFault)
    assert fault.where is not None
    assert (fault.where.file, fault.where.line) == ("app.sql", line)
    assert part in fault.message
    assert fault.excerpt
    assert "^" in fault.excerpt
    assert hint is None or hint in str(fault.hint)

"""Columns of a stream that are computed from what its records hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.plan.check.app import Finding, check
from penstock.plan.model.declare import Declared, Stream
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.statements import parse_creates
from penstock.schema import Column
from penstock.source.options import check_source_options

WITH = "WITH (connector = 'files', path = 'in', format = 'json')"


def declared(columns: str) -> Stream:
    (create,) = parse_creates(f"CREATE STREAM e ({columns}) {WITH}", "app.sql")
    assert isinstance(create.declaration, Stream)
    return create.declaration


def findings(columns: str) -> list[Finding]:
    return check(Declared("app", Path("."), {"e": declared(columns)}), lambda *_: None, lambda *_: None)


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ("at AS timestamp_millis(ms)", Column("at", "timestamp", "timestamp_millis(ms)")),
        ("at TIMESTAMP AS (ms * 2)", Column("at", "timestamp", "(ms * 2)")),
        ("at DECIMAL(12, 2) AS (ms)", Column("at", "decimal(12,2)", "(ms)")),
        ("at TIMESTAMP GENERATED ALWAYS AS (timestamp_millis(ms))", Column("at", "timestamp", "(timestamp_millis(ms))")),
        ("at AS CAST(ms AS INT)", Column("at", "int", "CAST(ms AS INT)")),
    ],
)
def test_a_column_may_be_computed_with_or_without_a_type(written: str, column: Column) -> None:
    found = declared(f"ms BIGINT, {written}, word STRING").schema
    assert found.columns == (Column("ms", "bigint"), column, Column("word", "string"))
    assert found.given.names == ("ms", "word")


def test_python_says_the_same() -> None:
    app = ps.App("a")
    app.stream("e", ps.Files("in", format="json"), "ms BIGINT, at AS timestamp_millis(ms), n INT AS (ms + 1)", event_time="at", lateness="10 seconds")
    (stream,) = app.declarations()
    assert stream == declared("ms BIGINT, at AS timestamp_millis(ms), n INT AS (ms + 1), WATERMARK FOR at AS at - INTERVAL 10 seconds")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("ms BIGINT, at AS timestamp_millis(mss)", "has no column `mss`"),
        ("ms BIGINT, a AS CAST(ms AS INT), b INT AS (a + 1)", "has no column `a`"),
        ("ms BIGINT, a AS ms + 1", "is not known without running it"),
        ("ms BIGINT, a BIGINT AS (sum(ms))", "from its own record alone"),
        ("ms BIGINT, a BIGINT AS ((SELECT 1))", "from its own record alone"),
        ("ms BIGINT, a BIGINT AS ((TABLE text.passwd))", "from its own record alone"),
        ("ms BIGINT, a STRING AS (nofunc(ms))", "there is no function `nofunc`"),
        ("ms BIGINT, a STRING AS (ms ms)", "something is missing before `ms`"),
        ("ms BIGINT, a STRING AS (ms +)", "is not an expression"),
        ("ms BIGINT, a STRING AS (reflect('java.lang.System', 'exit'))", "reflect"),
        ("ms BIGINT, a BIGINT AS (ms), WATERMARK FOR a AS a - INTERVAL 1 SECOND", "not TIMESTAMP"),
    ],
)
def test_what_cannot_be_computed_is_reported(columns: str, says: str) -> None:
    assert any(says in finding.message for finding in findings(columns)), findings(columns)


@pytest.mark.parametrize(
    "expression",
    [
        "CASE WHEN ms > 3 THEN 'a' ELSE 'b' END",
        "upper(word) || '-' -- why",
        "transform(array(1), x -> x + ms)",
        "extract(hour FROM timestamp_millis(ms))",
        "word LIKE 'a%' ESCAPE '!'",
        "trim(BOTH FROM word)",
        "timestamp_millis(ms) + INTERVAL 1 DAY",
        "ms::string",
    ],
)
def test_what_can_be_computed_passes(expression: str) -> None:
    assert findings(f"ms BIGINT, word STRING, a STRING AS ({expression}\n)") == []


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("upper(key", "is not an expression"),
        ("nocol", "has no column `nocol`"),
        ("1) AS x, (2", "never opened"),
        ("nofunc(key)", "there is no function `nofunc`"),
        ("(SELECT max(value) FROM text.passwd)", "from its own record alone"),
        ("(TABLE text.passwd)", "from its own record alone"),
        ("FROM text.passwd", "from its own record alone"),
        ("'open", "does not end"),
        ("", "it is empty"),
        ("concat('c', key, n, r6, at)", None),
    ],
)
def test_a_generators_expression_is_read_as_well(expression: str, says: str | None) -> None:
    stream = Stream("g", parse_columns("id STRING, start STRING"), {"connector": "generator", "id": expression, "start": "2024-01-01T00:00:00Z"})
    found = check(Declared("app", Path("."), {"g": stream}), check_source_options, lambda *_: None)
    assert any(says in finding.message for finding in found) if says else found == []


def test_a_table_has_no_computed_columns() -> None:
    (create,) = parse_creates(f"CREATE TABLE t (a INT, b INT AS (a)) {WITH}", "app.sql")
    (found,) = check(Declared("app", Path("."), {"t": create.declaration}), lambda *_: None, lambda *_: None)
    assert "only a stream" in found.message


def test_what_is_computed_from_nothing_is_an_error() -> None:
    with pytest.raises(ps.UserError, match="is missing"):
        declared("ms BIGINT, at AS")

"""Columns of a stream that are computed from what its records hold."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock.plan.check import Finding, check
from penstock.plan.declare import Declared, Stream
from penstock.plan.statements import parse_creates
from penstock.schema import Column

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
        ("ms BIGINT, a STRING AS (reflect('java.lang.System', 'exit'))", "reflect"),
        ("ms BIGINT, a BIGINT AS (ms), WATERMARK FOR a AS a - INTERVAL 1 SECOND", "not TIMESTAMP"),
    ],
)
def test_what_cannot_be_computed_is_told(columns: str, says: str) -> None:
    assert any(says in finding.message for finding in findings(columns)), findings(columns)


def test_a_table_has_no_computed_columns() -> None:
    (create,) = parse_creates(f"CREATE TABLE t (a INT, b INT AS (a)) {WITH}", "app.sql")
    (found,) = check(Declared("app", Path("."), {"t": create.declaration}), lambda *_: None, lambda *_: None)
    assert "only a stream" in found.message


def test_what_is_computed_from_nothing_is_an_error() -> None:
    with pytest.raises(ps.UserError, match="is missing"):
        declared("ms BIGINT, at AS")

"""Views that read each other are found before anything follows them round."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.check.app import Finding, check
from penstock.plan.load import merged
from penstock.plan.model.declare import Declared
from penstock.plan.sql.statements import parse

STREAM = "CREATE STREAM s (id STRING, at TIMESTAMP) WITH (connector = 'files', path = 'in');"


def errors(views: str) -> list[Finding]:
    app = Declared("app", Path("."), merged(parse(STREAM + views, "app.sql")))
    return [finding for finding in check(app, lambda *_: None, lambda *_: None) if finding.severity == "error"]


@pytest.mark.parametrize("options", ["", "WITH (store = 'false')"])
def test_a_view_that_reads_itself_is_a_fault_and_not_a_crash(options: str) -> None:
    (found,) = errors(f"CREATE MATERIALIZED VIEW v {options} AS SELECT * FROM v;")
    assert found.message == "views that read each other: v -> v"


def test_a_circle_is_named_once_also_where_a_view_without_store_reads_it() -> None:
    (found,) = errors(
        """CREATE MATERIALIZED VIEW a WITH (store = 'false') AS SELECT id FROM b;
        CREATE MATERIALIZED VIEW b WITH (store = 'false') AS SELECT id FROM a;
        CREATE MATERIALIZED VIEW c WITH (store = 'false') AS SELECT id FROM a;
        CREATE MATERIALIZED VIEW d WITH (store = 'false') AS SELECT id FROM s;"""
    )
    assert found.message == "views that read each other: a -> b -> a"


def test_views_outside_the_circle_are_still_looked_at() -> None:
    found = errors(
        """CREATE MATERIALIZED VIEW a AS SELECT id FROM a;
        CREATE MATERIALIZED VIEW n WITH (store = 'false') AS SELECT id, count(*) AS n FROM s GROUP BY id;"""
    )
    assert [finding.message.split(":")[0] for finding in found] == [
        "view `n` keeps no store, but its rows change, which only a store can track",
        "views that read each other",
    ]

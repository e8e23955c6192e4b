"""What explain says of views that are not like the others."""

from __future__ import annotations

from pathlib import Path

from penstock.plan.declare import Declared
from penstock.plan.load import merged
from penstock.plan.statements import parse
from penstock.share.explain import explain

APP = """
CREATE STREAM s (card STRING) WITH (connector = 'files', path = 's');
CREATE TABLE cards (card STRING, country STRING) WITH (connector = 'files', path = 'cards.csv', format = 'csv');
CREATE MATERIALIZED VIEW countries AS SELECT country, count(*) AS n FROM cards GROUP BY country;
CREATE MATERIALIZED VIEW ranked AS SELECT card, rank() OVER (ORDER BY card) AS place FROM s;
"""


def test_a_view_over_tables_alone_runs_once_and_names_no_stream() -> None:
    told, other = explain(Declared("app", Path("."), merged(parse(APP, "app.sql"))))
    assert told.reason == "it reads tables alone"
    assert told.warnings == ()
    assert told.stages == ("table(cards)", "plan", "store")
    assert told.state == "none"
    assert told.cost.startswith("one pass over the tables")
    assert other.warnings[0].startswith("every epoch reads all of s again")

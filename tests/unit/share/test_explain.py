"""What explain says of views that are not like the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.load import merged
from penstock.plan.model.declare import Declared
from penstock.plan.sql.statements import parse
from penstock.share.explain import explain

APP = """
CREATE STREAM s (card STRING) WITH (connector = 'files', path = 's');
CREATE TABLE cards (card STRING, country STRING) WITH (connector = 'files', path = 'cards.csv', format = 'csv');
CREATE MATERIALIZED VIEW countries AS SELECT country, count(*) AS n FROM cards GROUP BY country;
CREATE MATERIALIZED VIEW ranked AS SELECT card, rank() OVER (ORDER BY card) AS place FROM s;
"""


def test_a_view_over_tables_alone_runs_once_and_names_no_stream() -> None:
    explained, other = explain(Declared("app", Path("."), merged(parse(APP, "app.sql"))))
    assert explained.reason == "it reads tables alone"
    assert explained.warnings == ()
    assert explained.stages == ("table(cards)", "plan", "store")
    assert explained.state == "none"
    assert explained.cost.startswith("one pass over the tables")
    assert other.reason.startswith("rank() OVER (...)")
    assert other.warnings[0].startswith("every epoch reads all rows of s again")


TIMED = """
CREATE STREAM a (id INT, k STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE) WITH (connector = 'files', path = 'a');
CREATE STREAM b (k STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 2 MINUTES) WITH (connector = 'files', path = 'b');
"""
JOINED = "FROM a JOIN b ON a.k = b.k"
WITHIN = f"{JOINED} AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
FOREVER = "every row of both streams, never dropped: no bound on time both ways says which can still be joined"
OPEN = "bounded: rows that can still be joined, plus lateness of 1 minute, 2 minutes"
PER_KEY = "one row per distinct key, never dropped"


@pytest.mark.parametrize(
    ("query", "state"),
    [
        (f"SELECT a.id {JOINED}", FOREVER),
        (f"SELECT a.id {JOINED} AND b.at >= a.at", FOREVER),
        (f"SELECT a.k, count(*) AS n {JOINED} GROUP BY a.k", FOREVER),
        (f"SELECT a.id {WITHIN}", OPEN),
        (f"SELECT count(*) AS n {WITHIN}", OPEN),
        (f"SELECT a.id, a.at, count(*) AS n {WITHIN} GROUP BY a.id, a.at", OPEN),
        (f"SELECT a.k, count(*) AS n {WITHIN} GROUP BY a.k", f"{OPEN}; and {PER_KEY}"),
        (f"SELECT window, count(*) AS n {JOINED} GROUP BY window(a.at, '1 hour') EMIT ON WINDOW CLOSE", "none: read again from the source"),
        ("SELECT count(*) AS n FROM a", "bounded: one row"),
        ("SELECT id FROM a LIMIT 5", "bounded: a count of the rows up to the limit"),
        ("SELECT k, count(*) AS n FROM a GROUP BY k", f"{PER_KEY}: it grows with the number of keys"),
        ("SELECT DISTINCT k FROM a", f"{PER_KEY}: it grows with the number of keys"),
        ("SELECT window, count(*) AS n FROM a GROUP BY window(at, '1 hour')", "bounded: open windows of 1 hour plus lateness of 1 minute"),
    ],
)
def test_the_state_is_reported_as_it_is(query: str, state: str) -> None:
    (explained,) = explain(Declared("app", Path("."), merged(parse(f"{TIMED}CREATE MATERIALIZED VIEW v AS {query};", "app.sql"))))
    assert explained.state == state


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("(SELECT DISTINCT at, k FROM a)", "its windows are closed by the whole plan"),
        ("(SELECT * FROM a LIMIT 10)", "its windows are closed by the whole plan"),
        ("(SELECT a.at FROM a JOIN b ON a.k = b.k)", "what it joins has no bound on time both ways, so any window may get more rows"),
        ("(SELECT window_time(window) AS at FROM a GROUP BY window(at, '1 minute'))", "windows of windows close one after the other"),
    ],
)
def test_the_reason_why_windows_are_recomputed_is_the_true_one(rows: str, reason: str) -> None:
    query = f"SELECT window, count(*) AS n FROM {rows} GROUP BY window(at, '1 hour') EMIT ON WINDOW CLOSE"
    (explained,) = explain(Declared("app", Path("."), merged(parse(f"{TIMED}CREATE MATERIALIZED VIEW v AS {query};", "app.sql"))))
    assert (explained.strategy, explained.reason) == ("recompute", reason)

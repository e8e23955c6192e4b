"""Windows that never close, state that never ends and watermarks of a view's own, through views and over any column."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SyntaxFault, TypeFault
from penstock.plan.check.app import Finding, check
from penstock.plan.load import merged
from penstock.plan.model.declare import Declared, View
from penstock.plan.sql.statements import parse
from penstock.share.explain import explain

STREAMS = """
CREATE STREAM raw (card STRING, seen TIMESTAMP) WITH (connector = 'files', path = 'raw');
CREATE STREAM pay (card STRING, created TIMESTAMP, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS) WITH (connector = 'files', path = 'p');
CREATE TABLE cards (card STRING, opened TIMESTAMP) WITH (connector = 'files', path = 'cards.csv', format = 'csv');
CREATE MATERIALIZED VIEW clean AS SELECT card, seen FROM raw WHERE card IS NOT NULL;
CREATE MATERIALIZED VIEW paid AS SELECT card, at AS moment, created FROM pay;
"""
WINDOW = "SELECT window, count(*) AS n FROM {} GROUP BY window({}, '1 hour')"


def app(views: str) -> Declared:
    return Declared("app", Path("."), merged(parse(STREAMS + views, "app.sql")))


def findings(query: str) -> list[Finding]:
    return check(app(f"CREATE MATERIALIZED VIEW v AS {query};"), lambda *_: None, lambda *_: None)


NEVER = [
    ("raw", "seen", "the stream has no event time"),
    ("clean", "seen", "the stream has no event time"),
    ("pay", "created", "the event time is `at` of `pay`"),
    ("paid", "created", "the event time is `at` of `pay`"),
    ("pay", "date_trunc('hour', at)", "the event time is `at` of `pay`"),
    ("pay JOIN cards USING (card)", "opened", "the event time is `at` of `pay`"),
    ("(SELECT at, struct(created AS at) AS s FROM pay)", "s.at", "the event time is `at` of `pay`"),
    ("(SELECT s.at FROM (SELECT at, struct(created AS at) AS s FROM pay))", "at", "the event time is `at` of `pay`"),
    ("(SELECT s.* FROM (SELECT at, struct(created AS at) AS s FROM pay))", "at", "the event time is `at` of `pay`"),
    ("pay JOIN (SELECT card, opened AS at FROM cards) c USING (card)", "c.at", "the event time is `at` of `pay`"),
    ("pay AS p(a, at, c)", "at", "the event time is `at` of `pay`"),
    ("(SELECT at FROM pay UNION ALL SELECT created FROM pay)", "at", "the event time is `at` of `pay`"),
    ("(SELECT created AS at FROM pay UNION ALL SELECT at FROM pay)", "at", "the event time is `at` of `pay`"),
    ("(SELECT at, created FROM pay UNION ALL SELECT created, at FROM pay)", "at", "the event time is `at` of `pay`"),
    ("(SELECT at FROM pay UNION ALL SELECT created FROM pay) AS u(t)", "t", "the event time is `at` of `pay`"),
]


@pytest.mark.parametrize(("source", "time", "why"), NEVER)
def test_a_window_that_never_closes_is_an_error_on_close_and_a_warning_else(source: str, time: str, why: str) -> None:
    (error,) = findings(WINDOW.format(source, time) + " EMIT ON WINDOW CLOSE")
    assert error.severity == "error"
    assert why in error.message
    (warning,) = findings(WINDOW.format(source, time))
    assert warning.severity == "warning"
    assert warning.message.endswith("its state is never dropped")
    (explained,) = explain(app(f"CREATE MATERIALIZED VIEW v AS {WINDOW.format(source, time)};"), "v")
    assert "never dropped" in explained.state


CLOSES = [
    ("pay", "at"),
    ("pay AS p", "p.at"),
    ("paid", "moment"),
    ("(SELECT card, at AS t FROM pay)", "t"),
    ("pay AS p(a, b, c)", "c"),
    ("(SELECT card, at FROM pay UNION ALL SELECT card, moment FROM paid)", "at"),
    ("(SELECT * FROM pay UNION ALL SELECT card, created AS at, at AS created FROM pay) AS u(a, b, c)", "c"),
    ("pay JOIN cards USING (card)", "at"),
    ("pay p JOIN cards c ON p.card = c.card", "P.at"),
    ("(SELECT p.* FROM pay p JOIN cards c ON p.card = c.card WHERE c.opened IS NOT NULL) q", "q.at"),
    ("paid", "paid.moment"),
    ("STREAM raw WATERMARK seen DELAY OF INTERVAL 10 SECONDS", "seen"),
]


@pytest.mark.parametrize(("source", "time"), CLOSES)
@pytest.mark.parametrize("emit", ["", " EMIT ON WINDOW CLOSE"])
def test_a_window_over_the_event_time_closes_by_whatever_name(source: str, time: str, emit: str) -> None:
    assert findings(WINDOW.format(source, time) + emit) == []


def test_a_part_of_a_window_never_closes() -> None:
    query = "SELECT window(at, '1 hour').start AS h, count(*) AS n FROM pay GROUP BY h"
    (error,) = findings(f"{query} EMIT ON WINDOW CLOSE")
    assert (error.severity, error.message) == ("error", "`v` emits on window close, but groups by no window")
    assert findings(query) == []
    (explained,) = explain(app(f"CREATE MATERIALIZED VIEW v AS {query};"), "v")
    assert "never dropped" in explained.state


def test_a_window_beside_its_own_time_is_kept_for_ever() -> None:
    (warning,) = findings("SELECT window(at, '1 hour') AS w, at, count(*) AS n FROM pay GROUP BY 1, 2")
    assert (warning.severity, warning.message.endswith("its state is never dropped")) == ("warning", True)


@pytest.mark.parametrize("emit", ["", " EMIT ON WINDOW CLOSE"])
def test_two_windows_that_differ_are_an_error(emit: str) -> None:
    query = "SELECT window(at, '1 hour') AS w, {} AS d, count(*) AS n FROM pay GROUP BY 1, 2" + emit
    for other in ("window(at, '1 day')", "window(created, '1 hour')", "window(at, '1 hour', '1 minute')", "session_window(at, '1 hour')"):
        errors = [finding.message for finding in findings(query.format(other)) if finding.severity == "error"]
        assert "GROUP BY takes one window, and here are two that differ" in errors
    assert [finding for finding in findings(query.format("window(at, '60 minutes').start")) if finding.severity == "error"] == []


def test_explain_knows_the_watermark_of_a_view_of_its_own() -> None:
    query = WINDOW.format("STREAM raw WATERMARK seen DELAY OF INTERVAL 10 SECONDS", "seen")
    (explained,) = explain(app(f"CREATE MATERIALIZED VIEW v AS {query};"), "v")
    assert explained.state == "bounded: open windows of 1 hour plus lateness of 10 seconds"


def test_a_view_over_a_window_may_emit_on_its_close() -> None:
    hourly = f"CREATE MATERIALIZED VIEW hourly AS {WINDOW.format('pay', 'at')};"
    found = check(app(hourly + "CREATE MATERIALIZED VIEW v AS SELECT n FROM hourly EMIT ON WINDOW CLOSE;"), lambda *_: None, lambda *_: None)
    assert found == []


def test_state_that_grows_is_found_through_a_view_that_keeps_nothing() -> None:
    (found,) = findings("SELECT DISTINCT card FROM clean")
    assert "DISTINCT keeps every row it has seen" in found.message


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("STREAM raw WATERMARK sen DELAY OF INTERVAL 10 SECONDS", "`raw` has no column `sen` for its event time"),
        ("STREAM raw WATERMARK card DELAY OF INTERVAL 10 SECONDS", "the event time of `raw` is STRING"),
        ("clean WATERMARK seen DELAY OF INTERVAL 10 SECONDS", "`clean` is a view, and only a stream has a watermark"),
        ("cards WATERMARK opened DELAY OF INTERVAL 10 SECONDS", "`cards` is a table, and only a stream has a watermark"),
    ],
)
def test_a_watermark_of_the_view_is_held_to_what_that_of_a_stream_is(source: str, says: str) -> None:
    found = [finding for finding in findings(f"SELECT card FROM {source}") if finding.severity == "error"]
    assert len(found) == 1
    assert says in found[0].message
    assert found[0].excerpt


@pytest.mark.parametrize("lateness", ["INTERVAL 10 PARSECS", "INTERVAL 10", "'soon'", "10", "INTERVAL -1 SECOND"])
def test_a_delay_that_is_no_duration_is_a_fault(lateness: str) -> None:
    with pytest.raises((TypeFault, SyntaxFault)):
        findings(f"SELECT card FROM STREAM raw WATERMARK seen DELAY OF {lateness}")


@pytest.mark.parametrize(
    ("lateness", "expected"),
    [
        ("INTERVAL 10 SECONDS", "10 seconds"),
        ("INTERVAL '1' HOUR", "1 hour"),
        ("INTERVAL '1 02' DAY TO HOUR", "1 day 2 hours"),
        ("'5 minutes'", "5 minutes"),
    ],
)
def test_delays_in_every_spelling(lateness: str, expected: str) -> None:
    view = app(f"CREATE MATERIALIZED VIEW v AS SELECT r.card FROM STREAM raw WATERMARK seen DELAY OF {lateness} AS r;").declarations["v"]
    assert isinstance(view, View)
    assert view.watermarks == {"raw": ("seen", expected)}


def test_distinct_over_sessions_of_several_grouping_sets_is_refused() -> None:
    query = "SELECT card, count(DISTINCT created) AS a, count(*) AS n FROM pay GROUP BY {}"
    for sets in ("ROLLUP(card), session_window(at, '1 hour')", "CUBE(card, session_window(at, '1 hour'))"):
        errors = [finding for finding in findings(query.format(sets)) if finding.severity == "error"]
        assert ["DISTINCT aggregates of sessions" in finding.message for finding in errors] == [True]
    assert [finding for finding in findings(query.format("card, session_window(at, '1 hour')")) if finding.severity == "error"] == []

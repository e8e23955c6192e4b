"""A view that shows the start or the end of the window it groups by is known by it, under any name and through the work above."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.load import merged
from penstock.plan.model.declare import Declared
from penstock.plan.sql.statements import parse
from penstock.share.explain import explain

APP = """
CREATE STREAM s (card STRING, at TIMESTAMP, x INT, WATERMARK FOR at AS at - INTERVAL 1 MINUTE) WITH (connector = 'files', path = 's');
CREATE MATERIALIZED VIEW base AS SELECT window, card, count(*) AS n FROM s GROUP BY window(at, '1 hour'), card;
"""
HOURS = "FROM s GROUP BY window(at, '1 hour')"
HOURLY = f"SELECT window.start AS m, count(*) AS n {HOURS}"
TUMBLE = "FROM TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '10' MINUTES) GROUP BY window_start, window_end"
HOP = "FROM HOP(TABLE s, DESCRIPTOR(at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) GROUP BY window_start, window_end"
SESSION = "FROM SESSION(TABLE s PARTITION BY card, DESCRIPTOR(at), INTERVAL '10' MINUTES) GROUP BY card, window_start, window_end"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        (f"SELECT window.start AS minute, count(*) AS n {HOURS}", ("minute",)),
        (f"SELECT window.end AS till, count(*) AS n {HOURS}", ("till",)),
        (f"SELECT window.start AS a, window.end AS b, card, count(*) AS n {HOURS}, card", ("a", "card")),
        (f"SELECT window(at, '1 hour').start AS t, count(*) AS n {HOURS}", ("t",)),
        (f"SELECT window, window.start AS t, count(*) AS n {HOURS}", ("window",)),
        ("SELECT window.end AS till, count(*) AS n FROM s GROUP BY window(at, '1 hour', '10 minutes')", ("till",)),
        ("SELECT card, session_window.start AS b, count(*) AS n FROM s GROUP BY card, session_window(at, '10 minutes')", ("card", "b")),
        (f"SELECT window_start, card, count(*) AS n {TUMBLE}, card", ("window_start", "card")),
        (f"SELECT window_end AS till, count(*) AS n {HOP}", ("till",)),
        (f"SELECT card, window_start AS b, count(*) AS n {SESSION} EMIT ON WINDOW CLOSE", ("card", "b")),
        (f"{HOURLY} HAVING count(*) > 2", ("m",)),
        (f"SELECT m AS t, n FROM ({HOURLY}) WHERE n > 1", ("t",)),
        (f"SELECT window.start AS t, n FROM (SELECT window, count(*) AS n {HOURS})", ("t",)),
        (f"SELECT q.w.end AS t, n FROM (SELECT window AS w, count(*) AS n {HOURS}) q", ("t",)),
        ("SELECT b.window.end AS t, b.card, b.n FROM base b", ("t", "card")),
        ("SELECT date_trunc('hour', at) AS h, count(*) AS n FROM s GROUP BY date_trunc('hour', at)", ("h",)),
        (f"SELECT DISTINCT window.start AS m {HOURS}, card", ("*",)),
    ],
)
def test_a_border_of_the_window_is_a_key(query: str, key: tuple[str, ...]) -> None:
    assert _key(query) == key


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT hour(window.start) AS h, count(*) AS n {HOURS}",
        f"SELECT window.start AS m, count(*) AS n {HOURS}, card",
        "SELECT window.start AS m, n FROM base",
        f"{HOURLY} UNION ALL SELECT window.start AS m, count(*) AS n FROM s GROUP BY window(at, '1 day')",
        f"SELECT a.m, b.card FROM ({HOURLY}) a JOIN base b ON a.m = b.window.start",
        f"SELECT window.start + INTERVAL 1 HOUR AS m, count(*) AS n {HOURS}",
    ],
)
def test_what_does_not_tell_the_rows_apart_is_none(query: str) -> None:
    assert _key(query) is None


def _key(query: str) -> tuple[str, ...] | None:
    declared = Declared("app", Path("."), merged(parse(f"{APP} CREATE MATERIALIZED VIEW v AS {query};", "app.sql")))
    return explain(declared, "v")[0].key

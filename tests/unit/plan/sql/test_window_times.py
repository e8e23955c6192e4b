"""Times of windows above a cut, over a view and of sessions: computed from the window's end, for kept rows lack Spark's mark."""

from __future__ import annotations

import pytest

from penstock.plan.cut.decide import Strategy, cut
from penstock.plan.load import resolve_aliases
from penstock.plan.model.declare import Declaration, Stream, View
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import Node
from penstock.plan.model.text import sql
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select

HOURLY = "SELECT window, k, count(*) AS n FROM s GROUP BY window(at, '1 hour'), k"
DECLARED: dict[str, Declaration] = {
    "s": Stream("s", parse_columns("k STRING, span STRUCT<start: INT, end: INT>, at TIMESTAMP"), {}, "at", "10 seconds"),
    "hourly": View("hourly", parse_select(HOURLY)),
}
END = "end - INTERVAL '0.000001' SECOND"


def read(text: str) -> Node:
    return resolve_aliases(parse_select(text), Names(schemas(DECLARED)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            f"SELECT window(window, '2 hours') AS w, sum(n) AS n FROM ({HOURLY}) GROUP BY window(window, '2 hours')",
            f"SELECT window(window.{END}, '2 hours') AS w, sum(n) AS n FROM ({HOURLY}) GROUP BY window(window.{END}, '2 hours')",
        ),
        (
            "SELECT window(x.w, '2 hours') AS v FROM (SELECT window AS w FROM hourly) x WHERE window_time(w) > '2024' ORDER BY window_time(w)",
            f"SELECT window(x.w.{END}, '2 hours') AS v FROM (SELECT window AS w FROM hourly) x WHERE (w.{END}) > '2024' ORDER BY (w.{END})",
        ),
        (
            "SELECT window_time(window) FROM hourly JOIN s ON window_time(hourly.window) > s.at",
            f"SELECT (window.{END}) AS `window_time(window)` FROM hourly JOIN s ON (hourly.window.{END}) > s.at",
        ),
        (
            f"SELECT k, max(window_time(window)) AS m FROM ({HOURLY}) GROUP BY k HAVING max(window_time(window)) > '2024'",
            f"SELECT k, max((window.{END})) AS m FROM ({HOURLY}) GROUP BY k HAVING max((window.{END})) > '2024'",
        ),
        (
            "SELECT window_time(window(window, '2 hours')) AS t FROM hourly",
            f"SELECT (window(window.{END}, '2 hours').{END}) AS t FROM hourly",
        ),
    ],
)
def test_the_time_of_a_window_is_computed_from_its_end(text: str, wanted: str) -> None:
    assert read(text) == parse_select(wanted)


@pytest.mark.parametrize(
    "text", [HOURLY, "SELECT window(at, '1 hour') AS w FROM s", "SELECT window(span, '1 hour') AS w FROM s", "SELECT 'window_time(w)' AS w FROM s"]
)
def test_what_is_no_window_is_left_alone(text: str) -> None:
    assert read(text) == parse_select(text)


def test_windows_of_windows_are_kept_below_and_computed_above() -> None:
    plan = read(f"SELECT window(window, '2 hours') AS w, sum(n) AS n FROM ({HOURLY}) GROUP BY window(window, '2 hours')")
    found = cut(View("v", plan), DECLARED)
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert f"GROUP BY window(window.{END}, '2 hours')" in sql(found.upper)


def test_the_time_of_a_session_is_computed_from_its_greatest_end() -> None:
    plan = read("SELECT window_time(session_window) AS t, k, count(*) AS n FROM s GROUP BY session_window(at, '5 minutes'), k")
    assert f"(max(session_window.end) - {END.removeprefix('end - ')}) AS `t`" in sql(plan)

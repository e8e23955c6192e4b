"""Which plans are brought up to date by changes, and in which steps."""

from __future__ import annotations

import pytest

from penstock.plan.cut.delta import delta
from penstock.plan.cut.partials import Moves
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select

TYPES = {"sum(n)": "bigint", "sum(d)": "decimal(19,2)", "avg(d)": "decimal(13,6)"}


def type_of(text: str) -> str:
    return TYPES.get(text, "double")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) AS n FROM kept",
        "SELECT k, sum(n) AS s, avg(n) AS a, avg(d) AS b FROM kept WHERE n > 1 GROUP BY k HAVING sum(n) > 3",
        "SELECT k, s * 2 AS t FROM (SELECT upper(k) AS k, count_if(n > 1) AS s FROM kept GROUP BY upper(k)) WHERE s > 1",
        "SELECT k, bool_or(n > 3) AS any FROM kept GROUP BY k",
        "SELECT k, count(n) FILTER (WHERE d > 0) AS c FROM kept GROUP BY k",
    ],
)
def test_what_can_be_taken_away_again_is_added_up(text: str) -> None:
    found = delta(parse_select(text, "app.sql"), "kept", type_of)
    assert found is not None
    assert "__changed" in sql(found.changes)
    assert "kept`" not in sql(found.final)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT country, bool_or(n > 3) AS any FROM kept JOIN cards ON kept.card = cards.card GROUP BY country",
        "SELECT k, max(n) AS m FROM kept GROUP BY k",
        "SELECT k, sum(x) AS s FROM kept GROUP BY k",
        "SELECT k, count(DISTINCT n) AS c FROM kept GROUP BY k",
        "SELECT k, count(*) FROM kept GROUP BY k",
        "SELECT k, n FROM kept",
        "SELECT k, count(*) AS c FROM (SELECT a.* FROM kept a JOIN cards ON a.card = cards.card) GROUP BY k",
        "SELECT k, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM kept GROUP BY k",
        "SELECT k, count(*) AS n FROM kept GROUP BY ROLLUP (k)",
        "SELECT session_window.start AS s, count(*) AS n FROM kept GROUP BY session_window(at, '5 minutes')",
        "SELECT a.k, count(*) AS n FROM kept a JOIN kept b ON a.k = b.k GROUP BY a.k",
        "SELECT k, count(*) AS n FROM kept GROUP BY k ORDER BY n LIMIT 3",
        "SELECT k, session_window.start AS s, count(*) AS n FROM kept GROUP BY session_window(at, '5 minutes'), k",
        "SELECT k, count(*) AS n FROM kept WHERE at > now() - INTERVAL 1 HOUR GROUP BY k",
        "SELECT k, sum(n) AS s FROM (SELECT k, n, current_date AS today FROM kept WHERE rand() < 0.5) GROUP BY k",
        "SELECT today, count(*) AS n FROM (SELECT CURRENT_DATE AS today FROM kept) GROUP BY today",
    ],
)
def test_what_cannot_is_left_to_another_way(text: str) -> None:
    assert delta(parse_select(text, "app.sql"), "kept", type_of) is None


@pytest.mark.parametrize(
    ("text", "moves", "holds"),
    [
        ("SELECT k, min(n) AS m, sum(x) AS s, avg(x) AS a FROM kept GROUP BY k", Moves(adds_only=True), True),
        ("SELECT k, collect_list(n) AS l FROM kept GROUP BY k", Moves(adds_only=True), False),
        ("SELECT k, max(n) AS m FROM kept GROUP BY k", Moves(grows={"n": "max"}), True),
        ("SELECT k, min(n) AS m FROM kept GROUP BY k", Moves(grows={"n": "max"}), False),
        ("SELECT k, max(n + 1) AS m FROM kept GROUP BY k", Moves(grows={"n": "max"}), False),
        ("SELECT k, max(n) AS m FROM kept WHERE n < 3 GROUP BY k", Moves(grows={"n": "max"}), False),
    ],
)
def test_what_has_no_inverse_is_merged_where_nothing_is_taken_away_that_counts(text: str, moves: Moves, holds: bool) -> None:
    assert (delta(parse_select(text, "app.sql"), "kept", type_of, moves) is not None) is holds

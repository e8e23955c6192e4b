"""SQL that other engines take: what Spark refuses is reported with what to write instead, and so is what does not go together."""

from __future__ import annotations

import pytest

from penstock.errors import PlanFault, SyntaxFault
from penstock.plan.model.declare import View
from penstock.plan.model.nodes import Order
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import parse, parse_creates

TUMBLE = "TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
QUALIFY = "QUALIFY k = 1"


@pytest.mark.parametrize(
    ("query", "says", "hint"),
    [
        ("SELECT k FROM s LIMIT 5, 10", "one number", "LIMIT 10 OFFSET 5"),
        (f"SELECT k FROM s {QUALIFY} LIMIT 5, 10", "one number", "LIMIT 10 OFFSET 5"),
        ("SELECT STRING_AGG(id, ',' ORDER BY at) FROM s", "no ORDER BY", "listagg(id, ',') WITHIN GROUP (ORDER BY at)"),
        ("SELECT array_agg(id ORDER BY at DESC) FROM s", "no ORDER BY", "sort_array(array_agg(id))"),
        ("SELECT DISTINCT ON (k) k, x FROM s", "DISTINCT ON", "PARTITION BY k"),
        ("SELECT k, x FROM s UNION ALL BY NAME SELECT x, k FROM s", "UNION BY NAME", "in one order"),
        ("SELECT s.k FROM s JOIN t FOR SYSTEM_TIME AS OF s.at ON s.k = t.k", "no versions", "leave it out"),
    ],
)
def test_a_form_that_spark_does_not_have_is_refused_with_its_own(query: str, says: str, hint: str) -> None:
    with pytest.raises(PlanFault, match=says) as caught:
        parse_select(query)
    assert hint in (caught.value.hint or "")
    assert caught.value.excerpt


@pytest.mark.parametrize(
    "query",
    [
        "SELECT limit, offset FROM s LIMIT 10 OFFSET 5",
        "SELECT f(limit, 5) FROM s",
        "SELECT listagg(id, ',') WITHIN GROUP (ORDER BY at) FROM s",
        "SELECT sum(x) OVER (PARTITION BY k ORDER BY at) AS t FROM s",
        "SELECT k FROM s WHERE x = any (SELECT x FROM t ORDER BY x LIMIT 1)",
        "SELECT count(DISTINCT k) AS n FROM s",
        "SELECT overlay(k PLACING 'x' FROM 1 FOR 2) AS o, timestamp AS of FROM s",
        f"SELECT k FROM stream {QUALIFY}",
        "SELECT k FROM stream AS s NATURAL JOIN t",
    ],
)
def test_what_only_looks_like_it_passes(query: str) -> None:
    parse_select(query)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (f"SELECT * FROM {TUMBLE} {QUALIFY}", ("TUMBLE(...)", "QUALIFY")),
        (f"SELECT * FROM (SELECT * FROM {TUMBLE}) {QUALIFY}", ("TUMBLE(...)", "QUALIFY")),
        (f"SELECT * FROM STREAM s {QUALIFY}", ("STREAM s", "QUALIFY")),
        (f"SELECT * FROM s WATERMARK at DELAY OF INTERVAL 10 SECONDS {QUALIFY}", ("WATERMARK", "QUALIFY")),
        (f"SELECT * FROM {TUMBLE} NATURAL JOIN t", ("TUMBLE(...)", "NATURAL JOIN")),
        (f"SELECT * FROM {TUMBLE} PIVOT (sum(x) FOR k IN ('a'))", ("TUMBLE(...)", "PIVOT")),
        (f"FROM {TUMBLE} |> WHERE x > 1", ("TUMBLE(...)", "|>")),
    ],
)
def test_what_does_not_go_together_is_named_with_a_way_out(query: str, names: tuple[str, str]) -> None:
    with pytest.raises(PlanFault, match="do not go together") as caught:
        parse_select(query)
    assert all(name in caught.value.message for name in names)
    assert "WITH w AS" in (caught.value.hint or "")


def test_the_way_out_is_one() -> None:
    assert "window_start" in sql(parse_select(f"WITH w AS (SELECT * FROM {TUMBLE}) SELECT * FROM w {QUALIFY}"))
    (create,) = parse_creates(
        f"CREATE VIEW v AS WITH w AS (SELECT * FROM STREAM s WATERMARK at DELAY OF INTERVAL 10 SECONDS) SELECT * FROM w {QUALIFY}", "app.sql"
    )
    assert isinstance(create.declaration, View)
    assert create.declaration.watermarks


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, row_number() OVER w AS r FROM s WINDOW w AS (PARTITION BY k ORDER BY at) ORDER BY row_number() OVER w DESC LIMIT 3",
        "SELECT k, row_number() OVER (PARTITION BY k ORDER BY at) AS r FROM s ORDER BY row_number() OVER (PARTITION BY k ORDER BY at) DESC LIMIT 3",
    ],
)
def test_a_sort_key_over_a_window_is_the_column_that_is_the_same(query: str) -> None:
    """Spark refuses the key as it is written, also with its window's name in it."""
    plan = parse_select(query)
    assert isinstance(plan, Order)
    assert plan.keys == ("`r` DESC",)


def test_a_named_window_holds_in_order_by() -> None:
    plan = parse_select("SELECT k FROM s WINDOW w AS (PARTITION BY k ORDER BY at) ORDER BY row_number() OVER w")
    assert isinstance(plan, Order)
    assert plan.keys == ("row_number() OVER (PARTITION BY k ORDER BY at)",)


def test_a_view_takes_no_list_of_columns() -> None:
    with pytest.raises(SyntaxFault, match="takes no list of columns") as caught:
        parse("CREATE VIEW v (a, b) AS SELECT 1, 2", "app.sql")
    assert "SELECT id AS a" in (caught.value.hint or "")


def test_a_bare_select_emits_nothing() -> None:
    with pytest.raises(SyntaxFault, match="EMIT is not part") as caught:
        parse("SELECT k FROM s EMIT CHANGES", "SQL")
    assert "CREATE MATERIALIZED VIEW" in (caught.value.hint or "")

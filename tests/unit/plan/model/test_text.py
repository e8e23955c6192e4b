"""A plan printed as SQL is read again as the same plan."""

from __future__ import annotations

import pytest

from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select

QUERIES = [
    "SELECT 1 AS one",
    "SELECT a, b AS c FROM t WHERE a > 'it''s' AND b IS NOT NULL",
    "SELECT DISTINCT a FROM t",
    "SELECT t.a, u.b FROM t JOIN u ON t.a = u.a LEFT JOIN w USING (a, b)",
    "SELECT a FROM t x WHERE x.a IN (SELECT b FROM u WHERE u.c = x.c)",
    "SELECT a, count(*) AS n FROM t GROUP BY a HAVING count(*) > 1 ORDER BY n DESC NULLS LAST, a LIMIT 5 OFFSET 2",
    "SELECT w FROM t LATERAL VIEW explode(words) e AS w",
    "SELECT a FROM t UNION ALL SELECT a FROM u",
    "SELECT a FROM t UNION SELECT a FROM u",
    "SELECT a FROM t EXCEPT ALL SELECT a FROM u",
    "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT a FROM u ORDER BY a LIMIT 1)",
    "SELECT x.a FROM (SELECT a FROM t ORDER BY a LIMIT 3) x WHERE x.a > 1",
    "WITH c AS (SELECT a FROM t) SELECT p.a FROM c p JOIN c q ON p.a = q.a",
    "SELECT a, sum(b) OVER (PARTITION BY a ORDER BY c) AS s FROM t",
    "SELECT a, b, sum(c) AS s FROM t GROUP BY ROLLUP (a, b)",
    "SELECT `odd name`, `it``s` FROM t",
    "SELECT '__sub_0__' AS lit FROM t WHERE a > (SELECT max(b) FROM u)",
]


@pytest.mark.parametrize("text", QUERIES)
def test_printed_text_means_the_same_plan(text: str) -> None:
    plan = parse_select(text, "app.sql")
    assert parse_select(sql(plan), "app.sql") == plan


def test_conditions_of_two_filters_are_kept_apart() -> None:
    from penstock.plan.model.nodes import Filter, Scan

    assert "WHERE (a OR b) AND (c)" in sql(Filter(Filter(Scan("t"), "a OR b"), "c"))


def test_a_relation_named_twice_is_nested() -> None:
    printed = sql(parse_select("WITH q(a, b) AS (SELECT x, y FROM s) SELECT a FROM q z", "app.sql"))
    assert "AS `q`(`a`, `b`)) AS `z`" in printed

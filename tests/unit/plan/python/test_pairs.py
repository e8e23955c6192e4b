"""SQL and Python give the same plan for the same meaning."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.plan.expression.grammar import validate_select
from penstock.plan.model import text
from penstock.plan.python.query import Query, finished
from penstock.plan.sql.select import parse_select

app = ps.App("pairs")
payments = app.stream(
    "payments",
    ps.Kafka("localhost:9092", topic="payments"),
    "id STRING, card STRING, amount DECIMAL(12,2), tags ARRAY<STRING>, at TIMESTAMP",
    event_time="at",
    lateness="10 seconds",
)
refunds = app.stream(
    "refunds", ps.Kafka("localhost:9092", topic="refunds"), "id STRING, card STRING, amount DECIMAL(12,2), at TIMESTAMP", event_time="at"
)
cards = app.table("cards", ps.Files("cards.csv", format="csv"), "card STRING, country STRING")
hourly = payments.window("1 hour").group_by("card").agg(total="sum(amount)")

PAIRS: list[tuple[str, Query]] = [
    ("SELECT * FROM payments", payments),
    ("SELECT * FROM payments WHERE amount > 500", payments.where("amount > 500")),
    ("SELECT * FROM payments WHERE (amount > 5) AND (card IS NOT NULL)", payments.where("amount > 5").where("card IS NOT NULL")),
    ("SELECT card, amount FROM payments", payments.select("card", "amount")),
    ("SELECT card, amount * 2 AS double FROM payments", payments.select("card", double="amount * 2")),
    ("SELECT card, amount * 2 AS double FROM payments", payments.select("card", "amount * 2 AS double")),
    ("SELECT card FROM payments WHERE amount > 500", payments.where("amount > 500").select("card")),
    (
        "SELECT * FROM (SELECT card, amount * 2 AS double FROM payments) WHERE double > 4",
        payments.select("card", double="amount * 2").where("double > 4"),
    ),
    (
        "SELECT * FROM map_batches(payments, 'scoring:score', 'returns card STRING, score DOUBLE')",
        payments.map_batches("scoring:score", returns="card STRING, score DOUBLE"),
    ),
    (
        "SELECT card, sum(score) AS total FROM map_batches((SELECT * FROM payments WHERE amount > 1), 'scoring:score', 'card STRING, score DOUBLE') "
        "WHERE score > 2 GROUP BY card",
        payments.where("amount > 1")
        .map_batches("scoring:score", "card STRING, score DOUBLE")
        .where("score > 2")
        .group_by("card")
        .agg(total="sum(score)"),
    ),
    (
        "SELECT * FROM map_with_state(payments PARTITION BY card ORDER BY at, 'scoring:update', 'returns card STRING', 'state n INT', 'ttl 1 hour')",
        payments.key_by("card").order_by("at").map_with_state("scoring:update", state="n INT", returns="card STRING", ttl="1 hour"),
    ),
    (
        "SELECT * FROM map_with_state((SELECT * FROM payments WHERE amount > 1) PARTITION BY card, 'scoring:Leak', 'n INT', 'arrival', 'output x')",
        payments.where("amount > 1").key_by("card").order_by("arrival").map_with_state("scoring:Leak", "n INT", output="x"),
    ),
    ("SELECT id, score(amount, card) AS risk FROM payments", payments.select("id", risk="score(amount, card)")),
    ("SELECT * FROM payments JOIN cards USING (card)", payments.join(cards, on="card")),
    ("SELECT * FROM payments LEFT JOIN cards USING (card)", payments.left_join(cards, on="card")),
    ("SELECT * FROM payments JOIN refunds USING (id, card)", payments.join(refunds, on=["id", "card"])),
    (
        "SELECT p.id, r.amount FROM payments AS p JOIN refunds AS r ON p.id = r.id",
        payments.alias("p").join(refunds.alias("r"), on="p.id = r.id").select("p.id", "r.amount"),
    ),
    ("SELECT * FROM payments LEFT SEMI JOIN cards USING (card)", payments.join(cards, on="card", how="semi")),
    ("SELECT * FROM payments CROSS JOIN cards", payments.join(cards, how="cross")),
    (
        "SELECT * FROM payments JOIN (SELECT * FROM cards WHERE country = 'CH') USING (card)",
        payments.join(cards.where("country = 'CH'"), on="card"),
    ),
    (
        "SELECT window, country, sum(amount) AS total FROM payments JOIN cards USING (card) GROUP BY window(at, '1 hour', '10 minutes'), country",
        payments.join(cards, on="card").window("1 hour", every="10 minutes").group_by("country").agg(total="sum(amount)"),
    ),
    ("SELECT window, count(*) AS n FROM payments GROUP BY window(at, '5 minutes')", payments.window("5 minutes").agg(n="count(*)")),
    (
        "SELECT session_window, card, count(*) AS n FROM payments GROUP BY session_window(at, '30 minutes'), card",
        payments.session("30 minutes").group_by("card").agg(n="count(*)"),
    ),
    ("SELECT count(*) AS n FROM payments", payments.agg(n="count(*)")),
    (
        "SELECT card, sum(amount) AS total, count(*) AS n FROM payments GROUP BY card",
        payments.group_by("card").agg(total="sum(amount)", n="count(*)"),
    ),
    (
        "SELECT card, sum(amount) AS total FROM payments GROUP BY card HAVING total > 100",
        payments.group_by("card").agg(total="sum(amount)").having("total > 100"),
    ),
    (
        "SELECT date_trunc('hour', at) AS hour, count(*) AS n FROM payments GROUP BY date_trunc('hour', at)",
        payments.group_by("date_trunc('hour', at) AS hour").agg(n="count(*)"),
    ),
    ("SELECT DISTINCT card FROM payments", payments.select("card").distinct()),
    ("SELECT DISTINCT * FROM payments", payments.distinct()),
    ("SELECT id FROM payments UNION ALL SELECT id FROM refunds", payments.select("id").union(refunds.select("id"))),
    (
        "SELECT id FROM payments UNION ALL SELECT id FROM refunds UNION ALL SELECT card FROM cards",
        payments.select("id").union(refunds.select("id"), cards.select("card")),
    ),
    ("SELECT * FROM payments ORDER BY amount DESC", payments.order_by("amount DESC")),
    (
        "SELECT card, amount FROM payments ORDER BY amount DESC, card LIMIT 10",
        payments.select("card", "amount").order_by("amount DESC", "card").limit(10),
    ),
    ("SELECT * FROM payments LIMIT 10 OFFSET 5", payments.limit(10, offset=5)),
    (
        "SELECT card, sum(amount) AS total FROM payments GROUP BY card ORDER BY total DESC LIMIT 3",
        payments.group_by("card").agg(total="sum(amount)").order_by("total DESC").limit(3),
    ),
    ("SELECT * FROM payments LATERAL VIEW explode(tags) AS tag", payments.explode("tags", "tag")),
    (
        "SELECT tag, card FROM payments LATERAL VIEW OUTER posexplode(tags) t AS i, tag",
        payments.explode("posexplode(tags)", "i", "tag", table="t", outer=True).select("tag", "card"),
    ),
    ("SELECT * FROM payments WHERE card IN (SELECT card FROM cards)", payments.where("card IN (SELECT card FROM cards)")),
    (
        "SELECT * FROM payments WHERE (card IN (SELECT card FROM cards)) AND (amount > (SELECT max(amount) FROM refunds))",
        payments.where("card IN (SELECT card FROM cards)").where("amount > (SELECT max(amount) FROM refunds)"),
    ),
    (
        "SELECT card, amount - (SELECT avg(amount) AS m FROM refunds) AS above FROM payments",
        payments.select("card", above="amount - (SELECT avg(amount) AS m FROM refunds)"),
    ),
    (
        "SELECT card, sum(amount) AS total, (SELECT count(*) FROM cards) AS n FROM payments GROUP BY card "
        "HAVING sum(amount) > (SELECT max(amount) FROM refunds)",
        payments.group_by("card")
        .agg("sum(amount) AS total", n="(SELECT count(*) FROM cards)")
        .having("sum(amount) > (SELECT max(amount) FROM refunds)"),
    ),
    (
        "SELECT * FROM payments JOIN cards ON payments.card = cards.card AND amount > (SELECT max(amount) FROM refunds)",
        payments.join(cards, on="payments.card = cards.card AND amount > (SELECT max(amount) FROM refunds)"),
    ),
    ("SELECT * FROM payments ORDER BY (SELECT 1), card", payments.order_by("(SELECT 1)", "card")),
    (
        "SELECT * FROM (SELECT * FROM payments LATERAL VIEW explode(tags) AS tag) JOIN cards USING (card)",
        payments.explode("tags", "tag").join(cards, on="card"),
    ),
    (
        "SELECT * FROM cards JOIN (SELECT * FROM payments LATERAL VIEW explode(tags) AS tag) USING (card)",
        cards.join(payments.explode("tags", "tag"), on="card"),
    ),
    (
        "SELECT max(total) AS most FROM (SELECT window, card, sum(amount) AS total FROM payments GROUP BY window(at, '1 hour'), card)",
        hourly.agg(most="max(total)"),
    ),
    (
        "SELECT card, rank() OVER (PARTITION BY window ORDER BY total DESC) AS place "
        "FROM (SELECT window, card, sum(amount) AS total FROM payments GROUP BY window(at, '1 hour'), card)",
        hourly.select("card", place="rank() OVER (PARTITION BY window ORDER BY total DESC)"),
    ),
]


@pytest.mark.parametrize(("sql", "query"), PAIRS, ids=[sql for sql, _ in PAIRS])
def test_sql_and_python_give_equal_plans(sql: str, query: Query) -> None:
    assert parse_select(sql) == finished(query)


@pytest.mark.parametrize(("sql", "query"), PAIRS, ids=[sql for sql, _ in PAIRS])
def test_what_is_printed_for_spark_is_well_formed_and_means_the_same(sql: str, query: Query) -> None:
    printed = text.sql(finished(query))
    if "PARTITION BY" not in printed.split("FROM")[-1]:  # Spark never sees a keyed operator
        validate_select(printed)
    assert text.sql(parse_select(printed)) == printed


def test_a_query_from_text_goes_on_in_python() -> None:
    assert finished(app.query("SELECT card, amount FROM payments").where("amount > 1")) == parse_select(
        "SELECT * FROM (SELECT card, amount FROM payments) WHERE amount > 1"
    )

"""Where the cut falls around operators, and how calls of the app's functions are tried."""

from __future__ import annotations

import pytest

from penstock.plan.cut.decide import Strategy, cut
from penstock.plan.cut.tried import tried
from penstock.plan.model.declare import Emit, Stream, View
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.schema import Column, Schema

PAYMENTS = Stream(
    "payments",
    Schema((Column("id", "int"), Column("card", "string"), Column("amount", "double"), Column("at", "timestamp"))),
    {},
    event_time="at",
    lateness="10 seconds",
)
TIMED = "map_batches(payments, 'a:f', 'card STRING, at TIMESTAMP')"
UNTIMED = "map_batches(payments, 'a:f', 'card STRING, at STRING')"


@pytest.mark.parametrize(
    ("text", "emit", "strategy", "watermarked"),
    [
        (f"SELECT * FROM {TIMED}", Emit.CHANGES, Strategy.STATELESS, False),
        (f"SELECT card FROM {TIMED} WHERE card > 'a'", Emit.CHANGES, Strategy.STATELESS, False),
        (f"SELECT card, count(*) AS n FROM {UNTIMED} GROUP BY card", Emit.CHANGES, Strategy.INCREMENTAL, False),
        (f"SELECT window, count(*) AS n FROM {TIMED} GROUP BY window(at, '1 hour')", Emit.ON_CLOSE, Strategy.INCREMENTAL, True),
        (f"SELECT window, count(*) AS n FROM {TIMED} GROUP BY window(at, '1 hour')", Emit.CHANGES, Strategy.INCREMENTAL, True),
        (f"SELECT window, count(*) AS n FROM {UNTIMED} GROUP BY window(CAST(at AS TIMESTAMP), '1 hour')", Emit.CHANGES, Strategy.INCREMENTAL, False),
        ("SELECT * FROM map_batches((SELECT card, count(*) AS n FROM payments GROUP BY card), 'a:f', 'n INT')", Emit.CHANGES, Strategy.KEPT, False),
        (f"SELECT * FROM {TIMED} ORDER BY card LIMIT 1", Emit.CHANGES, Strategy.STAGED, False),
    ],
)
def test_a_stateless_operator_is_a_row_wise_step(text: str, emit: Emit, strategy: Strategy, watermarked: bool) -> None:
    found = cut(View("v", parse_select(text), emit), {"payments": PAYMENTS})
    assert (found.strategy, found.watermarked) == (strategy, watermarked)


def test_calls_are_tried_where_a_row_stands_for_itself() -> None:
    plan = tried(parse_select("SELECT id, score(score(amount), 1) + 1 AS risk FROM payments WHERE score(id, 2) > 3"), {"score"}, {"payments"})
    assert sql(plan) == (
        "SELECT * EXCEPT (__error)\nFROM (SELECT id, __tried_score(__tried_score(amount).value, 1).value + 1 AS `risk`, "
        "coalesce(__tried_score(amount).error, __tried_score(__tried_score(amount).value, 1).error) AS `__error`\nFROM `payments`\n"
        "WHERE __tried_score(id, 2).error IS NULL AND (__tried_score(id, 2).value > 3))\n"
        "WHERE spark_partition_id() >= if(__error IS NULL, -1, 2147483647)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT card, sum(score(amount)) AS s FROM payments GROUP BY card",
        "SELECT id, score(amount) AS s FROM payments ORDER BY amount",
        "SELECT id, rank() OVER (ORDER BY score(amount)) AS place FROM payments",
        "SELECT id, 'score(amount)' AS text FROM payments",
    ],
)
def test_elsewhere_calls_are_left_as_they_are(text: str) -> None:
    plan = parse_select(text)
    assert tried(plan, {"score"}, {"payments"}) == plan

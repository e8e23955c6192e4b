"""Operators in FROM and CREATE FUNCTION: read, refused, printed and read again."""

from __future__ import annotations

import pytest

from penstock.errors import PlanFault, SyntaxFault, UserError
from penstock.plan.model.declare import Function
from penstock.plan.model.nodes import Alias, Operate, Project, Scan
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import Create, Drop, parse
from penstock.schema import Column, Schema

RETURNS = Schema((Column("card", "string"), Column("score", "double")))


@pytest.mark.parametrize("columns", ["returns card STRING, score DOUBLE", "card string, score double", "RETURNS card STRING,score DOUBLE"])
def test_an_operator_is_a_relation(columns: str) -> None:
    plan = parse_select(f"SELECT * FROM map_batches(payments, 'scoring:score', '{columns}') AS s")
    assert isinstance(plan, Project)
    assert plan.input == Alias(Operate((Scan("payments"),), "scoring:score", RETURNS), "s")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT card FROM map_batches(payments, 'a:f', 'card STRING') WHERE card > 'a'",
        "SELECT * FROM map_batches((SELECT card FROM payments WHERE card > 'a'), 'a:f', 'card STRING') AS m JOIN cards USING (card)",
        "SELECT * FROM map_with_state(payments PARTITION BY card, day ORDER BY at, id, 'a:f', 'returns n INT', 'state n INT', 'vectorized')",
        "SELECT * FROM map_with_state((SELECT * FROM s) PARTITION BY card, 'a:F', 'n INT', 'state BIGINT', 'arrival', 'ttl 1 hour', 'output x')",
        "SELECT card, count(*) AS n FROM map_batches(map_batches(payments, 'a:f', 'card STRING'), 'a:g', 'card STRING') GROUP BY card",
    ],
)
def test_what_is_printed_means_the_same(text: str) -> None:
    plan = parse_select(text)
    assert parse_select(sql(plan)) == plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("map_batches(payments)", "wants a relation, a function and the columns"),
        ("map_batches(payments, score, 'card STRING')", "wants a relation, a function and the columns"),
        ("map_batches(payments, 'score', 'card STRING')", "not the name of a function"),
        ("map_batches(payments, 'a:f', 'card')", "has no type"),
        ("map_batches(payments, 'a:f', 'card STRING, up AS upper(card)')", "is computed"),
        ("map_with_state(payments, 'a:f', 'n INT')", "keeps its state by key"),
        ("map_with_state(payments PARTITION BY card)", "wants a relation by key, a function"),
        ("map_with_state(payments PARTITION BY card, 'f', 'n INT')", "not the name of a function"),
        ("map_with_state(payments PARTITION BY upper(card), 'a:f', 'n INT')", "PARTITION BY of map_with_state takes columns"),
        ("map_with_state(payments PARTITION BY card ORDER BY at DESC, 'a:f', 'n INT')", "ORDER BY of map_with_state takes columns"),
        ("map_with_state(payments PARTITION BY card, 'a:f', 'n INT', 'm INT')", "not expected here"),
        ("map_with_state(payments PARTITION BY card, 'a:f', 'state n INT')", "returns are missing"),
        ("map_with_state(payments PARTITION BY card, 'a:f', 'n INT', 'ttl soon')", "soon"),
        ("map_with_state(payments PARTITION BY card, 'a:f', 'n INT', 'output a b')", "not the name of an output"),
        ("map_batches(payments JOIN cards USING (card), 'a:f', 'card STRING')", "reads one relation"),
    ],
)
def test_an_operator_that_is_not_well_formed_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_select(f"SELECT * FROM {text}", "app.sql")
    assert caught.value.where is not None


def test_an_operator_beside_what_only_spark_reads_is_refused() -> None:
    with pytest.raises(PlanFault, match="do not go together"):
        parse_select("SELECT * FROM map_batches(t, 'a:f', 'x INT') QUALIFY x = 1")


def test_a_function_is_declared_and_dropped() -> None:
    first, second, third = parse(
        "CREATE FUNCTION score AS 'scoring:score' RETURNS DECIMAL(10, 2); "
        "CREATE OR REPLACE FUNCTION cols AS 'scoring:cols' RETURNS ARRAY<INT> VECTORIZED; DROP FUNCTION score;",
        "app.sql",
    )
    assert first == Create(Function("score", "scoring:score", "decimal(10,2)"))
    assert second == Create(Function("cols", "scoring:cols", "array<int>", vectorized=True), or_replace=True)
    assert third == Drop("function", "score")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score RETURNS DOUBLE", "the Python function that `score` calls is missing"),
        ("score AS 'score' RETURNS DOUBLE", "not the name of a function"),
        ("score AS 'a:score'", "the type that `score` returns is missing"),
        ("score AS 'a:score' RETURNS INT, STRING", "has no type|not one type"),
    ],
)
def test_a_function_that_is_not_well_formed_is_refused(text: str, message: str) -> None:
    with pytest.raises((SyntaxFault, PlanFault), match=message):
        parse(f"CREATE FUNCTION {text}", "app.sql")

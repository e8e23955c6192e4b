"""WHERE on the columns of a window function in FROM, as Flink's users write it."""

from __future__ import annotations

import pytest

from penstock.plan.cut.decide import Strategy, cut
from penstock.plan.model.declare import Emit, Stream, View
from penstock.plan.model.nodes import Aggregate, Filter
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select

PAY = Stream("pay", parse_columns("card STRING, amount INT, at TIMESTAMP"), {}, "at", "10 seconds")
TUMBLE = "TUMBLE(TABLE pay, DESCRIPTOR(at), INTERVAL '1' HOUR)"
FLINK = f"SELECT window_start, card, count(*) AS n FROM {TUMBLE} WHERE {{}} GROUP BY window_start, window_end, card"
SPARK = "SELECT window.start AS window_start, card, count(*) AS n FROM pay {} GROUP BY window(at, '1 hour'), card HAVING {}"


@pytest.mark.parametrize(
    ("where", "rows", "windows"),
    [
        ("window_start >= timestamp'2024-01-01'", "", "window.start >= timestamp'2024-01-01'"),
        ("amount > 1 AND window_start >= '2024'", "WHERE amount > 1", "window.start >= '2024'"),
        ("window_end BETWEEN '1' AND '2' AND amount > 1 AND card <> ''", "WHERE amount > 1 AND card <> ''", "window.end BETWEEN '1' AND '2'"),
        ("window_start > '2024' AND window_end < '2025'", "", "(window.start > '2024') AND (window.end < '2025')"),
        ("window_start > '2024' OR card = 'x'", "", "window.start > '2024' OR card = 'x'"),
        ("amount > (SELECT 1) AND window_start > '2024'", "WHERE amount > (SELECT 1)", "window.start > '2024'"),
    ],
)
def test_a_condition_on_the_window_is_one_on_the_group(where: str, rows: str, windows: str) -> None:
    assert parse_select(FLINK.format(where)) == parse_select(SPARK.format(rows, windows))


def test_it_stays_incremental_and_closes() -> None:
    view = View("v", parse_select(FLINK.format("window_start >= timestamp'2024-01-01'")), Emit.ON_CLOSE)
    assert cut(view, {"pay": PAY}).strategy is Strategy.INCREMENTAL


def test_a_condition_on_rows_and_windows_at_once_is_asked_of_the_rows() -> None:
    plan = parse_select(FLINK.format("window_start > at OR amount > 1"))
    assert isinstance(plan, Aggregate)
    assert plan.having is None
    assert isinstance(plan.input, Filter)

"""The matcher of row patterns beside a brute force, fed by hand: no Spark."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from penstock.plan.model.matching import taken_apart
from penstock.plan.model.pattern_shape import needed_rows, shape_of
from penstock.spark.keyed.pattern.functions import FUNCTIONS
from penstock.testing.random_pattern import Case, Steps, differences, expected

MINUTE = 60_000_000


@pytest.mark.parametrize("seed", range(1, 31))
def test_random_patterns_match_what_their_definition_says(seed: int) -> None:
    """In one step, in many and in random ones; with kernels and without; rows still to come and not."""
    assert differences(seed) == []


def rows(*given: tuple[int, int]) -> list[dict[str, int]]:
    return [{"at": minute * MINUTE, "x": x} for minute, x in given]


def case(sql: str, *given: tuple[int, int]) -> Case:
    """A pattern over one key, in SQL over the columns k, at, x."""
    from penstock.plan.model.nodes import Operate, walk
    from penstock.plan.sql.select import parse_select

    plan = parse_select(f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at {sql})")
    pattern = next(part.pattern for part in walk(plan) if isinstance(part, Operate) and part.pattern is not None)
    return Case(pattern, dict(pattern.define), tuple(text for _, text in pattern.measures), {"a": rows(*given)})


@pytest.mark.parametrize(
    "sql",
    [
        "MEASURES FIRST(x) AS m, CLASSIFIER() AS c PATTERN (A B{2}) WITHIN INTERVAL '10' MINUTE DEFINE A AS x > 2, B AS x <= 3",
        "MEASURES FIRST(x) AS m PATTERN (A {- C*? -} B {- D*? -} A) WITHIN INTERVAL '9' MINUTE DEFINE A AS x > 2, B AS x < 2, D AS x <= 3",
        "MEASURES A.x AS m PATTERN (A ({- C*? -} A){2} {- D*? -} B) DEFINE A AS x <= 3, C AS x > 2, B AS x > 2, D AS x < 2",
        "MEASURES A.x AS m ONE ROW PER TIMED OUT MATCH PATTERN (A{2,} B) WITHIN INTERVAL '4' MINUTE DEFINE A AS x > 2, B AS x < 2",
        "MEASURES A.x AS m AFTER MATCH SKIP TO NEXT ROW PATTERN (A {- C*? -} B) WITHIN INTERVAL '4' MINUTE DEFINE A AS x > 2, B AS x <= 3",
    ],
)
def test_a_shape_that_a_kernel_serves_is_what_its_definition_says(sql: str) -> None:
    asked = case(sql, (1, 0), (3, 3), (4, 1), (7, 3), (8, 4), (10, 3), (11, 2), (12, 1), (14, 3), (15, 0), (17, 1))
    assert shape_of(taken_apart(asked.pattern)) is not None
    assert differences(1, asked) == []


def test_rows_that_no_step_could_take_stay_with_spark() -> None:
    """Where a measure asks for them they come along."""

    def needed(measure: str, rows: str = "") -> bool:
        asked = case(f"MEASURES {measure} AS m {rows} PATTERN (A {{- C*? -}} B) DEFINE A AS x > 2, B AS x < 2", (1, 3))
        return needed_rows(taken_apart(asked.pattern)) is not None

    assert [measure for measure in ("A.x", "LAST(x)", "MATCH_NUMBER()") if not needed(measure)] == []
    assert [measure for measure in ("LAST(x, 1)", "COUNT(*)", "PREV(B.x)", "C.x") if needed(measure)] == []
    assert not needed("A.x", "ALL ROWS PER MATCH")


def test_absence_is_seen_by_the_clock_and_not_by_the_next_row() -> None:
    asked = case("MEASURES FIRST(x) AS m PATTERN (A NOT D) WITHIN INTERVAL '5' MINUTE DEFINE A AS x > 2, D AS x < 2", (1, 3), (2, 2))
    assert Steps(asked).run([2 * MINUTE], False) == ([], [])
    assert Steps(asked).run([2 * MINUTE, 6 * MINUTE], False)[0] == [("a", 3, True)] == expected(asked, 6 * MINUTE, False)[0]


def test_a_key_without_open_matches_keeps_no_rows() -> None:
    from penstock.spark.keyed.bucket import Clock
    from penstock.spark.keyed.pattern.function import MatchFunction
    from penstock.testing.random_pattern import schema_of

    asked = case(
        "MEASURES FIRST(x) AS m ONE ROW PER TIMED OUT MATCH PATTERN (A B) WITHIN INTERVAL '5' MINUTE DEFINE A AS x > 2, B AS x < 2",
        (1, 3),
        (2, 1),
        (3, 2),
        (4, 3),
    )
    matching = taken_apart(asked.pattern)
    function = MatchFunction(matching, schema_of(matching), ("k",), "at")
    given = Steps(asked).ready(matching, schema_of(matching), 0, 4 * MINUTE)
    waiting = function.step(given, function.state.empty_table(), Clock(4 * MINUTE, 0))
    assert (waiting.output.num_rows, waiting.state.num_rows, waiting.next_timer) == (1, 1, 9 * MINUTE)
    done = function.step(given.slice(0, 0), waiting.state, Clock(9 * MINUTE, 0))
    assert (done.output.num_rows, done.state.num_rows, done.next_timer) == (0, 0, None)
    assert done.sides["timed_out"].num_rows == 1


def test_a_pattern_with_nested_loops_takes_no_time_beyond_measure() -> None:
    """((A+)+)+ B without any B: a matcher that tries every way never ends."""
    asked = case("MEASURES FIRST(x) AS m PATTERN (((A+)+)+ B) DEFINE A AS x < 2, B AS x > 2", *((minute, 1) for minute in range(1, 200)))
    assert Steps(asked).run([200 * MINUTE], True) == ([], [])


def test_a_skip_to_a_row_that_a_match_does_not_have_says_so() -> None:
    asked = case("MEASURES FIRST(x) AS m AFTER MATCH SKIP TO FIRST B PATTERN (A B?) DEFINE A AS x < 2, B AS x > 2", (1, 1), (2, 2))
    with pytest.raises(Exception, match="has no row of `B` to skip to"):
        Steps(asked).run([5 * MINUTE], True)


def test_functions_of_define_give_what_spark_gives() -> None:
    large = 2**62 + 1
    assert [FUNCTIONS["div"](*pair) for pair in ((large, 1), (-7, 2), (7, -2), (-7, -2))] == [large, -3, -3, 3]
    assert [FUNCTIONS["%"](*pair) for pair in ((large, 2), (-7, 2), (7, -2), (Decimal("-7.5"), 2))] == [1, -1, 1, Decimal("-1.5")]
    assert FUNCTIONS["div"](timedelta(minutes=-5), timedelta(minutes=2)) == -2
    assert FUNCTIONS["||"](True, 1) == FUNCTIONS["concat"](True, 1) == "true1"

"""Random queries over random rows in random epochs: what live holds after a stop and a resume is what batch and DuckDB give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.testing.random_query import query
from penstock.testing.random_run import given, mismatches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(1, 19)


def test_a_seed_gives_the_same_query_and_the_same_rows_each_time() -> None:
    assert [query(seed) for seed in SEEDS] == [query(seed) for seed in SEEDS]
    assert given(1) == given(1)
    assert len({query(seed).sql for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("form", ["JOIN", "FULL JOIN", "ANTI JOIN", "GROUP BY", "row_number", "EXISTS", "IN (SELECT", "UNION", "EXCEPT", "LIMIT"])
def test_the_queries_are_of_many_forms(form: str) -> None:
    assert sum(form in query(seed).sql for seed in range(1, 501)) >= 10


@pytest.mark.timeout(900)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_live_and_resumed_is_what_history_and_duckdb_give(spark: SparkSession, depth: int) -> None:
    """Six queries of each depth, in one epoch before the stop and one after it; `make random` has more of them and more epochs."""
    queries = {seed: query(seed, depth) for seed in SEEDS if 1 + seed % 3 == depth}
    assert len(queries) == len(SEEDS) / 3
    assert "\n\n".join(map(str, mismatches(queries, given(SEEDS[0], epochs=2), spark, smallest=False))) == ""

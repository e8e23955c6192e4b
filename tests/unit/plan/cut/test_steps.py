"""Which plans are taken apart into steps, and how each of those follows the rows below it."""

from __future__ import annotations

import pytest

from penstock.plan.cut.correlation import names_around
from penstock.plan.cut.decide import Cut, Strategy, cut
from penstock.plan.cut.first import First, still_first
from penstock.plan.cut.follow import Way
from penstock.plan.model.declare import Declaration, Emit, Stream, Table, View
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Scan
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.schema import Column, Schema

_ROWS = Schema((Column("id", "bigint"), Column("k", "bigint"), Column("g", "string"), Column("v", "bigint"), Column("at", "timestamp")))
DECLARED: dict[str, Declaration] = {
    "a": Stream("a", _ROWS, {}),
    "b": Stream("b", _ROWS, {}),
    "t": Table("t", Schema((Column("k", "bigint"), Column("g", "string"))), {}),
}
RANKED = "SELECT k, g, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS place FROM a"


def decided(text: str) -> Cut:
    return cut(View("v", parse_select(text, "app.sql"), Emit.CHANGES), DECLARED)


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        (f"SELECT g, count(*) AS n FROM ({RANKED}) WHERE place = 1 GROUP BY g", [Way(parts=("k",)), Way(groups=("g",))]),
        (f"SELECT k, v, sum(v) OVER (PARTITION BY g ORDER BY k) AS s FROM ({RANKED}) WHERE place = 1", [Way(parts=("k",)), Way(parts=("g",))]),
        (
            "SELECT a.id FROM a JOIN (SELECT max(v) AS m FROM b GROUP BY window(at, '1 hour')) b ON a.v = b.m",
            [Way(groups=("window(at, '1 hour')",)), Way(parts=("v",))],
        ),
        ("SELECT id FROM a WHERE v > (SELECT avg(v) FROM b)", [Way(groups=()), Way(parts=("id", "v"))]),
        ("SELECT id FROM a WHERE k NOT IN (SELECT k FROM b)", [Way(groups=()), Way(groups=()), Way(parts=("k",))]),
        ("SELECT id, v FROM a ORDER BY v DESC LIMIT 3 OFFSET 1", [Way(first=4)]),
        (f"SELECT k, v FROM ({RANKED}) WHERE place = 1 ORDER BY v DESC LIMIT 3", [Way(parts=("k",)), Way(first=3)]),
        ("SELECT id, word FROM a LATERAL VIEW explode(split(g, ' ')) w AS word ORDER BY id, word LIMIT 3", [Way(parts=("id", "g")), Way(first=3)]),
        ("SELECT t.g, a.id FROM a JOIN t ON a.k = t.k ORDER BY a.id, t.g LIMIT 3", [Way(parts=("id", "k", "g")), Way(first=3)]),
        ("SELECT max(n) AS m FROM (SELECT k, sum(v) AS n FROM a GROUP BY k UNION ALL SELECT k, v FROM b)", None),
        ("SELECT a.g, count(b.id) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY a.g", [Way(parts=("k",)), Way(groups=("`a__g`",))]),
        ("SELECT a.id, c.v FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN a c ON c.id = b.id", [Way(parts=("k",)), Way(parts=("b__id",))]),
        ("SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = t.k)", [Way(groups=("`k`",)), Way()]),
        ("SELECT a.id FROM a JOIN b ON a.v < b.v", None),
        ("SELECT id, rank() OVER (ORDER BY v) AS r FROM a", None),
    ],
)
def test_steps_and_how_they_follow(text: str, ways: list[Way] | None) -> None:
    found = decided(text)
    assert found.strategy is (Strategy.RECOMPUTE if ways is None else Strategy.STAGED), found.reason
    assert ways is None or [step.way for step in found.steps] == ways


def test_a_plan_that_occurs_twice_is_kept_once_and_rows_joined_by_two_columns_are_told_apart() -> None:
    counted = "(SELECT window.start AS since, k, count(*) AS n FROM a GROUP BY window(at, '1 hour'), k)"
    twice = decided(f"SELECT x.k FROM {counted} x JOIN {counted} y ON x.since = y.since AND x.n < y.n JOIN b ON b.at = x.since")
    assert twice.inputs == ("__g0", "__g1")
    assert len(twice.steps) == 2
    apart = decided("SELECT x.id FROM a x JOIN a y ON x.k = y.v WHERE x.v > (SELECT count(*) FROM b)")
    assert apart.inputs == ("__g0", "__g1")
    assert decided("SELECT id, rank() OVER (ORDER BY id) AS r FROM (SELECT x.id FROM a x LEFT JOIN a y ON x.k = y.v)").strategy is Strategy.RECOMPUTE


def test_aggregates_over_the_same_rows_by_the_same_groups_are_kept_as_one() -> None:
    counted = "(SELECT k, {items} FROM a GROUP BY k, g)"
    joined = f"{counted.format(items='g, count(*) AS n')} x JOIN {counted.format(items='max(v) AS n')} y ON x.k = y.k"
    found = decided(f"SELECT x.g, x.n, y.n AS top FROM {joined}")
    assert found.strategy is Strategy.KEPT
    assert "SELECT k AS `k`, g AS `g`, count(*) AS `n`, max(v) AS `n_`" in sql(found.lower)
    assert decided("SELECT x.n FROM (SELECT count(*) AS n FROM a) x JOIN (SELECT max(v) AS n FROM b) y ON x.n < y.n").strategy is Strategy.STAGED


@pytest.mark.parametrize(
    ("ranked", "gone", "last", "left"),
    [
        (["a", "b", "c"], [], None, (["a", "b", "c"], True)),
        (["a", "b", "c"], ["b", "x"], None, (["a", "c"], True)),
        (["a", "n", "c", "z"], [], "c", (["a", "n", "c"], False)),
        (["a", "b", "c", "z"], ["c"], "c", (["a", "b"], False)),
        (["a", "a", "c"], ["a"], "c", (["a", "c"], False)),
        (["a", "b", "c"], ["b", "c"], "c", None),
    ],
)
def test_candidates_are_those_of_which_it_is_known_that_they_come_first(
    ranked: list[str], gone: list[str], last: str | None, left: tuple[list[str], bool] | None
) -> None:
    assert still_first(ranked, gone, last, First(Scan("a"), 2)) == left


def test_of_more_candidates_than_are_kept_the_first_stay() -> None:
    found = First(Scan("a"), 1)
    lines = [str(number) for number in range(found.kept + 1)]
    assert still_first(lines, [], None, found) == (lines[:-1], False)
    assert still_first(lines, ["0"], None, found) == (lines[1:], True)


def test_a_subquery_that_names_nothing_around_it_is_known() -> None:
    names = Names(lambda name: _ROWS if name in DECLARED else None)
    assert not names_around(parse_select("SELECT max(y.v) FROM a y", "app.sql"), names)
    assert names_around(parse_select("SELECT max(y.v) FROM a y WHERE y.k = x.k", "app.sql"), names)

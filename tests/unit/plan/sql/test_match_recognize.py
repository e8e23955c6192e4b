"""MATCH_RECOGNIZE as a plan: every clause is read, printed and read again to the same value; what is none is refused in its place."""

from __future__ import annotations

import pytest

from penstock.errors import UserError
from penstock.plan.model.automaton import compiled
from penstock.plan.model.matching import taken_apart
from penstock.plan.model.nodes import Operate, walk
from penstock.plan.model.pattern import Pattern
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select

HEAD = "SELECT * FROM payments MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES last(at) AS at2"
DEFINE = "DEFINE a AS amount < 2, b AS b.amount > 5)"
CLAUSES = (
    "PATTERN (a b)",
    "ONE ROW PER MATCH PATTERN (a b)",
    "ALL ROWS PER MATCH PATTERN (a b)",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (a b)",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (a* b*)",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b)",
    "ONE ROW PER EVERY MATCH PATTERN (a b)",
    "ONE ROW PER TIMED OUT MATCH PATTERN (a b) WITHIN INTERVAL '1' HOUR",
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (a b)",
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (a b)",
    "AFTER MATCH SKIP TO FIRST b PATTERN (a b)",
    "AFTER MATCH SKIP TO LAST b PATTERN (a b)",
    "AFTER MATCH SKIP TO b PATTERN (a b)",
    "PATTERN (a | b)",
    "PATTERN ((a | b) b)",
    "PATTERN (a* a+ a? b{2} b{2,3} b{2,} b{,3})",
    "PATTERN (a*? a+? a?? b{2,3}?)",
    "PATTERN ((a b)+ {- b* -} a)",
    "PATTERN (^ a b $)",
    "PATTERN (PERMUTE(a, b))",
    "PATTERN (a () b)",
    "PATTERN (a NOT b) WITHIN INTERVAL '30' MINUTE",
    "PATTERN (a NOT NEXT b)",
    "PATTERN (a b) WITHIN INTERVAL 10 MINUTES SUBSET u = (a, b)",
)


def pattern_of(text: str) -> Pattern:
    return next(part.pattern for part in walk(parse_select(text)) if isinstance(part, Operate) and part.pattern is not None)


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_is_printed_and_read_again_as_the_same_plan(clause: str) -> None:
    plan = parse_select(f"{HEAD} {clause} {DEFINE} AS m WHERE card > 'a'")
    assert parse_select(sql(plan)) == plan


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("PATTERN (a c) DEFINE d AS amount > 1)", "DEFINE names `d`"),
        ("PATTERN (a NOT b) DEFINE a AS amount > 1)", "waits for ever without WITHIN"),
        ("PATTERN (a NOT b c) DEFINE a AS amount > 1)", "must be the last"),
        ("PATTERN (a{3,2}) DEFINE a AS amount > 1)", "not a number of times"),
        ("PATTERN (a b", "never closed"),
        ("AFTER MATCH SKIP TO z PATTERN (a) DEFINE a AS amount > 1)", "names `z`"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a {- b -}) DEFINE a AS amount > 1)", "do not go together"),
        ("PATTERN (a) DEFINE a AS percentile(a.amount, 0.5) > 1)", "aggregate `percentile`"),
        ("PATTERN (a b) DEFINE a AS amount > 1, b AS regexp_like(b.id, first(a.id)))", "`regexp_like` cannot join"),
        ("PATTERN (a b) DEFINE a AS amount >)", "not"),
        ("PATTERN (a b) DEFINE a AS amount > (SELECT 1))", "holds no SELECT"),
        ("DEFINE a AS amount > 1)", "PATTERN is missing"),
        ("PATTERN (a b) WITHIN INTERVAL '1' MONTH DEFINE a AS amount > 1)", "not fixed"),
        ("PATTERN (a b) DEFINE a AS sum(a.amount + b.amount) > 1)", "several variables"),
        ("PATTERN (a b) DEFINE b AS amount > FINAL LAST(amount))", "asks for FINAL"),
        ("PATTERN (a b) DEFINE b AS FINAL a.amount > 1)", "FINAL stands before"),
        (", RUNNING a.amount AS r PATTERN (a b))", "RUNNING stands before"),
        (", sum(a.amount) FILTER (WHERE a.amount > 1) AS s PATTERN (a b))", "takes no FILTER"),
        (", first(a.amount) IGNORE NULLS AS f PATTERN (a b))", "IGNORE NULLS is not known"),
        ("PATTERN (a b) DEFINE b AS CAST(coalesce(a.amount, 0) AS INT) = b.amount)", "`cast` cannot join"),
        ("PATTERN (a b) DEFINE b AS a.tags[b.id] = 1)", "cannot join"),
    ],
)
def test_what_is_no_pattern_is_refused(clause: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        parse_select(f"{HEAD} {clause}")
    assert raised.value.where is not None


def test_what_needs_no_other_row_stays_with_spark() -> None:
    pattern = pattern_of(
        f"{HEAD}, first(a.amount * 2) + 1 AS m PATTERN (a b) DEFINE a AS upper(a.id) = 'X', b AS b.amount > 2 * a.amount AND year(at) = 2026)"
    )
    matching = taken_apart(pattern)
    assert set(matching.values) == {"upper(id) = 'X'", "amount", "2", "year(at) = 2026", "at", "amount * 2"}
    assert matching.measures[1] == ("m", "__p1 + 1")


def test_what_is_asked_of_one_other_row_stays_with_spark_too() -> None:
    define = (
        "b AS CAST(b.at AS DATE) = date_trunc('day', a.at)::date AND b.tags['x'] <> prev(tags, 2)['x'] AND hour(first(a.at) + INTERVAL 1 HOUR) < 5"
    )
    matching = taken_apart(pattern_of(f"{HEAD} PATTERN (a b) DEFINE {define})"))
    day = ("CAST(at AS DATE)", "date_trunc('day', at)::date")
    assert set(matching.values) == {*day, "tags['x']", "hour(at + INTERVAL 1 HOUR)", "5", "at"}


def test_the_rows_and_their_matches_may_each_have_an_alias() -> None:
    text = "SELECT m.x FROM (SELECT * FROM payments) AS p MATCH_RECOGNIZE (PARTITION BY p.card ORDER BY at MEASURES a.id AS x PATTERN (a)) AS m"
    plan = parse_select(text)
    assert parse_select(sql(plan)) == plan


def test_a_program_that_grows_too_large_is_refused() -> None:
    with pytest.raises(UserError, match="more than 20,000 steps"):
        pattern_of(f"{HEAD} PATTERN (((a{{100}}){{100}}){{100}}) DEFINE a AS amount > 1)")
    assert len(compiled(pattern_of(f"{HEAD} PATTERN (a{{3}} b) {DEFINE}")).steps) == 5

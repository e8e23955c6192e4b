"""Expressions are read as text, and what is not changed stays as written."""

from __future__ import annotations

import pytest

from penstock.plan.expression.parsed import parsed, same, substitute
from penstock.plan.expression.words import AGGREGATES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(a) + max(b.c) FILTER (WHERE d > 1)", ["a", "b.c", "d"]),
        ("sum(x) OVER (PARTITION BY y ORDER BY z DESC NULLS FIRST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", ["x", "y", "z"]),
        ("transform(xs, x -> x + y + z.q)", ["xs", "y", "z.q"]),
        ("aggregate(xs, 0, (acc, x) -> acc + x + k)", ["xs", "k"]),
        ("map_filter(m, (k, v) -> k > v) + k", ["m", "k"]),
        ("cast(a AS decimal(10,2)) + b::array<struct<x:int,y:string>> || c", ["a", "b", "c"]),
        ("try_cast(a AS map<string, array<int>>)[b]", ["a", "b"]),
        ("INTERVAL 1 DAY 2 HOURS + at - INTERVAL '10' SECOND + INTERVAL n DAY", ["at", "n"]),
        ("INTERVAL '1-2' YEAR TO MONTH + d", ["d"]),
        ("extract(YEAR FROM at) + timestampadd(HOUR, n, at)", ["at", "n", "at"]),
        ("a:b.c[0]::int + d", ["a", "d"]),
        ("first(x) IGNORE NULLS", ["x"]),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", ["x"]),
        ("t.*", []),
        ("DATE '2020-01-01' + x", ["x"]),
        ("`my col`.`b` = first", ["my col.b", "first"]),
        ("x IN (__sub_0__) AND EXISTS (__sub_1__)", ["x"]),
        ("struct(a AS b, c)", ["a", "c"]),
        ("f(n => m)", ["m"]),
        ("CASE WHEN a THEN b ELSE c END", ["a", "b", "c"]),
        ("trim(BOTH 'x' FROM y)", ["y"]),
        ("rank() OVER w", []),
        ("current_date > year AND date < timestamp AND `null` > 1", ["year", "date", "timestamp", "null"]),
        ("x = ANY (__sub_0__) AND any(y)", ["x", "y"]),
        ("a IS NOT DISTINCT FROM b AND c NOT LIKE 'x' ESCAPE '!'", ["a", "b", "c"]),
        ("offset > 5 AND rows = range AND filter = 1", ["offset", "rows", "range", "filter"]),
        ("'a' /* b */ || c -- d\n || e", ["c", "e"]),
    ],
)
def test_column_refs_are_columns_only(text: str, expected: list[str]) -> None:
    refs = parsed(text).columns
    assert [".".join(ref.parts) for ref in refs] == expected
    for ref in refs:
        assert text[ref.start : ref.end].replace("`", "") == ".".join(ref.parts)
        assert ref.name == ref.parts[-1]
        assert ref.qualifier == (".".join(ref.parts[:-1]) or None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(a) / count(*)", ["sum(a)", "count(*)"]),
        ("sum(sum(x)) OVER (ORDER BY count(*))", ["sum(x)", "count(*)"]),
        ("rank() OVER (ORDER BY a)", []),
        ("max(a) FILTER (WHERE b) + 1", ["max(a) FILTER (WHERE b)"]),
        ("listagg(a, ',') WITHIN GROUP (ORDER BY a) FILTER (WHERE b)", ["listagg(a, ',') WITHIN GROUP (ORDER BY a) FILTER (WHERE b)"]),
        ("first(x) IGNORE NULLS", ["first(x) IGNORE NULLS"]),
        ("`SUM`( a )", ["`SUM`( a )"]),
        ("system.builtin.sum(x)", ["system.builtin.sum(x)"]),
        ("concat(min(a), max(b))", ["min(a)", "max(b)"]),
        ("x LIKE ANY ('a') AND any(y)", ["any(y)"]),
        ("'sum(a)' || `count`", []),
    ],
)
def test_aggregate_calls_are_the_outermost(text: str, expected: list[str]) -> None:
    assert [text[call.start : call.end] for call in parsed(text).aggregates] == expected


def test_calls_know_their_parts() -> None:
    (outer, inner) = parsed("count(DISTINCT upper(a), b) + c").calls
    assert (outer.name, outer.distinct, outer.over, outer.args) == ("count", True, False, ("upper(a)", "b"))
    assert (inner.name, inner.args) == ("upper", ("a",))
    assert parsed("cast(a AS decimal(10, 2))").calls[0].name == "cast"
    assert len(parsed("cast(a AS decimal(10, 2))").calls) == 1


def test_window_functions_are_seen() -> None:
    assert parsed("1 + rank() OVER (ORDER BY a)").has_window_function
    assert parsed("avg(a) FILTER (WHERE b) OVER w").has_window_function
    assert not parsed("sum(a)").has_window_function


def test_the_aggregates_are_spark_s() -> None:
    assert {"sum", "count", "avg", "min", "max", "listagg", "mode", "any", "hll_sketch_agg", "vector_sum", "approx_top_k"} <= AGGREGATES
    assert not {"upper", "rank", "window", "aggregate"} & AGGREGATES


@pytest.mark.parametrize(
    ("text", "kind", "size", "slide", "offset"),
    [
        ("window(at, '1 hour')", "tumbling", "1 hour", None, None),
        ("window(at, '1 hour', '1 hour', '5 minutes')", "tumbling", "1 hour", None, "5 minutes"),
        ("WINDOW( at , '1 hour' ,'10 minutes')", "sliding", "1 hour", "10 minutes", None),
        ("session_window(at, '5 minutes')", "session", "5 minutes", None, None),
        ("session_window(at, CASE WHEN a THEN '5 minutes' ELSE '1 minute' END)", "session", None, None, None),
        ("window(at, INTERVAL '10' MINUTES)", "tumbling", "10 MINUTES", None, None),
    ],
)
def test_window_calls(text: str, kind: str, size: str | None, slide: str | None, offset: str | None) -> None:
    call = parsed(text).window
    assert call is not None
    assert (call.kind, call.time, call.size, call.slide, call.offset) == (kind, "at", size, slide, offset)
    assert (call.start, call.end) == (0, len(text))


def test_a_window_inside_an_expression_has_its_place() -> None:
    text = "date_trunc('day', window(e.at, '1 hour').start)"
    call = parsed(text).window
    assert call is not None
    assert text[call.start : call.end] == "window(e.at, '1 hour')"
    assert parsed("window.start").window is None


def test_split_substitute_and_compare() -> None:
    assert parsed("a, f(b, c), 'x,y' , m[1,2] -- tail").parts == ("a", "f(b, c)", "'x,y'", "m[1,2]")
    assert substitute("a + b", [(0, 1, "xx"), (4, 5, "yy")]) == "xx + yy"
    assert same("Sum( A )", "sum(a) -- x")
    assert not same("'A'", "'a'")
    assert not same("`A`", "`a`")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a", "a"),
        ("t.`b c`", "b c"),
        ("window.start", "start"),
        ("a + 1", None),
        ("null", None),
        ("window(at, '1 hour')", "window"),
        ("sum(a)", None),
    ],
)
def test_output_names(text: str, name: str | None) -> None:
    assert parsed(text).output_name == name

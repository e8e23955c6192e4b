"""The structure of a SELECT becomes a plan; its expressions stay as written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import PlanFault, SyntaxFault, UserError, Where
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Node,
    Opaque,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    names_read,
    walk,
)
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select

T, U, V = Scan("t"), Scan("u"), Scan("v")
ALL = (Item("*"),)


def a(*names: str) -> tuple[Item, ...]:
    return tuple(Item(name) for name in names)


CASES: list[tuple[str, Node]] = [
    ("SELECT * FROM t", Project(T, ALL)),
    ("select 1, 'x' y", Project(None, (Item("1"), Item("'x'", "y")))),
    ("SELECT ALL a AS b, c d, t.e, `x y`, t.* FROM t", Project(T, (Item("a", "b"), Item("c", "d"), Item("t.e"), Item("`x y`"), Item("t.*")))),
    ("SELECT a FROM t WHERE a > 1 AND b", Project(Filter(T, "a > 1 AND b"), a("a"))),
    ("SELECT DISTINCT a FROM t", Distinct(Project(T, a("a")))),
    ("SELECT * EXCEPT (a) FROM t", Project(T, a("* EXCEPT (a)"))),
    ("SELECT explode(m) AS (k, v) FROM t", Project(T, a("explode(m) AS (k, v)"))),
    ("SELECT x FROM (SELECT a AS x FROM t)", Project(Project(T, (Item("a", "x"),)), a("x"))),
    ("SELECT q.x FROM (SELECT a FROM t) AS q(x)", Project(Alias(Project(T, a("a")), "q", ("x",)), a("q.x"))),
    ("SELECT * FROM t, u v", Project(Join(T, Alias(U, "v"), "cross"), ALL)),
    ("SELECT * FROM t JOIN u ON t.a = u.a", Project(Join(T, U, on="t.a = u.a"), ALL)),
    ("SELECT * FROM t LEFT OUTER JOIN u USING (a, b)", Project(Join(T, U, "left", using=("a", "b")), ALL)),
    ("SELECT * FROM t RIGHT JOIN u ON left(t.a, 1) = u.a", Project(Join(T, U, "right", on="left(t.a, 1) = u.a"), ALL)),
    ("SELECT * FROM t FULL OUTER JOIN u ON true", Project(Join(T, U, "full", on="true"), ALL)),
    ("SELECT * FROM t LEFT SEMI JOIN u USING (a)", Project(Join(T, U, "semi", using=("a",)), ALL)),
    ("SELECT * FROM t ANTI JOIN u USING (a)", Project(Join(T, U, "anti", using=("a",)), ALL)),
    ("SELECT * FROM t CROSS JOIN u", Project(Join(T, U, "cross"), ALL)),
    ("SELECT * FROM t JOIN u USING (a) JOIN v ON u.b = v.b", Project(Join(Join(T, U, using=("a",)), V, on="u.b = v.b"), ALL)),
    ("SELECT * FROM t, LATERAL (SELECT t.a) x", Project(Join(T, Alias(Project(None, a("t.a")), "x"), "cross", lateral=True), ALL)),
    ("SELECT * FROM t LATERAL VIEW OUTER explode(xs) e AS x", Project(Generate(T, "LATERAL VIEW OUTER explode(xs) e AS x"), ALL)),
    (
        "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS w(x, y), u",
        Project(Join(Alias(Opaque("VALUES (1, 'a'), (2, 'b')", ()), "w", ("x", "y")), U, "cross"), ALL),
    ),
    ("SELECT * FROM range(10) r", Project(Alias(Opaque("SELECT * FROM range(10)", ()), "r"), ALL)),
    ("SELECT a, count(*) AS n FROM t GROUP BY a", Aggregate(T, ("a",), (Item("a"), Item("count(*)", "n")))),
    ("SELECT count(*) FROM t", Aggregate(T, (), a("count(*)"))),
    ("SELECT a FROM t HAVING max(b) > 1", Aggregate(T, (), a("a"), having="max(b) > 1")),
    ("SELECT a b, sum(x) FROM t GROUP BY 1 HAVING sum(x) > 2", Aggregate(T, ("a",), (Item("a", "b"), Item("sum(x)")), "sum(x) > 2")),
    ("SELECT year(d) AS y, max(x) FROM t GROUP BY y", Aggregate(T, ("year(d)",), (Item("year(d)", "y"), Item("max(x)")))),
    ("SELECT upper(c) AS c, max(x) FROM t GROUP BY c", Aggregate(T, ("c",), (Item("upper(c)", "c"), Item("max(x)")))),
    ("SELECT a, max(x) FROM t GROUP BY ALL", Aggregate(T, (), a("a", "max(x)"), grouping="ALL")),
    ("SELECT a, max(x) FROM t GROUP BY ROLLUP (a), b", Aggregate(T, (), a("a", "max(x)"), grouping="ROLLUP (a), b")),
    ("SELECT a FROM t GROUP BY GROUPING SETS ((a), ())", Aggregate(T, (), a("a"), grouping="GROUPING SETS ((a), ())")),
    ("SELECT a FROM t GROUP BY a WITH CUBE", Aggregate(T, (), a("a"), grouping="CUBE(a)")),
    (
        "SELECT window, max(n) FROM t GROUP BY window(at, '1 hour'), b",
        Aggregate(T, ("window(at, '1 hour')", "b"), a("window", "max(n)")),
    ),
    ("SELECT window, sum(window) FROM t GROUP BY window", Aggregate(T, ("window",), a("window", "sum(window)"))),
    ("SELECT a FROM t ORDER BY b DESC NULLS LAST, 2 LIMIT 3 OFFSET 4", Order(Project(T, a("a")), ("b DESC NULLS LAST", "2"), "3", "4")),
    ("SELECT offset, limit FROM t WHERE offset > 5 ORDER BY offset", Order(Project(Filter(T, "offset > 5"), a("offset", "limit")), ("offset",))),
    ("SELECT a FROM t LIMIT ALL", Project(T, a("a"))),
    ("SELECT a FROM t LIMIT ALL OFFSET 5", Order(Project(T, a("a")), offset="5")),
    ("SELECT a, max(x) FROM t GROUP BY ALL HAVING max(x) > 1", Aggregate(T, (), a("a", "max(x)"), "max(x) > 1", "ALL")),
    ("SELECT a, max(x) FROM t GROUP BY ALL LIMIT 5", Order(Aggregate(T, (), a("a", "max(x)"), grouping="ALL"), limit="5")),
    (
        "SELECT partition, offset, max(x) FROM t GROUP BY partition, offset HAVING max(x) > 1",
        Aggregate(T, ("partition", "offset"), a("partition", "offset", "max(x)"), "max(x) > 1"),
    ),
    ("SELECT a FROM t WHERE 3 < offset LIMIT 5", Order(Project(Filter(T, "3 < offset"), a("a")), limit="5")),
    ("SELECT a FROM t WHERE 3 < partition UNION ALL SELECT b FROM u", Union((Project(Filter(T, "3 < partition"), a("a")), Project(U, a("b"))))),
    ("SELECT a FROM t GROUP BY t.order HAVING max(x) > 1", Aggregate(T, ("t.order",), a("a"), "max(x) > 1")),
    ("SELECT ALL limit FROM t ORDER BY limit LIMIT 2", Order(Project(T, a("limit")), ("limit",), "2")),
    ("SELECT partition p, t.offset o FROM t", Project(T, (Item("partition", "p"), Item("t.offset", "o")))),
    ("SELECT a FROM t UNION ALL SELECT b FROM u UNION ALL SELECT c FROM v", Union((Project(T, a("a")), Project(U, a("b")), Project(V, a("c"))))),
    ("SELECT a FROM t UNION SELECT b FROM u", Distinct(Union((Project(T, a("a")), Project(U, a("b")))))),
    ("SELECT a FROM t MINUS SELECT b FROM u", SetOperation(Project(T, a("a")), Project(U, a("b")), "EXCEPT")),
    (
        "SELECT a FROM t EXCEPT ALL SELECT b FROM u INTERSECT SELECT c FROM v",
        SetOperation(Project(T, a("a")), SetOperation(Project(U, a("b")), Project(V, a("c")), "INTERSECT"), "EXCEPT ALL"),
    ),
    (
        "(SELECT a FROM t LIMIT 1) UNION ALL (SELECT b FROM u) ORDER BY 1",
        Order(Union((Order(Project(T, a("a")), limit="1"), Project(U, a("b")))), ("1",)),
    ),
    ("SELECT a FROM t WHERE b IN (SELECT b FROM u)", Project(Filter(T, "b IN (__sub_0__)", (Project(U, a("b")),)), a("a"))),
    (
        "SELECT (SELECT max(x) FROM u) m, 1 + (SELECT max(x) FROM u) FROM t",
        Project(T, (Item("(__sub_0__)", "m"), Item("1 + (__sub_0__)")), (Aggregate(U, (), a("max(x)")),)),
    ),
    ("SELECT rank() OVER w AS r FROM t WINDOW w AS (ORDER BY a)", Project(T, (Item("rank() OVER (ORDER BY a)", "r"),))),
    ("SELECT * FROM STREAM t", Project(T, ALL)),
    ("SELECT * FROM STREAM(t) s", Project(Alias(T, "s"), ALL)),
    ("TABLE t", T),
    ("SELECT a FROM t GROUP BY ALL QUALIFY b = 1", Opaque("SELECT a FROM t GROUP BY ALL QUALIFY b = 1", ("t",))),
    (
        "SELECT a, rank() OVER (ORDER BY b) AS r FROM t QUALIFY r = 1",
        Project(
            Filter(
                Project(Scan("t"), (Item("a"), Item("rank() OVER (ORDER BY b)", "r"), Item("(rank() OVER (ORDER BY b)) = 1", "__qualifies"))),
                "__qualifies",
            ),
            (Item("* EXCEPT (__qualifies)"),),
        ),
    ),
    ("SELECT a AS b FROM t QUALIFY rank() OVER (ORDER BY b) = 1", Opaque("SELECT a AS b FROM t QUALIFY rank() OVER (ORDER BY b) = 1", ("t",))),
    ("SELECT a FROM t NATURAL JOIN u", Opaque("SELECT a FROM t NATURAL JOIN u", ("t", "u"))),
    ("SELECT * FROM (SELECT * FROM t TABLESAMPLE (5 ROWS)) q", Project(Alias(Opaque("SELECT * FROM t TABLESAMPLE (5 ROWS)", ("t",)), "q"), ALL)),
    ("FROM t SELECT a", Opaque("FROM t SELECT a", ("t",))),
]


@pytest.mark.parametrize(("text", "plan"), CASES, ids=[text for text, _ in CASES])
def test_a_select_is_this_plan(text: str, plan: Node) -> None:
    assert parse_select(text) == plan


@pytest.mark.parametrize("text", [text for text, _ in CASES if "range(" not in text])
def test_a_plan_printed_and_read_again_is_stable(text: str) -> None:
    once = sql(parse_select(text))
    assert sql(parse_select(once)) == once


def test_a_clause_may_follow_group_by_all() -> None:
    every = "SELECT k, count(*) AS n FROM t GROUP BY ALL"
    plan = Aggregate(T, (), (Item("k"), Item("count(*)", "n")), grouping="ALL")
    assert parse_select(f"{every} HAVING n > 1 LIMIT 3") == Order(replace(plan, having="n > 1"), limit="3")
    assert parse_select(f"{every} UNION ALL {every}") == Union((plan, plan))


def test_two_references_to_a_with_entry_are_equal_plans() -> None:
    plan = parse_select("WITH c AS (SELECT a FROM t), d(x) AS (SELECT * FROM c) SELECT * FROM c JOIN c k ON c.a = k.a, d")
    entry = Project(T, a("a"))
    d = Alias(Project(Alias(entry, "c"), ALL), "d", ("x",))
    assert plan == Project(Join(Join(Alias(entry, "c"), Alias(entry, "k"), on="c.a = k.a"), d, "cross"), ALL)


def test_an_opaque_part_takes_its_with_entries_along() -> None:
    plan = parse_select("WITH c AS (SELECT a FROM t) SELECT * FROM (SELECT a FROM c QUALIFY a = 1) z")
    opaque = next(node for node in walk(plan) if isinstance(node, Opaque))
    assert opaque.names == ("t",)
    assert opaque.sql.startswith("WITH `c` AS (SELECT a")


def test_a_named_window_may_stand_in_brackets() -> None:
    windows = "WINDOW w AS (PARTITION BY a ORDER BY b), `x y` AS (ORDER BY a)"
    plan = parse_select(f"SELECT rank() OVER (w) AS r, sum(w) OVER `x y` AS s, max(a) OVER (W) / (w) AS m FROM t {windows}")
    expected = ("rank() OVER (PARTITION BY a ORDER BY b)", "sum(w) OVER (ORDER BY a)", "max(a) OVER (PARTITION BY a ORDER BY b) / (w)")
    assert tuple(item.text for item in getattr(plan, "items", ())) == expected


def test_a_with_entry_named_like_a_stream_hides_it_from_no_other_entry() -> None:
    text = "WITH s AS (SELECT k FROM s), d(x) AS (SELECT k FROM s) SELECT s.k FROM s JOIN d ON k = x JOIN S t QUALIFY k = 1"
    opaque = parse_select(text)
    assert isinstance(opaque, Opaque)
    assert opaque.names == ("s",)
    defined, named = opaque.sql.split("`s` AS (SELECT * FROM __c0)")
    assert "__c1 AS (SELECT k" in defined
    assert named.startswith(", `d`(`x`) AS (SELECT * FROM __c1) SELECT s.k")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM (WITH s AS (SELECT a FROM s) SELECT * FROM s) z QUALIFY a = 1", ("s",)),
        ("SELECT * FROM (WITH s AS (SELECT 1 AS a) SELECT * FROM s) z QUALIFY a = 1", ()),
        ("SELECT * FROM (WITH b AS (SELECT * FROM t), c AS (SELECT * FROM b) SELECT * FROM c) z, c QUALIFY a = 1", ("c", "t")),
        ("SELECT * FROM (WITH b AS (SELECT * FROM c), c AS (SELECT 1) SELECT * FROM b, c) z QUALIFY a = 1", ("c",)),
        ("SELECT * FROM (WITH c AS (SELECT 1) SELECT * FROM t WHERE a IN (SELECT * FROM c)) z QUALIFY a = 1", ("t",)),
    ],
)
def test_a_with_entry_is_known_inside_its_own_query_only(text: str, names: tuple[str, ...]) -> None:
    opaque = parse_select(text)
    assert isinstance(opaque, Opaque)
    assert tuple(sorted(opaque.names)) == names


FLINK = "window(at, '10 minutes')"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("TABLE(TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES))", FLINK),
        ("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES)", FLINK),
        ("TUMBLE(t, at, INTERVAL '10 MINUTES')", FLINK),
        ("TUMBLE(t, at, '600 seconds')", FLINK),
        ('TUMBLE(t, at, INTERVAL "10" MINUTES)', FLINK),
        ("TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(at), SIZE => INTERVAL 10 MINUTES)", FLINK),
        ("HOP(TABLE t, DESCRIPTOR(at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)", "window(at, '10 minutes', '5 minutes')"),
        ("TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES, INTERVAL '1' MINUTE)", "window(at, '10 minutes', '10 minutes', '1 minute')"),
    ],
)
def test_flink_windows_become_spark_s(source: str, text: str) -> None:
    plan = parse_select(f"SELECT window_start, window_end AS e, k, sum(x) FROM {source} WHERE x > 1 GROUP BY window_start, window_end, k")
    items = (Item("window.start", "window_start"), Item("window.end", "e"), Item("k"), Item("sum(x)"))
    assert plan == Aggregate(Filter(T, "x > 1"), (text, "k"), items)


def test_flink_sessions_become_spark_s() -> None:
    plan = parse_select(
        "SELECT s.window_start, k FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '5' MINUTES) s GROUP BY s.window_start, k"
    )
    assert plan == Aggregate(Alias(T, "s"), ("session_window(at, '5 minutes')", "k"), (Item("session_window.start", "window_start"), Item("k")))


def test_a_flink_window_without_groups_adds_its_columns() -> None:
    plan = parse_select("SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '10' MINUTES) w JOIN u USING (k)")
    assert isinstance(plan, Project)
    assert isinstance(plan.input, Join)
    rows = plan.input.left
    assert isinstance(rows, Alias)
    assert isinstance(rows.input, Project)
    assert [item.name for item in rows.input.items] == [None, "window_start", "window_end", "window_time"]


VERBATIM = [
    "sum( amount )  +  1",
    "'it''s ; -- not a comment'",
    "\"d'q\" || 'ünï'",
    "CASE WHEN a\n  THEN b /* why */ ELSE c END",
    "parse_json(x):a.b[0]::int",
    "transform(xs, x -> x+1)",
    "a IS NOT DISTINCT FROM b",
    "INTERVAL '1' DAY",
    "cast(a AS map<string, array<int>>)",
    "r'\\d+'",
    "x IN (1, 2,3)",
    "`wéird name`",
    "date_add(DAY, 1, d)",
    "count(DISTINCT a , b)",
    "sum(x) OVER (PARTITION BY y ORDER BY z ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "max(x) FILTER (WHERE from_json(y, 'a INT').a > 1)",
    "a -- comment , FROM\n + b",
    "x BETWEEN 1 AND 2 AND NOT y",
    "extract(YEAR FROM d)",
    "trim(BOTH 'x' FROM y)",
    "-1",
    "m['k'].f",
    "1e3 + 2.5BD + 10L",
    "first(x) IGNORE NULLS",
    "EXISTS(xs, x -> x > 1)",
]


@pytest.mark.parametrize("text", VERBATIM)
def test_scalars_stay_verbatim_wherever_they_stand(text: str) -> None:
    condition = f"({text}) IS NULL"
    query = f"WITH c AS (SELECT {text} AS one, {text} two FROM t WHERE {condition}) SELECT * FROM c JOIN u ON {condition} ORDER BY {text} DESC"
    plan = parse_select(query)
    nodes = list(walk(plan))
    inner = next(node for node in nodes if isinstance(node, Project | Aggregate) and len(node.items) == 2)
    assert inner.items == (Item(text, "one"), Item(text, "two"))
    assert {node.condition for node in nodes if isinstance(node, Filter)} == {condition}
    assert {node.on for node in nodes if isinstance(node, Join)} == {condition}
    assert {node.keys for node in nodes if isinstance(node, Order)} == {(f"{text} DESC",)}


@pytest.mark.parametrize(
    "name", ["window", "offset", "partition", "timestamp", "date", "value", "key", "user", "set", "insert", "comment", "values", "limit", "first"]
)
def test_keywords_may_be_columns_as_in_spark(name: str) -> None:
    plan = parse_select(f"SELECT {name}, t.{name}, max({name}) AS {name} FROM t WHERE {name} > 1 GROUP BY {name}")
    assert isinstance(plan, Aggregate)
    assert plan.groups == (name,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT a,, b FROM t", SyntaxFault),
        ("SELECT FROM t", SyntaxFault),
        ("SELECT a FROM t WHERE", SyntaxFault),
        ("SELECT a FROM", SyntaxFault),
        ("SELECT a b c FROM t", SyntaxFault),
        ("SELECT a FROM t u v", SyntaxFault),
        ("SELECT (a FROM t", SyntaxFault),
        ("SELECT a FROM t JOIN", SyntaxFault),
        ("SELECT a FROM t JOIN u ON", SyntaxFault),
        ("SELECT a FROM t GROUP BY 3", SyntaxFault),
        ("SELECT sum(a) FROM t GROUP BY 1", SyntaxFault),
        ("WITH RECURSIVE c AS (SELECT 1) SELECT * FROM c", SyntaxFault),
        ("WITH c (SELECT 1)", SyntaxFault),
        ("SELECT a FROM t UNION", SyntaxFault),
        ("SELECT a + FROM t", SyntaxFault),
        ("", SyntaxFault),
        ("SELECT * FROM CUMULATE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)", PlanFault),
        ("SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at))", SyntaxFault),
        ("SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), 10)", SyntaxFault),
        ("SELECT * FROM TUMBLE(TABLE t, DESCRIPTOR(at), INTERVAL '1' MONTH)", SyntaxFault),
        ("SELECT * FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '5' MINUTES)", PlanFault),
        ("SELECT count(*) FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(at), INTERVAL '5' MINUTES) GROUP BY window_start", PlanFault),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a))", PlanFault),
        ("SELECT * FROM STREAM t WATERMARK at DELAY OF INTERVAL 1 SECOND", PlanFault),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text: str, kind: type[UserError]) -> None:
    with pytest.raises(kind) as caught:
        parse_select(text, "app.sql", 5)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.line) == ("app.sql", 5)


def test_a_string_that_does_not_end_is_shown_where_it_begins() -> None:
    with pytest.raises(SyntaxFault) as caught:
        parse_select("SELECT a,\n  'b FROM t", "app.py", 10)
    assert caught.value.where == Where("app.py", 11, 3)
    assert str(caught.value.excerpt).splitlines() == ["   11 |   'b FROM t", "          ^"]


def test_every_node_knows_its_place() -> None:
    text = "SELECT a,\n  count(*)\nFROM t\nJOIN u ON t.x = u.x\nWHERE b > 1\nGROUP BY a\nORDER BY 2"
    plan = parse_select(text, "app.sql", 10)
    places = {type(node).__name__: node.where for node in walk(plan)}
    assert places["Aggregate"] == Where("app.sql", 10, 1)
    assert places["Join"] == Where("app.sql", 13, 1)
    assert places["Filter"] == Where("app.sql", 14, 1)
    assert places["Order"] == Where("app.sql", 16, 1)
    assert all(place is not None for place in places.values())
    assert names_read(plan) == ("t", "u")


@pytest.mark.parametrize("wrong", ["SELECT a > > 5 AS b FROM t", "SELECT f(a,, b) AS c FROM t", "SELECT a FROM t WHERE a IN (1,)"])
def test_a_missing_operand_is_found_where_the_parser_sees_none(wrong: str) -> None:
    with pytest.raises(SyntaxFault, match="missing"):
        parse_select(wrong)


@pytest.mark.parametrize("right", ["CAST(a AS ARRAY<ARRAY<INT> >) AS b", "a >> 5 AS b", "CAST(a AS MAP<STRING, ARRAY<STRUCT<x: INT> > >) AS b"])
def test_the_brackets_of_types_may_stand_apart(right: str) -> None:
    parse_select(f"SELECT {right} FROM t")

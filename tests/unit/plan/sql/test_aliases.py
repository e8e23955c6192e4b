"""What a name or an ordinal in GROUP BY means: a column of the source first, then an item of the select list."""

from __future__ import annotations

import pytest

from penstock.plan.load import merged
from penstock.plan.model.keys import row_key
from penstock.plan.model.nodes import Aggregate, Item, walk
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import parse

PEOPLE = "CREATE STREAM people (name STRING, city STRING, n INT) WITH (connector = 'files', path = 'x', format = 'json');"


def groups(query: str) -> tuple[tuple[str, ...], str | None]:
    """The groups of the topmost aggregate of a view, in an app that declares its source."""
    (view,) = (entry for entry in merged(parse(f"{PEOPLE} CREATE MATERIALIZED VIEW v AS {query}", "app.sql")).values() if entry.name == "v")
    aggregate = next(node for node in walk(view.query) if isinstance(node, Aggregate))  # type: ignore[union-attr]
    return aggregate.groups, aggregate.grouping


@pytest.mark.parametrize(
    ("written", "grouping"),
    [
        ("1, 2 WITH ROLLUP", "ROLLUP(upper(a), b)"),
        ("ROLLUP (1, 2)", "ROLLUP (upper(a), b)"),
        ("GROUPING SETS ((1, 2), (u), ())", "GROUPING SETS ((upper(a), b), (upper(a)), ())"),
        ("CUBE ((u, b), mod(c, 2))", "CUBE ((upper(a), b), mod(c, 2))"),
        ("b, ROLLUP (u, (c + 1) * 2)", "b, ROLLUP (upper(a), (c + 1) * 2)"),
    ],
)
def test_ordinals_and_aliases_are_resolved_inside_grouping_sets(written: str, grouping: str) -> None:
    plan = parse_select(f"SELECT upper(a) AS u, b, count(*) AS n FROM t GROUP BY {written}")
    assert isinstance(plan, Aggregate)
    assert plan.grouping == grouping


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT upper(city) AS name, city, count(*) AS k FROM people GROUP BY name, city", (("name", "city"), None)),
        ("SELECT upper(city) AS c, count(*) AS k FROM people GROUP BY c", (("upper(city)",), None)),
        ("SELECT name AS who, count(*) AS k FROM people GROUP BY who", (("name",), None)),
        ("SELECT name AS city, city AS name, count(*) AS k FROM people GROUP BY name, city", (("name", "city"), None)),
        ("SELECT upper(p.name) AS city, count(*) AS k FROM (SELECT name FROM people) p GROUP BY city", (("upper(p.name)",), None)),
        ("SELECT upper(city) AS name, city, count(*) AS k FROM people GROUP BY ROLLUP (city, name)", ((), "ROLLUP (city, name)")),
        ("SELECT upper(city) AS name, count(*) AS k FROM people GROUP BY ROLLUP (1)", ((), "ROLLUP (upper(city))")),
        ("SELECT date(window.start) AS n, count(*) AS k FROM people GROUP BY window(now(), '1 day'), n", (("window(now(), '1 day')", "n"), None)),
    ],
)
def test_a_column_of_the_source_goes_before_a_name_of_the_select_list(query: str, expected: tuple[tuple[str, ...], str | None]) -> None:
    assert groups(query) == expected


@pytest.mark.parametrize(
    ("items", "by", "printed"),
    [
        ("2024 AS year, name", "1, 2", "cast(2024 AS INT), name"),
        ("3 AS version, name", "version, name", "cast(3 AS INT), name"),
        ("-1 AS sign, (3) AS version", "sign, version", "cast(-1 AS INT), cast(3 AS INT)"),
        ("3 AS version, name", "ROLLUP (version, 2)", "ROLLUP (cast(3 AS INT), name)"),
        ("99999999999 AS big, 3L AS long, 1.5 AS f", "1, 2, f", "99999999999, 3L, 1.5"),
    ],
)
def test_a_constant_group_is_never_printed_as_an_ordinal(items: str, by: str, printed: str) -> None:
    assert sql(parse_select(f"SELECT {items}, count(*) AS k FROM people GROUP BY {by}")).endswith(f"GROUP BY {printed}")


def test_a_constant_keeps_its_name_and_is_the_group() -> None:
    plan = parse_select("SELECT 3, name, count(*) AS k FROM people GROUP BY 1, name")
    assert isinstance(plan, Aggregate)
    assert plan.items[0] == Item("cast(3 AS INT)", "3")
    assert row_key(plan) == ("3", "name")


@pytest.mark.parametrize(
    ("by", "expected"), [("(name), ((city))", ("name", "city")), ("(1), (2)", ("name", "city")), ("(name, city)", ("(name, city)",))]
)
def test_brackets_around_a_group_mean_nothing(by: str, expected: tuple[str, ...]) -> None:
    assert groups(f"SELECT name, city, count(*) AS k FROM people GROUP BY {by}") == (expected, None)

"""What a name or an ordinal in GROUP BY means: a column of the source first, then an item of the select list."""

from __future__ import annotations

import pytest

from penstock.plan.load import merged
from penstock.plan.nodes import Aggregate, walk
from penstock.plan.select import parse_select
from penstock.plan.statements import parse

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
    ("query", "meant"),
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
def test_a_column_of_the_source_goes_before_a_name_of_the_select_list(query: str, meant: tuple[tuple[str, ...], str | None]) -> None:
    assert groups(query) == meant

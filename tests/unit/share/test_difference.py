"""What becomes of jobs when an app is declared otherwise: as little as possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.load import load
from penstock.plan.model.declare import Declared
from penstock.share.difference import changed_jobs, changed_views

SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'kafka', servers = 'a', topic = 'sales');"
TABLE = "CREATE TABLE prices (item STRING, price INT) WITH (connector = 'files', path = 'prices.csv', format = 'csv');"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;"
BEST = "CREATE MATERIALIZED VIEW best AS SELECT item, total FROM totals WHERE total > 20;"
FIRST = "CREATE MATERIALIZED VIEW first AS SELECT item FROM best ORDER BY total DESC LIMIT 1;"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"
RANKED = "CREATE MATERIALIZED VIEW ranked AS SELECT item, sum(amount) AS total FROM sales GROUP BY item ORDER BY total DESC LIMIT {};"
PRICED = "CREATE MATERIALIZED VIEW priced AS SELECT t.item, t.total * p.price AS worth FROM totals t JOIN prices p USING (item);"
OUT = "CREATE SINK out FROM totals WITH (connector = 'files', path = 'out');"
APP = (SALES, TABLE, TOTALS, BEST, FIRST, COPY, RANKED.format(2), PRICED)


def declared(folder: Path, *statements: str) -> Declared:
    (folder / "app.sql").write_text("\n".join(statements), encoding="utf-8")
    return load(folder / "app.sql")


def changes(folder: Path, *after: str, before: tuple[str, ...] = APP) -> dict[str, list[str]]:
    found = changed_jobs(declared(folder, *before), declared(folder, *after))
    kinds = {"gone": found.gone, "rebuilt": found.rebuilt, "reopened": found.reopened, "regrouped": found.regrouped, "added": found.added}
    return {kind: [job.name for job in jobs] for kind, jobs in kinds.items() if jobs}


def replaced(old: str, new: str) -> tuple[str, ...]:
    assert old in APP
    return tuple(new if statement == old else statement for statement in APP)


def test_the_same_app_changes_nothing(tmp_path: Path) -> None:
    assert changes(tmp_path, *APP) == {}
    assert changes(tmp_path, "-- a remark\n", *reversed(APP[1:]), SALES) == {}, "nor does the order"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ((*APP, "CREATE MATERIALIZED VIEW other AS SELECT item FROM sales;"), {"added": ["other"]}),
        ((*APP, "CREATE MATERIALIZED VIEW other AS SELECT total FROM totals;"), {"regrouped": ["totals"]}),
        ((*APP, OUT), {"regrouped": ["totals"]}),
        (replaced(FIRST, ""), {"regrouped": ["totals"]}),
        (replaced(BEST, BEST.replace("20", "30")), {"regrouped": ["totals"]}),
        (replaced(COPY, ""), {"gone": ["copy"]}),
        (replaced(COPY, COPY.replace("amount", "amount + 1 AS amount")), {"rebuilt": ["copy"]}),
        (replaced(COPY, COPY.replace("sales", "totals").replace("amount", "total")), {"gone": ["copy"], "regrouped": ["totals"]}),
        (replaced(RANKED.format(2), RANKED.format(3)), {"reopened": ["ranked"]}),
        (replaced(TOTALS, TOTALS.replace("sum", "max")), {"rebuilt": ["totals"]}),
        (replaced(COPY, COPY.replace("copy AS", "copy WITH (trigger = '5 seconds') AS")), {"reopened": ["copy"]}),
        (replaced(SALES, SALES.replace("'a'", "'b'")), {"reopened": ["totals", "copy", "ranked"]}),
        (replaced(SALES, SALES.replace("topic = 'sales'", "topic = 'more'")), {"rebuilt": ["totals", "copy", "ranked"]}),
        (replaced(TABLE, TABLE.replace("prices.csv", "other.csv")), {"reopened": ["totals"]}),
    ],
    ids=str,
)
def test_only_what_must_change_does(tmp_path: Path, after: tuple[str, ...], expected: dict[str, list[str]]) -> None:
    assert changes(tmp_path, *after) == expected


def test_views_over_what_has_changed_have_changed(tmp_path: Path) -> None:
    before = declared(tmp_path, *APP)

    def changed(*after: str) -> set[str]:
        return {view.name for view in changed_views(before, declared(tmp_path, *after))}

    assert changed(*APP) == set()
    assert changed(*replaced(TOTALS, TOTALS.replace("sum", "max"))) == {"totals", "best", "first", "priced"}
    assert changed(*replaced(BEST, BEST.replace("20", "30"))) == {"best", "first"}
    assert changed(*replaced(SALES, SALES.replace("'a'", "'b'"))) == {"totals", "best", "first", "priced", "copy", "ranked"}

"""Views over views, and plans above kept rows: right after every epoch, and an epoch costs what changed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.testing.trial import Trial

APP = """
    CREATE STREAM bids (auction BIGINT, category STRING, price INT, fee DECIMAL(9,2), at TIMESTAMP)
      WITH (connector = 'files', path = 'bids', format = 'json');

    CREATE MATERIALIZED VIEW latest AS
      SELECT auction, max_by(category, at) AS category, max(price) AS top, sum(fee) AS fees, count(*) AS n FROM bids GROUP BY auction;
    CREATE MATERIALIZED VIEW by_category AS
      SELECT category, avg(top) AS mean, sum(fees) AS fees, count(*) AS n, count(top) FILTER (WHERE n > 1) AS busy, bool_and(top > 5) AS all_high
      FROM latest GROUP BY category;
    CREATE MATERIALIZED VIEW totals AS SELECT sum(n) AS auctions, sum(fees) AS fees, max(mean) AS best, count_if(all_high) AS high FROM by_category;
    CREATE MATERIALIZED VIEW sums AS SELECT sum(n) AS auctions, avg(fees) AS mean_fees, count(category) AS categories FROM by_category WHERE n > 0;
    CREATE MATERIALIZED VIEW big AS SELECT category, n * 2 AS twice FROM by_category WHERE n >= 2;
    CREATE MATERIALIZED VIEW best AS SELECT auction, top, rank() OVER (PARTITION BY category ORDER BY top DESC, auction) AS place FROM latest;
    CREATE MATERIALIZED VIEW highest AS SELECT category, max(top) AS top, min(auction) AS first FROM latest GROUP BY category;
    CREATE MATERIALIZED VIEW kinds AS SELECT auction % 3 AS third, count(DISTINCT category) AS kinds, count(*) AS n FROM bids GROUP BY auction % 3;
    CREATE MATERIALIZED VIEW mean_of_max AS SELECT kind, avg(top) AS mean
      FROM (SELECT auction, category AS kind, max(price) AS top FROM bids GROUP BY auction, category) GROUP BY kind;
    CREATE MATERIALIZED VIEW newest AS SELECT auction, price FROM bids QUALIFY row_number() OVER (PARTITION BY auction ORDER BY at DESC) = 1;
    CREATE MATERIALIZED VIEW pairs AS SELECT category, n FROM by_category UNION ALL SELECT category, busy FROM by_category;
"""
VIEWS = ("latest", "by_category", "totals", "sums", "big", "best", "highest", "kinds", "mean_of_max", "newest", "pairs")


def canonical(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str({name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}) for row in rows)


def bid(chance: random.Random, moment: int) -> dict[str, Any]:
    """Auctions move between few categories, so that groups change, empty and come back."""
    category = chance.choice(["a", "b", "c", None, "d" if moment % 2 else "e"])
    at = f"2024-03-01T10:{moment // 60:02}:{moment % 60:02}Z"
    return {
        "auction": chance.randint(1, 9),
        "category": category,
        "price": chance.randint(1, 30),
        "fee": f"{chance.randint(0, 500) / 100:.2f}",
        "at": at,
    }


@pytest.mark.timeout(600)
def test_three_levels_of_views_hold_what_batch_gives(trial: Trial) -> None:
    """Of one file an epoch, stopped and resumed; a group moves, empties and comes back, a maximum leaves, a distinct value too."""
    trial = trial.having(batch_files_max="1")
    trial.write("app.sql", APP)
    chance, moment = random.Random(7), 0
    for files in ((4, 1, 1), (2, 5, 1, 1), (8, 1)):
        for rows in files:
            trial.feed("bids", *(bid(chance, moment := moment + 1) for _ in range(rows)))
        trial.drain()
        for view in VIEWS:
            assert canonical(trial.rows(view)) == canonical(trial.batch(view)), (view, moment)


@pytest.mark.timeout(300)
def test_zeros_of_both_signs_are_one_group(trial: Trial) -> None:
    """They are equal and have two texts, by which rows are looked up."""
    trial = trial.having(batch_files_max="1")
    trial.write(
        "app.sql",
        """
        CREATE STREAM readings (n INT, dev STRING, x DOUBLE) WITH (connector = 'files', path = 'readings', format = 'json');
        CREATE MATERIALIZED VIEW placed AS SELECT n, x, rank() OVER (PARTITION BY x ORDER BY n) AS place FROM readings;
        CREATE MATERIALIZED VIEW pairs AS SELECT a.n, b.n AS m, a.x FROM readings a JOIN readings b ON a.dev = b.dev AND a.n < b.n;
        CREATE MATERIALIZED VIEW counted AS SELECT n, m, count(*) OVER (PARTITION BY x) AS same FROM pairs;
        CREATE MATERIALIZED VIEW by_value AS SELECT x, count(*) AS n, max(m) AS last FROM pairs GROUP BY x;
        """,
    )
    for start in (0, 4, 8):
        trial.feed("readings", *({"n": n, "dev": "a", "x": (0.0, -0.0, 1.5, -0.0)[n % 4]} for n in range(start, start + 4)))
    trial.drain()
    for view in ("placed", "counted", "by_value"):
        assert canonical(trial.rows(view)) == canonical(trial.batch(view)), view

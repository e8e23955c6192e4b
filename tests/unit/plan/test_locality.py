"""Which columns an upper plan is local to: only their changed values are evaluated again."""

from __future__ import annotations

import pytest

from penstock.plan.locality import local_columns
from penstock.plan.select import parse_select

COLUMNS = ("window", "card", "n")

CASES = [
    ("SELECT * FROM kept", {"window": "window", "card": "card", "n": "n"}),
    ("SELECT card AS c, n + 1 AS m FROM kept WHERE n > 2", {"c": "card"}),
    ("SELECT window, card, rank() OVER (PARTITION BY window ORDER BY n DESC) AS r FROM kept", {"window": "window"}),
    ("SELECT card, rank() OVER (PARTITION BY window ORDER BY n DESC) AS r FROM kept", {}),
    ("SELECT card, rank() OVER (ORDER BY n DESC) AS r FROM kept", {}),
    ("SELECT window, max(n) AS m FROM kept GROUP BY window", {"window": "window"}),
    ("SELECT max(n) AS m FROM kept", {}),
    ("SELECT card, sum(n) AS s, rank() OVER (ORDER BY sum(n) DESC) AS r FROM kept GROUP BY card", {}),
    ("SELECT window, card, rank() OVER (PARTITION BY window ORDER BY sum(n)) AS r FROM kept GROUP BY window, card", {"window": "window"}),
    ("SELECT card, sum(n) AS s, count(*) OVER w AS r FROM kept GROUP BY card WINDOW w AS (ORDER BY card)", {}),
    ("SELECT card, sum(n) AS s, count(*) OVER w AS r FROM kept GROUP BY card WINDOW w AS (PARTITION BY card)", {"card": "card"}),
    (
        "SELECT k.* FROM kept k JOIN (SELECT window, max(n) AS m FROM kept GROUP BY window) d ON k.window = d.window AND k.n = d.m",
        {"window": "window"},
    ),
    ("SELECT k.card FROM kept k JOIN kept d ON k.n < d.n", {}),
    ("SELECT card, n FROM kept ORDER BY n LIMIT 3", {}),
    ("SELECT card, n FROM kept ORDER BY n", {"card": "card", "n": "n"}),
    ("SELECT DISTINCT window FROM kept", {"window": "window"}),
    ("SELECT card, n FROM kept WHERE n > (SELECT avg(n) FROM kept)", {}),
    ("SELECT kept.card, country FROM kept JOIN cards ON kept.card = cards.card", {"card": "card"}),
    ("SELECT country FROM cards LEFT JOIN kept ON kept.card = cards.card", {}),
    ("SELECT card FROM kept UNION ALL SELECT card FROM kept", {}),
]


@pytest.mark.parametrize(("text", "local"), CASES, ids=[text for text, _ in CASES])
def test_columns_to_which_a_plan_is_local(text: str, local: dict[str, str]) -> None:
    assert local_columns(parse_select(text, "app.sql"), "kept", COLUMNS) == local


def test_a_column_that_is_left_out_or_made_anew_is_not_passed() -> None:
    text = "SELECT * EXCEPT (card), upper(card) AS card, rank() OVER (PARTITION BY card ORDER BY n) AS r FROM kept"
    assert local_columns(parse_select(text, "app.sql"), "kept", COLUMNS) == {}

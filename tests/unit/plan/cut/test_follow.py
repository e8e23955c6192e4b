"""Which columns an upper plan is local to: only their changed values are evaluated again."""

from __future__ import annotations

import pytest

from penstock.plan.cut.follow import can_be_indexed, local_to
from penstock.plan.model.nodes import Node
from penstock.plan.sql.select import parse_select

COLUMNS = ("window", "card", "n")

CASES = [
    ("SELECT * FROM kept", {"window": "window", "card": "card", "n": "n"}),
    ("SELECT card AS c, n + 1 AS m FROM kept WHERE n > 2", {"c": "card", "__p_kept_window": "window", "__p_kept_n": "n"}),
    ("SELECT window, card, rank() OVER (PARTITION BY window ORDER BY n DESC) AS r FROM kept", {"window": "window"}),
    ("SELECT card, rank() OVER (PARTITION BY window ORDER BY n DESC) AS r FROM kept", {"__p_kept_window": "window"}),
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
    ("SELECT card, n FROM kept ORDER BY n", {}),
    ("SELECT DISTINCT window FROM kept", {"window": "window"}),
    ("SELECT card, n FROM kept WHERE n > (SELECT avg(n) FROM kept)", {}),
    ("SELECT kept.card, country FROM kept JOIN cards ON kept.card = cards.card", {"card": "card", "__p_kept_window": "window", "__p_kept_n": "n"}),
    ("SELECT country FROM cards LEFT JOIN kept ON kept.card = cards.card", {}),
    ("SELECT card FROM kept UNION ALL SELECT card FROM kept", {"card": "card"}),
]


def local(plan: Node, key: tuple[str, ...] | None = None) -> dict[str, str]:
    """The columns of the result that say its part, with those of the input."""
    return {name: dict(sources)["kept"] for name, sources in local_to(plan, {"kept": COLUMNS}, key)[1].items()}


@pytest.mark.parametrize(("text", "columns"), CASES, ids=[text for text, _ in CASES])
def test_columns_to_which_a_plan_is_local(text: str, columns: dict[str, str]) -> None:
    assert local(parse_select(text, "app.sql")) == columns


def test_over_several_inputs_a_plan_is_local_to_what_all_of_them_have() -> None:
    inputs = {"kept": COLUMNS, "other": ("card", "m")}
    joined = parse_select("SELECT o.m FROM kept k LEFT JOIN other o ON k.card = o.card", "app.sql")
    assert local_to(joined, inputs)[1] == {"__p_kept_card_other_card": frozenset({("kept", "card"), ("other", "card")})}
    assert local_to(joined, inputs, are_comparable=lambda sources: False)[1] == {}
    assert local_to(parse_select("SELECT o.m FROM kept k JOIN other o ON k.n < o.m", "app.sql"), inputs)[1] == {}


def test_a_column_that_is_left_out_or_computed_travels_on_under_a_hidden_name() -> None:
    text = "SELECT * EXCEPT (card), upper(card) AS card, rank() OVER (PARTITION BY card ORDER BY n) AS r FROM kept"
    assert local(parse_select(text, "app.sql")) == {"__p_kept_card": "card"}


def test_columns_whose_names_are_alike_travel_on_under_names_of_their_own() -> None:
    found = local_to(parse_select("SELECT n + 1 AS m FROM kept", "app.sql"), {"kept": ("a b", "a_b", "n")}, ("a b", "a_b"))[1]
    assert sorted(dict(sources)["kept"] for sources in found.values()) == ["a b", "a_b"]


def test_the_key_is_enough_where_the_plan_is_local_to_all_of_it() -> None:
    plan = parse_select("SELECT card AS c, n + 1 AS m FROM kept WHERE n > 2", "app.sql")
    assert local(plan, ("card",)) == {"c": "card"}
    assert local(plan, ("window", "card")) == {"c": "card", "__p_kept_window": "window"}
    ranked = parse_select("SELECT n, card, rank() OVER (PARTITION BY card ORDER BY n) AS r FROM kept", "app.sql")
    assert local(ranked, ("window", "card")) == {"card": "card"}


def test_a_name_that_no_path_can_say_is_not_indexed() -> None:
    assert can_be_indexed("größe 2")
    assert not can_be_indexed('a"b')
    assert not can_be_indexed("50%")


def test_a_floating_number_is_indexed_only_in_a_key_where_zero_has_one_text() -> None:
    assert not can_be_indexed("x", "double")
    assert not can_be_indexed("x", "struct<a: float>", ("y",))
    assert can_be_indexed("x", "double", ("x", "y"))

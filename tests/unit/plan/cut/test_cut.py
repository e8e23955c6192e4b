"""Where plans are cut: what Spark keeps, what is evaluated above, and what is read again."""

from __future__ import annotations

import pytest

from penstock.plan.cut.decide import Cut, Strategy, cut
from penstock.plan.model.declare import Declaration, Emit, Stream, Table, View
from penstock.plan.model.keys import ALL_COLUMNS
from penstock.plan.model.text import sql
from penstock.plan.sql.select import parse_select
from penstock.schema import Column, Schema

PAYMENTS = Schema((Column("id", "string"), Column("card", "string"), Column("amount", "decimal(12,2)"), Column("at", "timestamp")))
DECLARED: dict[str, Declaration] = {
    "pay": Stream("pay", PAYMENTS, {}, "at", "10 seconds"),
    "refunds": Stream("refunds", PAYMENTS, {}, "at", "10 seconds"),
    "cards": Table("cards", Schema((Column("card", "string"), Column("country", "string"))), {}),
}


def view(text: str, name: str = "v", emit: Emit = Emit.CHANGES) -> View:
    return View(name, parse_select(text, "app.sql"), emit, text=text)


def decide(text: str, emit: Emit = Emit.CHANGES, **views: str) -> Cut:
    declared = DECLARED | {name: view(query, name) for name, query in views.items()}
    return cut(view(text, emit=emit), declared)


BY_CARD = "SELECT card, sum(amount) AS total FROM pay GROUP BY card"

STRATEGIES = [
    ("SELECT id, amount * 2 AS twice FROM pay WHERE amount > 5", Strategy.STATELESS),
    ("SELECT id, country FROM pay LEFT JOIN cards USING (card)", Strategy.STATELESS),
    ("SELECT id FROM pay WHERE card IN (SELECT card FROM cards)", Strategy.STATELESS),
    ("SELECT id FROM pay UNION ALL SELECT id FROM refunds", Strategy.STATELESS),
    ("SELECT w FROM pay LATERAL VIEW explode(split(id, '-')) t AS w", Strategy.STATELESS),
    ("SELECT id, (SELECT count(*) FROM cards c WHERE c.card = p.card) AS n FROM pay p", Strategy.STATELESS),
    ("SELECT id, (SELECT max(c.country) FROM cards c WHERE c.card = p.card AND c.country > 'a') AS n FROM pay p", Strategy.STATELESS),
    ("SELECT id FROM pay p WHERE EXISTS (SELECT 1 FROM cards c WHERE c.country > p.card)", Strategy.STATELESS),
    ("SELECT id, c.country FROM pay p LEFT JOIN LATERAL (SELECT country FROM cards c WHERE c.card = p.card) c ON true", Strategy.STATELESS),
    ("SELECT id, c.country FROM pay p, LATERAL (SELECT country FROM cards c WHERE c.card > p.card) c", Strategy.STATELESS),
    ("SELECT id, t.w FROM pay p, LATERAL explode(split(p.id, '-')) AS t(w)", Strategy.STATELESS),
    ("SELECT id, t.w FROM pay p, LATERAL (SELECT p.amount + 1 AS w) t", Strategy.STATELESS),
    ("SELECT id, (SELECT max(c.country) FROM cards c WHERE c.card > p.card) AS m FROM pay p", Strategy.GATHERED),
    ("SELECT id, (SELECT max(c.country) FROM cards c WHERE c.card || p.card = 'x') AS m FROM pay p", Strategy.GATHERED),
    ("SELECT card, sum((SELECT count(*) FROM cards c WHERE c.card > p.card)) AS m FROM pay p GROUP BY card", Strategy.GATHERED),
    ("SELECT id, c.n FROM pay p, LATERAL (SELECT count(*) AS n FROM cards c WHERE c.card = p.card) c", Strategy.GATHERED),
    ("SELECT id, c.n FROM pay p, LATERAL (SELECT c.country || p.id AS n FROM cards c WHERE c.card = p.card) c", Strategy.GATHERED),
    ("SELECT id, t.w FROM pay p LEFT JOIN LATERAL explode(split(p.id, '-')) AS t(w) ON true", Strategy.RECOMPUTE),
    ("SELECT id, c.n FROM pay p JOIN LATERAL (SELECT country AS n FROM cards c WHERE c.card = p.card ORDER BY n LIMIT 1) c", Strategy.GATHERED),
    ("SELECT id, (SELECT country FROM cards c WHERE c.card > p.card ORDER BY c.card LIMIT 1) AS m FROM pay p", Strategy.GATHERED),
    ("SELECT id, (SELECT DISTINCT country FROM cards c WHERE c.card > p.card) AS m FROM pay p", Strategy.GATHERED),
    ("SELECT id FROM pay p WHERE 1 IN (SELECT rank() OVER (ORDER BY c.card) FROM cards c WHERE c.card > p.card)", Strategy.GATHERED),
    ("SELECT id FROM pay p WHERE EXISTS (SELECT 1 FROM cards c WHERE c.card = p.card UNION ALL SELECT 2 FROM cards)", Strategy.GATHERED),
    ("SELECT id FROM pay p WHERE EXISTS (SELECT card FROM cards c WHERE c.card = p.id INTERSECT SELECT card FROM cards)", Strategy.GATHERED),
    ("SELECT id FROM pay WHERE card IN (SELECT card FROM cards UNION SELECT country FROM cards)", Strategy.STATELESS),
    ("SELECT id FROM pay WHERE card = (SELECT card FROM cards ORDER BY country LIMIT 1)", Strategy.STATELESS),
    ("SELECT id FROM pay LIMIT 3", Strategy.INCREMENTAL),
    (BY_CARD, Strategy.INCREMENTAL),
    ("SELECT count(*) AS n FROM pay", Strategy.INCREMENTAL),
    (BY_CARD + " HAVING sum(amount) > 5", Strategy.INCREMENTAL),
    (f"SELECT card FROM ({BY_CARD}) WHERE total > 5", Strategy.INCREMENTAL),
    ("SELECT window, count(*) AS n FROM pay GROUP BY window(at, '1 hour', '10 minutes')", Strategy.INCREMENTAL),
    ("SELECT DISTINCT card FROM pay", Strategy.INCREMENTAL),
    ("SELECT a.id FROM pay a JOIN refunds b ON a.id = b.id", Strategy.INCREMENTAL),
    ("SELECT card, country, sum(amount) AS s FROM pay JOIN cards USING (card) GROUP BY ROLLUP (card, country)", Strategy.INCREMENTAL),
    (BY_CARD + " ORDER BY total DESC LIMIT 10", Strategy.KEPT),
    ("SELECT card FROM pay GROUP BY card ORDER BY sum(amount) DESC LIMIT 3", Strategy.KEPT),
    ("SELECT card, count(DISTINCT id) AS d, count(*) AS n FROM pay GROUP BY card", Strategy.KEPT),
    ("SELECT card, rank() OVER (ORDER BY sum(amount) DESC) AS r FROM pay GROUP BY card", Strategy.KEPT),
    (f"SELECT max(total) AS m FROM ({BY_CARD})", Strategy.KEPT),
    (f"WITH t AS ({BY_CARD}) SELECT * FROM t WHERE total > (SELECT avg(total) FROM t)", Strategy.KEPT),
    (f"WITH t AS ({BY_CARD}) SELECT a.card FROM t a JOIN t b ON a.total < b.total", Strategy.KEPT),
    ("SELECT card FROM pay UNION SELECT card FROM pay", Strategy.INCREMENTAL),
    ("SELECT b.card, count(*) AS n FROM (SELECT DISTINCT card, id FROM pay) b GROUP BY b.card", Strategy.KEPT),
    ("SELECT a.id FROM pay a LEFT JOIN refunds b ON a.id = b.id", Strategy.GATHERED),
    ("SELECT id, row_number() OVER (PARTITION BY card ORDER BY at) AS n FROM pay", Strategy.GATHERED),
    ("SELECT * FROM pay ORDER BY amount DESC LIMIT 3", Strategy.STAGED),
    ("SELECT * FROM pay p ORDER BY p.amount DESC LIMIT 3 OFFSET 2", Strategy.STAGED),
    ("SELECT * FROM pay ORDER BY amount DESC", Strategy.RECOMPUTE),
    ("SELECT id FROM pay WHERE amount > (SELECT count(*) FROM refunds)", Strategy.STAGED),
    ("SELECT id FROM pay WHERE card NOT IN (SELECT card FROM refunds)", Strategy.STAGED),
    ("SELECT a.card FROM pay a JOIN pay b ON a.amount < b.amount", Strategy.RECOMPUTE),
    ("SELECT session_window, card, count(*) AS n FROM pay GROUP BY session_window(at, '5 minutes'), card", Strategy.GATHERED),
    ("SELECT card, avg(amount) AS a, count(DISTINCT id) AS d FROM pay GROUP BY card", Strategy.GATHERED),
    (f"SELECT total FROM ({BY_CARD}) UNION ALL SELECT count(*) FROM pay", Strategy.RECOMPUTE),
    ("SELECT card FROM pay INTERSECT SELECT card FROM refunds", Strategy.GATHERED),
    ("SELECT id, card FROM pay EXCEPT SELECT id, card FROM refunds", Strategy.GATHERED),
    ("SELECT card COLLATE UTF8_LCASE AS c, count(*) AS n FROM pay GROUP BY card COLLATE UTF8_LCASE", Strategy.RECOMPUTE),
    ("SELECT DISTINCT card COLLATE UTF8_LCASE AS c FROM pay", Strategy.RECOMPUTE),
    ("SELECT a.card FROM pay a JOIN pay b ON a.card COLLATE UTF8_LCASE = b.card COLLATE UTF8_LCASE", Strategy.RECOMPUTE),
    ("SELECT card FROM pay WHERE card COLLATE UTF8_LCASE = 'x'", Strategy.STATELESS),
]


@pytest.mark.parametrize(("text", "strategy"), STRATEGIES, ids=[text for text, _ in STRATEGIES])
def test_every_shape_has_its_strategy(text: str, strategy: Strategy) -> None:
    assert decide(text).strategy is strategy


LATEST = "SELECT card, id FROM {} QUALIFY card = 1"
BESIDE = f"SELECT a.card, a.total, b.id FROM ({BY_CARD}) a JOIN ({{}}) b ON a.card = b.card"


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        (BESIDE.format(LATEST.format("pay")), ("pay",)),
        (BESIDE.format(LATEST.format("late")), ("pay", "refunds")),
        (f"WITH c AS (SELECT * FROM refunds) {BESIDE.format(LATEST.format('c'))}", ("pay", "refunds")),
        (BESIDE.format("SELECT * FROM pay NATURAL JOIN refunds"), ("pay", "refunds")),
        (f"SELECT card FROM ({BY_CARD}) WHERE total > (SELECT count(*) FROM (SELECT DISTINCT card FROM refunds ORDER BY ALL))", ("pay", "refunds")),
        (f"SELECT card FROM ({BY_CARD}) WHERE card IN (FROM refunds |> WHERE amount > 3 |> SELECT card)", ("pay", "refunds")),
        (BY_CARD + " HAVING count(*) > (SELECT avg(amount) FROM refunds NATURAL JOIN cards)", ("pay", "refunds")),
        (f"SELECT card FROM ({BY_CARD}) EXCEPT SELECT card FROM ({LATEST.format('refunds')})", ("pay", "refunds")),
    ],
)
def test_a_stream_in_sql_that_is_not_looked_into_is_read_again_with_all_the_rest(text: str, streams: tuple[str, ...]) -> None:
    found = decide(text, late="SELECT * FROM refunds WHERE amount > 5")
    assert found.strategy is Strategy.RECOMPUTE
    assert found.streams == streams


def test_tables_in_sql_that_is_not_looked_into_are_read_above_the_cut() -> None:
    found = decide(BESIDE.format("SELECT card, country AS id FROM cards QUALIFY card = 1"))
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert "QUALIFY" in sql(found.upper)


def test_a_row_that_leaves_by_having_is_flagged_and_not_dropped() -> None:
    found = decide(BY_CARD + " HAVING sum(amount) > 5")
    assert "HAVING" not in sql(found.lower)
    assert "coalesce(sum(amount) > 5, false) AS `__keep0`" in sql(found.lower)


def test_a_filter_above_an_aggregate_is_a_flag_too() -> None:
    text = sql(decide(f"SELECT card, total FROM ({BY_CARD}) x WHERE x.total > 5").lower)
    assert "WHERE" not in text
    assert "coalesce(x.total > 5, false)" in text


def test_the_key_is_the_groups_where_they_reach_the_result() -> None:
    assert decide(BY_CARD).visible_key == ("card",)
    assert decide("SELECT sum(amount) AS s FROM pay GROUP BY card").visible_key is None
    assert decide("SELECT count(*) AS n FROM pay").visible_key == ()
    assert decide("SELECT DISTINCT card, id FROM pay").visible_key == ALL_COLUMNS
    assert decide("SELECT card AS c, window.start AS s, window, count(*) FROM pay GROUP BY card, window(at, '1 hour')").visible_key == ("c", "window")
    assert decide(f"SELECT card AS who, total FROM ({BY_CARD}) ORDER BY total LIMIT 2").visible_key == ("who",)


BEST = "SELECT card, max_by(struct(id AS card, amount), amount) AS best FROM pay GROUP BY card"


def test_a_field_of_a_struct_is_not_the_group_of_its_name() -> None:
    assert decide(f"SELECT best.card AS id, best.amount FROM ({BEST})").visible_key is None
    assert decide(f"SELECT q.best.card AS id, best.amount FROM ({BEST}) q").visible_key is None
    assert decide(f"SELECT best.card AS id, best.amount FROM ({BEST}) best").visible_key == ("id",)
    assert decide(f"SELECT Q.card AS who, best.card FROM ({BEST}) q WHERE best.amount > 1").visible_key == ("who",)
    assert decide("SELECT s, s.card AS of, count(*) AS n FROM (SELECT struct(id AS card) AS s, card FROM pay) GROUP BY s, card").visible_key is None
    assert decide("SELECT v.card AS who FROM v", v=BEST).visible_key == ("who",)


def test_a_window_above_an_aggregate_is_not_the_window_that_it_groups_by() -> None:
    hourly = "SELECT window, max(at) AS last FROM pay GROUP BY window(at, '1 hour')"
    assert decide(f"SELECT window(last, '1 day') AS day FROM ({hourly})").visible_key is None


def test_sort_keys_that_are_not_selected_are_carried_below_the_cut() -> None:
    found = decide("SELECT card FROM pay GROUP BY card ORDER BY sum(amount) DESC, card LIMIT 3")
    assert "sum(amount) AS `__o0`" in sql(found.lower)
    assert found.upper is not None
    assert "ORDER BY __o0 DESC, `card`" in sql(found.upper)


def test_equal_parts_are_kept_once() -> None:
    counts = "SELECT window, card, count(*) AS n FROM pay GROUP BY window(at, '1 hour'), card"
    most = (
        f"WITH c AS ({counts}) SELECT c.card FROM c JOIN (SELECT window, max(n) AS m FROM c GROUP BY window) d ON c.window = d.window AND c.n = d.m"
    )
    found = decide(most)
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert sql(found.upper).count("__kept") == 2


def test_a_watermark_is_used_only_where_it_closes_something() -> None:
    assert decide("SELECT window, count(*) AS n FROM pay GROUP BY window(at, '1 hour')").watermarked
    assert not decide(BY_CARD).watermarked
    assert decide("SELECT a.id FROM pay a JOIN refunds b ON a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR").watermarked
    assert not decide("SELECT a.id FROM pay a JOIN refunds b ON a.id = b.id").watermarked


def test_windows_given_out_on_close_are_appended() -> None:
    found = decide("SELECT window, card, sum(amount) AS s FROM pay GROUP BY window(at, '1 hour'), card HAVING sum(amount) > 1", Emit.ON_CLOSE)
    assert (found.strategy, found.mode, found.keys) == (Strategy.INCREMENTAL, "append", ("window", "card"))
    assert found.adds_only
    assert "HAVING" in sql(found.lower)


def test_a_window_is_seen_behind_group_by_all() -> None:
    found = decide("SELECT window(at, '1 hour') AS w, card, count(*) AS n FROM pay GROUP BY ALL", Emit.ON_CLOSE)
    assert (found.strategy, found.mode, found.watermarked) == (Strategy.INCREMENTAL, "append", True)


def test_a_global_session_window_is_recomputed_with_its_closed_sessions_only() -> None:
    found = decide("SELECT session_window, count(*) AS n FROM pay GROUP BY session_window(at, '1 minute')", Emit.ON_CLOSE)
    assert found.strategy is Strategy.RECOMPUTE
    assert "max(session_window.end) <=" in sql(found.lower)


def test_windows_of_windows_are_given_out_when_the_outer_ones_are_closed_too() -> None:
    inner = "SELECT window.start AS slot, count(*) AS n FROM pay GROUP BY window(at, '1 minute')"
    found = decide(f"SELECT window, sum(n) AS n FROM ({inner}) GROUP BY window(slot, '1 hour')", Emit.ON_CLOSE)
    assert found.strategy is Strategy.RECOMPUTE
    assert sql(found.lower).count("window.end <=") == 2
    assert decide(f"SELECT max(n) AS n FROM ({inner})", Emit.ON_CLOSE).strategy is Strategy.KEPT


def test_a_view_over_an_aggregate_view_follows_its_rows() -> None:
    found = decide("SELECT count(*) AS n FROM totals WHERE total > 5", totals=BY_CARD)
    assert (found.strategy, found.base) == (Strategy.ON_VIEW, "totals")


def test_a_view_over_a_pass_through_view_runs_on_the_stream_itself() -> None:
    found = decide("SELECT card, count(*) AS n FROM big GROUP BY card", big="SELECT card FROM pay WHERE amount > 5")
    assert (found.strategy, found.streams) == (Strategy.INCREMENTAL, ("pay",))


def test_a_view_over_two_views_is_put_in_their_place() -> None:
    found = decide("SELECT a.total FROM t1 a JOIN t2 b ON a.card = b.card", t1=BY_CARD, t2="SELECT card, count(*) AS n FROM pay GROUP BY card")
    assert (found.strategy, found.streams) == (Strategy.KEPT, ("pay",))


def test_an_alias_hides_the_column_of_its_name_in_having_unless_that_is_a_group() -> None:
    """As Spark has it: the group comes first, then the alias, then there are only columns inside of aggregates."""
    found = decide("SELECT upper(card) AS card, sum(amount) AS amount FROM pay GROUP BY card HAVING card > 'A' AND amount > 1 AND max(amount) > 2")
    assert "coalesce(card > 'A' AND (sum(amount)) > 1 AND max(amount) > 2, false)" in sql(found.lower)


@pytest.mark.parametrize(
    ("having", "flag"),
    [
        (
            "SELECT c.card AS card, sum(amount) AS n FROM pay p LEFT JOIN cards c ON p.card = c.card GROUP BY p.card, c.card HAVING card = 'a'",
            "(c.card) = 'a'",
        ),
        ("SELECT card AS `a``b`, count(*) AS n FROM pay GROUP BY card HAVING `a``b` = 'a' AND n > 1", "(card) = 'a' AND (count(*)) > 1"),
    ],
)
def test_an_alias_in_having_is_what_it_stands_for(having: str, flag: str) -> None:
    assert f"coalesce({flag}, false)" in sql(decide(having).lower)


def test_beside_a_function_over_a_window_an_alias_hides_a_group_too() -> None:
    found = decide("SELECT upper(card) AS card, rank() OVER (ORDER BY sum(amount)) AS r FROM pay GROUP BY card HAVING card = 'A'")
    assert found.upper is not None
    assert "WHERE (upper(__g0)) = 'A'" in sql(found.upper)


def test_no_condition_stands_in_brackets_as_a_whole() -> None:
    """Spark would take the word before them for the name of a table and what is in them for its columns."""
    found = decide("SELECT card, bool_or(ok) AS n, rank() OVER (ORDER BY card) AS r FROM pay GROUP BY card HAVING n")
    assert found.upper is not None
    assert "WHERE __a" in sql(found.upper)
    assert "WHERE ok" in sql(decide("SELECT card FROM pay WHERE ((ok))").lower)


def test_a_view_that_keeps_no_rows_is_not_followed() -> None:
    declared = DECLARED | {"totals": View("totals", parse_select(BY_CARD, "app.sql"), options={"store": "false"})}
    assert cut(view("SELECT max(total) AS m FROM totals"), declared).strategy is Strategy.KEPT


SESSION_VISITORS = "SELECT session_window.start AS s, card, count(DISTINCT id) AS n FROM pay GROUP BY session_window(at, '1 minute'), card"
JOINED = "FROM pay a JOIN refunds b ON a.id = b.id"

NOT_BY_PARTS = [
    (SESSION_VISITORS, Emit.ON_CLOSE),
    ("SELECT card, listagg(DISTINCT id, ',') WITHIN GROUP (ORDER BY id) AS ids FROM pay GROUP BY card", Emit.CHANGES),
    ("SELECT card, explode(collect_list(id)) AS id FROM pay GROUP BY card", Emit.CHANGES),
    ("SELECT window, count(*) AS n FROM (SELECT DISTINCT at, card FROM pay) GROUP BY window(at, '1 minute')", Emit.ON_CLOSE),
    (f"SELECT window(a.at, '1 minute') AS w, a.card, count(*) AS n {JOINED} GROUP BY window(a.at, '1 minute'), a.card", Emit.CHANGES),
    ("SELECT a.id FROM pay a JOIN refunds b ON (a.id = b.id OR a.amount IS NULL)", Emit.CHANGES),
    ("SELECT a.id FROM pay a JOIN refunds b ON NOT (a.id = b.id)", Emit.CHANGES),
    ("SELECT a.id FROM pay a JOIN refunds b ON coalesce(a.id = b.id, true)", Emit.CHANGES),
    ("SELECT sum(amount) + 1, count(DISTINCT id) FROM pay", Emit.CHANGES),
]


@pytest.mark.parametrize(("text", "emit"), NOT_BY_PARTS, ids=[text for text, _ in NOT_BY_PARTS])
def test_shapes_that_parts_would_answer_wrongly_are_read_again(text: str, emit: Emit) -> None:
    assert decide(text, emit).strategy in (Strategy.RECOMPUTE, Strategy.GATHERED, Strategy.STAGED)


def test_columns_of_one_name_from_two_relations_are_two_groups() -> None:
    found = decide(f"SELECT a.id AS x, b.id AS y, count(*) AS n, count(DISTINCT a.card) AS c {JOINED} GROUP BY a.id, b.id")
    assert found.visible_key == ("x", "y")
    assert decide(f"SELECT a.id AS x, count(*) AS n {JOINED} GROUP BY a.id, b.id").visible_key is None


def test_a_filter_leaves_the_name_of_its_relation_in_force() -> None:
    text = sql(decide(f"SELECT q.card, q.total FROM ({BY_CARD}) q WHERE q.total > 1").lower)
    assert text.startswith("SELECT q.card, q.total")
    assert text.endswith("AS `q`")


def test_several_rows_of_one_group_have_no_key() -> None:
    found = decide("SELECT card, explode(ids) AS id FROM (SELECT card, collect_list(id) AS ids FROM pay GROUP BY card)")
    assert (found.strategy, found.visible_key) == (Strategy.KEPT, None)


def test_sort_keys_above_a_split_aggregate_are_written_in_its_terms() -> None:
    found = decide("SELECT card, count(DISTINCT id) AS n FROM pay GROUP BY card ORDER BY count(*) DESC LIMIT 3")
    assert found.upper is not None
    assert "coalesce(sum(__a0), 0) AS `__s0`" in sql(found.upper)
    assert "ORDER BY __s0 DESC" in sql(found.upper)


def test_group_words_in_types_and_literals_are_left_alone() -> None:
    found = decide("SELECT id AS day, count(DISTINCT card) AS n FROM pay GROUP BY id HAVING cast(id AS date) > date '2020-01-01'")
    assert found.upper is not None
    assert "HAVING cast(__g0 AS date) > date '2020-01-01'" in sql(found.upper)


def test_a_time_bound_compares_two_event_times() -> None:
    assert not decide(f"SELECT a.id {JOINED} WHERE a.at >= timestamp'2024-01-01'").watermarked


@pytest.mark.parametrize("part", [".start", ".end + INTERVAL 1 HOUR"])
def test_a_part_of_a_window_is_a_group_like_any_other(part: str) -> None:
    found = decide(f"SELECT window(at, '1 hour'){part} AS h, count(*) AS n FROM pay GROUP BY h")
    assert (found.strategy, found.watermarked) == (Strategy.INCREMENTAL, False)
    of_sessions = decide(f"SELECT session_window(at, '1 hour'){part} AS h, count(*) AS n FROM pay GROUP BY h")
    assert of_sessions.strategy is Strategy.RECOMPUTE
    assert decide("SELECT (window(at, '1 hour')) AS w, count(*) AS n FROM pay GROUP BY w", Emit.ON_CLOSE).strategy is Strategy.INCREMENTAL


@pytest.mark.parametrize("groups", ["window(at, '1 hour'), at", "at, again", "window(at, '1 hour'), window(again, '1 hour'), card"])
def test_several_event_times_among_the_groups_have_no_watermark(groups: str) -> None:
    query = f"SELECT count(*) AS n, {groups} FROM (SELECT *, at AS again FROM pay) GROUP BY {groups}"
    found = decide(query)
    assert (found.strategy, found.watermarked) == (Strategy.INCREMENTAL, False)
    assert decide(query, Emit.ON_CLOSE).strategy is Strategy.RECOMPUTE
    joined = "FROM pay a JOIN refunds b ON a.id = b.id AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
    assert not decide(f"SELECT a.at AS paid, b.at AS back, count(*) AS n {joined} GROUP BY a.at, b.at").watermarked
    assert decide(f"SELECT a.at AS paid, count(*) AS n {joined} GROUP BY a.at").watermarked


BOTH_WAYS = [
    "b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR",
    "b.at >= a.at - INTERVAL 5 MINUTES AND (b.at < a.at + INTERVAL 1 HOUR)",
    "b.at > a.at AND b.at - INTERVAL 1 HOUR < CAST(a.at AS TIMESTAMP)",
]
ONE_WAY_OR_NONE = [
    "b.at >= a.at",
    "a.at <= b.at AND a.at + INTERVAL 1 MINUTE <= b.at",
    "b.at >= a.at AND unix_timestamp(b.at) - unix_timestamp(a.at) < 60",
    "abs(unix_timestamp(b.at) - unix_timestamp(a.at)) < 60",
    "b.at >= a.at AND CAST(b.at AS DATE) <= a.at + INTERVAL 1 DAY",
    "b.at BETWEEN a.at AND a.at + INTERVAL 1 MONTH",
    "b.at NOT BETWEEN a.at AND a.at + INTERVAL 1 HOUR",
    "a.amount BETWEEN 1 AND 2",
]
ON_ID = "FROM pay a JOIN refunds b ON a.id = b.id"
HOURLY = "SELECT window, count(*) AS n {} GROUP BY window(a.at, '1 hour')"


@pytest.mark.parametrize("bound", BOTH_WAYS)
def test_a_join_that_is_bounded_both_ways_has_a_watermark(bound: str) -> None:
    assert decide(f"SELECT a.id {ON_ID} AND {bound}").watermarked
    assert decide(f"SELECT a.id {ON_ID} WHERE {bound}").watermarked
    closing = decide(HOURLY.format(f"{ON_ID} AND {bound}"), Emit.ON_CLOSE)
    assert (closing.strategy, closing.watermarked) == (Strategy.INCREMENTAL, True)


@pytest.mark.parametrize("bound", ONE_WAY_OR_NONE)
def test_a_join_without_a_bound_both_ways_has_no_watermark_and_closes_no_window(bound: str) -> None:
    by_time = decide(f"SELECT a.id, a.at, count(*) AS n {ON_ID} AND {bound} GROUP BY a.id, a.at")
    assert (by_time.strategy, by_time.watermarked) == (Strategy.INCREMENTAL, False)
    assert decide(HOURLY.format(f"{ON_ID} AND {bound}"), Emit.ON_CLOSE).strategy is Strategy.RECOMPUTE


def test_a_bound_is_followed_through_names_and_stands_between_the_two_sides() -> None:
    times = "SELECT a.id, a.at AS paid, b.at AS back"
    assert decide(f"SELECT id FROM ({times} {ON_ID}) WHERE back BETWEEN paid AND paid + INTERVAL 1 HOUR").watermarked
    one_side = "(SELECT id, at, at AS again FROM pay)"
    assert not decide(f"SELECT a.id FROM {one_side} a JOIN refunds b ON a.id = b.id AND a.again BETWEEN a.at AND a.at + INTERVAL 1 HOUR").watermarked
    itself = "FROM pay a JOIN pay b ON a.id = b.id"
    assert decide(f"SELECT a.id {itself} AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR").watermarked


@pytest.mark.parametrize(("time", "lateness", "kind"), [(None, None, "timestamp"), ("at", None, "timestamp"), ("at", "1 second", "timestamp_ntz")])
def test_a_time_without_a_watermark_bounds_nothing(time: str | None, lateness: str | None, kind: str) -> None:
    other = Stream("refunds", Schema((Column("id", "string"), Column("at", kind))), {}, time, lateness)
    query = view(f"SELECT a.id {ON_ID} AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR")
    assert not cut(query, DECLARED | {"refunds": other}).watermarked


def test_struct_stars_and_stars_without_some_columns_carry_the_keys() -> None:
    windowed = "SELECT window, card, count(*) AS n FROM pay GROUP BY window(at, '1 hour'), card"
    assert "__k1 AS `__k1`" in sql(decide(f"SELECT window.*, n FROM ({windowed})").lower)
    assert decide(f"SELECT * EXCEPT (n) FROM ({windowed})").visible_key == ("window", "card")


def test_opaque_sql_over_a_view_has_the_view_defined_in_front() -> None:
    found = decide("SELECT * FROM big QUALIFY card = 1", big="SELECT card, id FROM pay WHERE amount > 5")
    assert (found.strategy, found.streams) == (Strategy.RECOMPUTE, ("pay",))
    assert sql(found.lower).startswith("WITH `big` AS (")


def test_rollup_in_its_old_form_has_the_same_keys() -> None:
    found = decide("SELECT card, id, sum(amount) AS s FROM pay GROUP BY card, id WITH ROLLUP")
    assert found.keys == ("__k0", "__k1", "__k2")


@pytest.mark.parametrize("groups", ["bidder, via.bidder", "via.bidder, bidder", "bidder, via.bidder, upper(via.bidder) || bidder"])
def test_a_column_and_a_field_of_its_name_are_two_groups(groups: str) -> None:
    rows = "(SELECT card AS bidder, id, named_struct('bidder', id) AS via FROM pay)"
    found = decide(f"SELECT bidder AS a, via.bidder AS b, upper(via.bidder) || bidder AS c, count(DISTINCT id) AS n FROM {rows} GROUP BY {groups}")
    assert found.upper is not None
    names = {text: f"__g{index}" for index, text in enumerate(groups.split(", "))}
    whole = names.get("upper(via.bidder) || bidder", f"upper({names['via.bidder']}) || {names['bidder']}")
    assert f"SELECT {names['bidder']} AS `a`, {names['via.bidder']} AS `b`, {whole} AS `c`" in sql(found.upper)


TOTALS = "SELECT card, sum(amount) AS total, count_if(amount > 5) AS n FROM pay GROUP BY card"


def test_what_a_filter_guards_is_not_computed_for_rows_that_it_flags() -> None:
    text = sql(decide(f"SELECT card, total / n AS each FROM (SELECT * FROM ({TOTALS}) WHERE n <> 0) WHERE total / n > 2").lower)
    assert "SELECT card, if(__keep4 AND __keep2, total / n, NULL) AS `each`" in text
    assert "coalesce(if(__keep4, total / n > 2, false), false) AS `__keep2`" in text


def test_what_having_guards_is_not_computed_for_groups_that_it_flags() -> None:
    query = "SELECT upper(card) AS c, count(*) AS n, sum(amount) / count_if(amount > 5) AS each FROM pay GROUP BY upper(card)"
    text = sql(decide(query + " HAVING count_if(amount > 5) > 0").lower)
    assert "SELECT upper(card) AS `c`, count(*) AS `n`, if(count_if(amount > 5) > 0, sum(amount) / count_if(amount > 5), NULL) AS `each`" in text


def test_what_having_guards_is_read_again_where_only_spark_can_name_it() -> None:
    query = "SELECT upper(card), count(*), {} FROM pay GROUP BY upper(card) HAVING count_if(amount > 5) > 0"
    assert decide(query.format("sum(amount) / count_if(amount > 5)")).strategy is Strategy.RECOMPUTE
    assert decide(query.format("sum(amount)")).strategy is Strategy.INCREMENTAL


def test_what_has_no_name_of_its_own_is_computed_above_the_cut_behind_its_filter() -> None:
    found = decide(f"SELECT card, total / n FROM ({TOTALS}) WHERE n <> 0")
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert sql(found.upper).endswith("WHERE n <> 0")
    assert decide(f"SELECT card, total / 2 FROM ({TOTALS})").strategy is Strategy.INCREMENTAL


SORTED = [
    ("SELECT a.id, b.amount {joined} ORDER BY b.at DESC LIMIT 3", "b.at AS `__o0`", "ORDER BY __o0 DESC"),
    ("SELECT a.id, b.amount AS id2 {joined} ORDER BY a.id, b.amount, id2 + 1 LIMIT 3", "(b.amount) + 1 AS `__o0`", "ORDER BY `id`, `id2`, __o0"),
    ("SELECT DISTINCT p.card FROM pay p ORDER BY p.card DESC LIMIT 3", "SELECT DISTINCT p.card", "ORDER BY `card` DESC"),
    ("SELECT DISTINCT upper(p.card) AS c, p.id FROM pay p ORDER BY length(upper(p.card)), id", "upper(p.card) AS `c`", "ORDER BY length(`c`), `id`"),
    ("SELECT DISTINCT a.id {joined} ORDER BY a.id LIMIT 3", "SELECT a.id", "ORDER BY `id`"),
    ("SELECT DISTINCT card, sum(amount) AS s FROM pay GROUP BY card ORDER BY sum(amount)", "sum(amount) AS `s`", "ORDER BY `s`"),
    ("SELECT DISTINCT count(DISTINCT id) AS n FROM pay GROUP BY card ORDER BY count(DISTINCT id)", "AS `__d0`", "ORDER BY `n`"),
    ("SELECT window, max(id) AS end FROM pay GROUP BY window(at, '1 hour') ORDER BY window.end LIMIT 2", "window.end AS `__o0`", "ORDER BY __o0"),
    ("SELECT p.card AS id, count(*) AS n FROM pay p GROUP BY p.card, p.id ORDER BY p.id LIMIT 2", "p.id AS `__o0`", "ORDER BY __o0"),
    ("SELECT card, sum(amount) AS s FROM pay GROUP BY card ORDER BY 2, SUM(amount) LIMIT 2", "sum(amount) AS `s`, card AS `__k0`", "ORDER BY 2, `s`"),
]


@pytest.mark.parametrize(("text", "below", "above"), SORTED, ids=[text for text, _, _ in SORTED])
def test_sort_keys_are_written_in_terms_of_the_kept_rows(text: str, below: str, above: str) -> None:
    found = decide(text.format(joined=JOINED))
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert below in sql(found.lower)
    assert above in sql(found.upper)


def test_two_orders_over_equal_aggregates_have_keys_of_their_own() -> None:
    one, two = (f"(SELECT card FROM pay GROUP BY card ORDER BY {key} LIMIT 3)" for key in ("count(*), max(id)", "min(id), count(*)"))
    found = decide(f"{one} UNION ALL {two}")
    assert "count(*) AS `__o0`, max(id) AS `__o1`, min(id) AS `__o2`" in sql(found.lower)
    assert found.upper is not None
    assert "ORDER BY __o0, __o1" in sql(found.upper)
    assert "ORDER BY __o2, __o0" in sql(found.upper)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT card FROM pay GROUP BY card ORDER BY rank() OVER (ORDER BY sum(amount)) LIMIT 3",
        "SELECT card FROM pay GROUP BY card ORDER BY count(DISTINCT id) LIMIT 3",
        "SELECT card FROM pay GROUP BY card ORDER BY sum(amount) > (SELECT count(*) FROM cards) LIMIT 3",
        "SELECT DISTINCT * FROM pay p ORDER BY p.card LIMIT 3",
    ],
)
def test_what_cannot_be_kept_to_sort_by_is_read_again(text: str) -> None:
    assert decide(text).strategy is Strategy.RECOMPUTE


SUMS = [
    ("sum(amount) AS s", "cast(sum(__a0) AS decimal(22,2)) AS `s`"),
    ("sum(amount) / 2 AS s", "cast(sum(__a0) AS decimal(22,2)) / 2 AS `s`"),
    ("sum(amount) FILTER (WHERE id > 'a') AS s", "cast(sum(__a0) AS decimal(22,2)) AS `s`"),
    ("sum(length(id) * 2) / 3 AS s", "sum(__a0) / 3 AS `s`"),
    ("sum(if(amount > 1, 1.5D, 0)) AS s", None),
    ("sum(amount * 2) AS s", None),
    ("sum(length(id) * 1.5) AS s", None),
    ("sum(extract(SECOND FROM at)) AS s", None),
]


@pytest.mark.parametrize(("item", "above"), SUMS, ids=[item for item, _ in SUMS])
def test_a_sum_of_sums_is_of_the_type_of_the_sum(item: str, above: str | None) -> None:
    found = decide(f"SELECT card, {item}, count(DISTINCT id) AS n FROM pay GROUP BY card")
    assert found.strategy is (Strategy.GATHERED if above is None else Strategy.KEPT)
    assert above is None or (found.upper is not None and above in sql(found.upper))


@pytest.mark.parametrize(
    ("item", "below", "above"),
    [
        ("listagg(DISTINCT id, ',')", "id AS `__d0`", "listagg(DISTINCT __d0, ',')"),
        ("approx_percentile(DISTINCT length(id), 0.5)", "length(id) AS `__d0`", "approx_percentile(DISTINCT __d0, 0.5)"),
    ],
)
def test_constant_arguments_of_distinct_stay_constant(item: str, below: str, above: str) -> None:
    found = decide(f"SELECT card, {item} AS d FROM pay GROUP BY card")
    assert found.upper is not None
    assert below in sql(found.lower)
    assert "__d1" not in sql(found.lower)
    assert above in sql(found.upper)


def test_values_of_several_distinct_aggregates_are_counted_by_group_and_value() -> None:
    distinct = "count(DISTINCT id) AS i, count(DISTINCT amount, card) FILTER (WHERE id > 'a') AS c"
    found = decide(f"SELECT card, {distinct}, max(at) AS last, count(*) FILTER (WHERE amount > 3) AS n FROM pay GROUP BY card")
    assert found.strategy is Strategy.KEPT
    assert found.upper is not None
    assert "LATERAL VIEW explode(array(0, 1, 2)) __of AS __t" in sql(found.lower)
    assert "count(*) FILTER (WHERE __t = 0 AND coalesce(amount > 3, false))" in sql(found.lower)
    assert "count(__v1_0, __v1_1) FILTER (WHERE __n0 > 0) AS `c`" in sql(found.upper)
    assert found.moves.grows == {"__a0": "max", "__a1": "max", "__n0": "max"}


@pytest.mark.parametrize("item", ["count(DISTINCT *)", "count(DISTINCT pay.*)", "count(DISTINCT struct(id, *))", "count(DISTINCT 1)"])
def test_distinct_without_expressions_is_read_again(item: str) -> None:
    assert decide(f"SELECT card, {item} AS d FROM pay GROUP BY card").strategy in (Strategy.RECOMPUTE, Strategy.GATHERED)


def test_a_rank_by_a_distinct_count_keeps_the_count_below_it() -> None:
    found = decide("SELECT card, rank() OVER (ORDER BY count(DISTINCT id)) AS r FROM pay GROUP BY card")
    assert found.upper is not None
    assert "id AS `__d0`" in sql(found.lower)
    assert "GROUP BY card, id" in sql(found.lower)
    assert "count(__d0) AS `__a0`" in sql(found.upper)


LIMITED = "SELECT card, sum(amount) AS total FROM pay GROUP BY card HAVING {}"


@pytest.mark.parametrize(
    ("having", "above"),
    [
        ("sum(amount) > (SELECT max(length(country)) FROM cards WHERE cards.card = pay.card)", "__a0 > (SELECT max(length(country))"),
        ("total > (SELECT count(*) FROM cards c WHERE c.card = pay.card) + 1", "(__a0) > (SELECT count(*)"),
        ("pay.card IN (SELECT card FROM cards) AND max(id) > 'x'", "WHERE card IN (SELECT card"),
        ("EXISTS (SELECT 1 FROM cards c WHERE c.card = pay.card AND country = 'IT')", "WHERE EXISTS (SELECT 1"),
    ],
)
def test_having_with_a_subquery_is_a_filter_above_the_cut(having: str, above: str) -> None:
    found = decide(LIMITED.format(having))
    assert found.strategy is Strategy.KEPT
    assert found.keys == ("__k0",)
    assert found.upper is not None
    assert "SELECT" not in sql(found.lower).removeprefix("SELECT")
    assert above in sql(found.upper)
    assert "AS `pay`" in sql(found.upper)


def test_having_with_a_subquery_may_be_sorted_and_ranked_above() -> None:
    having = "sum(amount) > (SELECT max(length(country)) FROM cards WHERE cards.card = pay.card)"
    sorted_ = decide(LIMITED.format(having) + " ORDER BY max(id) LIMIT 3")
    assert sorted_.strategy is Strategy.KEPT
    assert "max(id) AS `__a1`" in sql(sorted_.lower)
    ranked = decide(f"SELECT card, rank() OVER (ORDER BY sum(amount)) AS r FROM pay GROUP BY card HAVING {having}")
    assert ranked.strategy is Strategy.KEPT


@pytest.mark.parametrize(
    "text",
    [
        "SELECT upper(card) AS u, count(*) AS n FROM pay GROUP BY upper(card) HAVING EXISTS (SELECT 1 FROM cards c WHERE c.card = upper(pay.card))",
        "SELECT pay.card, count(*) AS n FROM pay JOIN cards ON pay.card = cards.card GROUP BY pay.card "
        "HAVING EXISTS (SELECT 1 FROM cards c WHERE c.card = pay.card)",
        "SELECT card, count(*) FROM pay GROUP BY card HAVING EXISTS (SELECT 1 FROM cards c WHERE c.card = pay.card)",
        "SELECT card, count(*) AS n FROM pay GROUP BY ROLLUP (card) HAVING EXISTS (SELECT 1 FROM cards c WHERE c.card = pay.card)",
    ],
)
def test_having_that_speaks_of_more_than_plain_groups_is_read_again(text: str) -> None:
    assert decide(text).strategy in (Strategy.RECOMPUTE, Strategy.GATHERED)


def test_having_with_a_subquery_of_its_own_stays_a_flag_where_a_column_has_only_spark_s_name() -> None:
    assert decide("SELECT card, count(*) FROM pay GROUP BY card HAVING count(*) > (SELECT count(*) FROM cards)").strategy is Strategy.INCREMENTAL


def test_having_with_a_subquery_stays_where_it_is_on_close() -> None:
    text = "SELECT window, card, sum(amount) AS s FROM pay GROUP BY window(at, '1 hour'), card HAVING {}"
    found = decide(text.format("EXISTS (SELECT 1 FROM cards c WHERE c.card = pay.card)"), Emit.ON_CLOSE)
    assert found.strategy is Strategy.INCREMENTAL
    assert "HAVING EXISTS" in sql(found.lower)


@pytest.mark.parametrize(
    ("item", "above"),
    [
        ("amount + 1 > 5", "__g1 > 5 AS `x`"),
        ("amount + 1 + 2", "__g1 + 2 AS `x`"),
        ("abs(amount + 1) * 2", "abs(__g1) * 2 AS `x`"),
        ("CASE WHEN 5 < amount + 1 THEN 1 - (amount + 1) END", "CASE WHEN 5 < __g1 THEN 1 - (__g1) END AS `x`"),
        ("100 - amount + 1", "100 - __g0 + 1 AS `x`"),
        ("-amount + 1", "-__g0 + 1 AS `x`"),
        ("amount + 1 * 2", "__g0 + 1 * 2 AS `x`"),
        ("2 * amount + 1", "2 * __g0 + 1 AS `x`"),
    ],
)
def test_a_group_is_found_only_where_it_is_an_operand(item: str, above: str) -> None:
    split = decide(f"SELECT amount, amount + 1 AS more, {item} AS x, count(DISTINCT id) AS n FROM pay GROUP BY amount, amount + 1")
    ranked = decide(f"SELECT amount, amount + 1 AS more, {item} AS x, rank() OVER (ORDER BY count(*)) AS n FROM pay GROUP BY amount, amount + 1")
    for found in (split, ranked):
        assert found.upper is not None
        assert above in sql(found.upper)


@pytest.mark.parametrize(
    ("grouping", "repeats"),
    [
        ("card, ROLLUP (card, id)", True),
        ("card, ROLLUP (pay.card, id)", True),
        ("GROUPING SETS ((card), (id), (card))", True),
        ("GROUPING SETS ((card, id), (id, card))", True),
        ("GROUPING SETS (ROLLUP (card, id), (card))", True),
        ("ROLLUP (card), CUBE (card)", True),
        ("card, id GROUPING SETS ((card), (card))", True),
        ("card, ROLLUP (id, upper(card))", False),
        ("ROLLUP (card), CUBE (id, upper(card))", False),
        ("CUBE ((card, id), upper(card))", False),
        ("GROUPING SETS ((card, id), (card), ())", False),
        ("GROUPING SETS (ROLLUP (card, id), (id))", False),
        ("card, id GROUPING SETS ((card, id), (card))", False),
        ("card, id WITH CUBE", False),
    ],
)
def test_sets_that_are_repeated_give_rows_that_nothing_tells_apart(grouping: str, repeats: bool) -> None:
    found = decide(f"SELECT card, id, count(*) AS n FROM pay GROUP BY {grouping}")
    assert found.strategy is (Strategy.RECOMPUTE if repeats else Strategy.INCREMENTAL)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(at AS DATE) AS day, count(DISTINCT id) AS n FROM pay GROUP BY at::date",
        "SELECT CAST(at AS DATE) AS day, rank() OVER (ORDER BY count(*)) AS n FROM pay GROUP BY at::date",
        "SELECT 1 + amount AS more, count(DISTINCT id) AS n FROM pay GROUP BY amount + 1",
        "SELECT card AS at, CAST(at AS DATE) AS day, count(DISTINCT id) AS n FROM pay GROUP BY card, at::date",
        "SELECT card, count(DISTINCT id) AS n FROM pay GROUP BY card, at::date HAVING CAST(at AS DATE) > '2024-01-01'",
        "SELECT card AS c, upper(c) AS u, rank() OVER (ORDER BY count(*)) AS n FROM pay GROUP BY card HAVING u > 'A'",
        "SELECT card, (SELECT max(country) FROM cards c WHERE c.card = p.card) AS m, rank() OVER (ORDER BY count(*)) AS n FROM pay p GROUP BY card",
    ],
)
def test_nothing_above_a_split_aggregate_names_a_column_that_is_gone(text: str) -> None:
    assert decide(text).strategy in (Strategy.RECOMPUTE, Strategy.GATHERED)


def test_having_with_a_subquery_stays_a_flag_where_a_group_is_written_in_two_ways() -> None:
    having = "count(*) > (SELECT count(*) FROM cards) AND CAST(at AS DATE) > '2024-01-01'"
    found = decide(f"SELECT at::date AS day, count(*) AS n FROM pay GROUP BY at::date HAVING {having}")
    assert found.strategy is Strategy.INCREMENTAL


def test_names_given_earlier_in_the_list_may_be_used_above_a_split_aggregate() -> None:
    found = decide("SELECT card AS c, upper(c) AS u, count(DISTINCT id) AS n FROM pay GROUP BY card")
    assert found.upper is not None
    assert "SELECT __g0 AS `c`, upper(c) AS `u`" in sql(found.upper)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT amount, rank() OVER (ORDER BY amount) AS r FROM (SELECT a.amount, b.* FROM pay a JOIN refunds b ON a.id = b.id)",
        "SELECT n, rank() OVER (ORDER BY n) AS r FROM (SELECT card, card, count(*) AS n FROM pay GROUP BY card)",
        "SELECT n, rank() OVER (ORDER BY n) AS r FROM (SELECT DISTINCT id AS n, card, Card FROM pay)",
    ],
)
def test_rows_with_two_columns_of_one_name_are_not_kept(text: str) -> None:
    assert decide(text).strategy is Strategy.RECOMPUTE


def test_rows_of_a_join_with_names_of_their_own_are_kept() -> None:
    found = decide("SELECT amount, rank() OVER (ORDER BY amount) AS r FROM (SELECT a.*, b.at AS back FROM pay a JOIN refunds b ON a.id = b.id)")
    assert found.strategy is Strategy.KEPT


def test_a_star_in_group_by_all_is_read_again() -> None:
    assert decide("SELECT *, count(*) AS n FROM cards JOIN pay USING (card) GROUP BY ALL").strategy is Strategy.RECOMPUTE
    assert decide("SELECT pay.*, count(*) AS n FROM pay GROUP BY ALL").strategy is Strategy.RECOMPUTE
    assert decide("SELECT card, count(*) AS n FROM pay GROUP BY ALL").strategy is Strategy.INCREMENTAL


def test_what_is_kept_are_the_columns_that_are_needed_be_they_named_or_not() -> None:
    assert "named_struct('id', `id`)" in sql(decide("SELECT id, count(*) OVER (PARTITION BY id) AS n FROM pay").lower)
    assert "named_struct('id', `id`, 'card', `card`)" in sql(decide("SELECT id, card FROM pay EXCEPT SELECT id, card FROM refunds").lower)

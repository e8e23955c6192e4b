"""Window functions in FROM, as Flink's users write them: beside joins, grouped by ALL, and sessions that must stay Flink's."""

from __future__ import annotations

import pytest

from penstock.errors import PlanFault
from penstock.plan.cut.decide import Strategy, cut
from penstock.plan.model.declare import Declaration, Emit, Stream, Table, View
from penstock.plan.model.nodes import Aggregate
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select

DECLARED: dict[str, Declaration] = {
    "s": Stream("s", parse_columns("k STRING, ok BOOLEAN, x INT, at TIMESTAMP"), {}, "at", "10 seconds"),
    "t": Table("t", parse_columns("k STRING, name STRING, at TIMESTAMP"), {}),
}
TUMBLE = "TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '5' MINUTES)"
FLINK = "SELECT window_start, t.name, count(*) AS n FROM {} GROUP BY window_start, window_end, t.name"
SPARK = "SELECT window.start AS window_start, t.name, count(*) AS n FROM {} GROUP BY window({}at, '5 minutes'), t.name"


@pytest.mark.parametrize(
    ("source", "rows", "qualifier"),
    [
        (f"{TUMBLE} JOIN t USING (k)", "s JOIN t USING (k)", "s."),
        (f"TABLE({TUMBLE}) AS w LEFT JOIN t ON w.k = t.k", "s AS w LEFT JOIN t ON w.k = t.k", "w."),
        (f"{TUMBLE} AS `a w` CROSS JOIN t", "s AS `a w` CROSS JOIN t", "`a w`."),
        (f"t JOIN {TUMBLE} USING (k)", "t JOIN s USING (k)", "s."),
        (f"t RIGHT JOIN {TUMBLE} USING (k)", "t RIGHT JOIN s USING (k)", "s."),
        (f"{TUMBLE} w, t WHERE w.k = t.k AND x > 1", "s w, t WHERE w.k = t.k AND x > 1", "w."),
        (f"{TUMBLE} LATERAL VIEW explode(split(k, ' ')) t AS name", "s LATERAL VIEW explode(split(k, ' ')) t AS name", "s."),
    ],
)
def test_a_window_function_beside_joins_is_a_window_above_them(source: str, rows: str, qualifier: str) -> None:
    assert parse_select(FLINK.format(source)) == parse_select(SPARK.format(rows, qualifier))


@pytest.mark.parametrize(
    "source",
    [
        f"{TUMBLE} FULL JOIN t USING (k)",
        f"{TUMBLE} RIGHT JOIN t USING (k)",
        f"t LEFT JOIN {TUMBLE} USING (k)",
        f"{TUMBLE} w JOIN t ON w.window_start = t.at",
        f"{TUMBLE} JOIN t USING (window_start)",
        f"{TUMBLE} a JOIN {TUMBLE} t ON a.k = t.k",
    ],
)
def test_rows_without_a_time_and_joins_by_windows_keep_the_columns_of_the_function(source: str) -> None:
    plan = parse_select(FLINK.format(source))
    assert isinstance(plan, Aggregate)
    assert plan.groups == ("window_start", "window_end", "t.name")


def test_columns_of_the_window_s_names_in_other_relations_are_left_alone() -> None:
    plan = parse_select(f"SELECT window_start, max(t.window_end) AS m FROM {TUMBLE} w JOIN t USING (k) GROUP BY w.window_start, window_end")
    assert isinstance(plan, Aggregate)
    assert [item.text for item in plan.items] == ["window.start", "max(t.window_end)"]


def test_a_joined_window_closes() -> None:
    view = View("v", parse_select(FLINK.format(f"{TUMBLE} JOIN t USING (k)")), Emit.ON_CLOSE)
    found = cut(view, DECLARED)
    assert (found.strategy, found.watermarked) == (Strategy.INCREMENTAL, True)


def test_a_window_function_may_be_grouped_by_all() -> None:
    every = parse_select(f"SELECT window_start, hour(window_end) AS h, k, count(*) AS n FROM {TUMBLE} GROUP BY ALL")
    assert isinstance(every, Aggregate)
    assert (every.groups, every.grouping) == (("window(at, '5 minutes')", "k"), None)
    assert every.items[1].text == "hour(window.end)"


def test_by_all_only_spark_knows_the_groups_of_an_item_that_mixes() -> None:
    plan = parse_select(f"SELECT window_start, concat(k, count(*)) AS n FROM {TUMBLE} GROUP BY ALL")
    assert isinstance(plan, Aggregate)
    assert plan.grouping == "ALL"


def test_the_time_of_a_window_is_one_operand() -> None:
    plan = parse_select(f"SELECT window_time, max(at) - window_time AS d FROM {TUMBLE} GROUP BY window_start, window_time")
    assert isinstance(plan, Aggregate)
    instant = "window.end - INTERVAL '0.000001' SECOND"
    assert [item.text for item in plan.items] == [instant, f"max(at) - ({instant})"]


SESSION = "SELECT window_start, count(*) AS n FROM SESSION(TABLE s{}, DESCRIPTOR(at), INTERVAL '5' MINUTES) w GROUP BY window_start, window_end{}"


@pytest.mark.parametrize(
    ("partition", "groups", "hint"),
    [
        ("", ", k", "PARTITION BY k,"),
        (" PARTITION BY k", ", k, ok", "PARTITION BY k, ok,"),
        (" PARTITION BY k", ", upper(k), k", "take upper(k) out"),
    ],
)
def test_sessions_are_not_grouped_by_more_than_they_are_partitioned_by(partition: str, groups: str, hint: str) -> None:
    with pytest.raises(PlanFault, match="sessions of") as caught:
        parse_select(SESSION.format(partition, groups))
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("partition", "groups"), [("", ""), (" PARTITION BY k", ", w.k"), (" PARTITION BY k, ok", ", ok, k"), (" PARTITION BY (k, ok)", ", k, ok")]
)
def test_sessions_grouped_by_their_partition_are_spark_s(partition: str, groups: str) -> None:
    plan = parse_select(SESSION.format(partition, groups))
    assert isinstance(plan, Aggregate)
    assert plan.groups[0] == "session_window(at, '5 minutes')"


def test_a_session_cannot_be_grouped_above_a_join() -> None:
    text = "SELECT window_start, count(*) AS n FROM SESSION(TABLE s, DESCRIPTOR(at), INTERVAL '5' MINUTES) JOIN t USING (k) GROUP BY window_start"
    with pytest.raises(PlanFault, match="before the join") as caught:
        parse_select(text)
    assert "subquery" in str(caught.value.hint)

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.cut.closed import held_back_ms
from penstock.plan.cut.inline import meaning
from penstock.plan.cut.late import closed_at, judged
from penstock.plan.cut.origin import Untraceable, carried
from penstock.plan.load import load
from penstock.plan.model.nodes import names_read
from penstock.plan.model.text import sql

STREAMS = """
CREATE STREAM sales (id INT, item STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS) WITH (connector = 'files', path = 'a');
CREATE STREAM returns (sale INT, back TIMESTAMP, WATERMARK FOR back AS back - INTERVAL 10 SECONDS) WITH (connector = 'files', path = 'b');
CREATE TABLE items (item STRING, kind STRING) WITH (connector = 'files', path = 'c');
"""


def judged_sql(tmp_path: Path, query: str, *, on_close: bool = False) -> str:
    (tmp_path / "app.sql").write_text(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {query};", encoding="utf-8")
    declared = load(tmp_path)
    return sql(judged(meaning(declared.views["v"], declared.declarations), declared.streams, on_close=on_close).plan)


def test_a_window_takes_only_rows_that_came_before_it_closed(tmp_path: Path) -> None:
    text = judged_sql(tmp_path, "SELECT window, count(*) AS n FROM sales WHERE id > 0 GROUP BY window(at, '1 minute')")
    assert "`__traced_sales` AS `sales` LATERAL VIEW explode(filter(" in text
    assert "__w.end > (`__origin_sales`).mark" in text
    assert text.index("LATERAL VIEW") < text.index("WHERE id > 0") < text.index("GROUP BY window")


def test_the_origin_passes_through_projections_joins_and_unions(tmp_path: Path) -> None:
    text = judged_sql(
        tmp_path,
        "SELECT window.start AS since, kind, count(*) AS n FROM (SELECT at AS t, item FROM sales UNION ALL SELECT back, 'x' FROM returns) u"
        " JOIN items USING (item) GROUP BY window(u.t, '1 minute', '20 seconds'), kind",
    )
    assert text.count("AS `__origin_of_union`") == 2
    assert "(`__origin_of_union`).mark" in text


def test_a_window_over_another_time_drops_nothing(tmp_path: Path) -> None:
    query = "SELECT window, count(*) AS n FROM (SELECT at + INTERVAL 1 HOUR AS later FROM sales) GROUP BY window(later, '1 minute')"
    assert "__traced" not in judged_sql(tmp_path, query)


def test_a_window_above_a_join_of_streams_is_judged_only_where_spark_closes_it(tmp_path: Path) -> None:
    query = "SELECT window, count(*) AS n FROM sales s JOIN returns r ON s.id = r.sale GROUP BY window(s.at, '1 minute')"
    assert "__traced" not in judged_sql(tmp_path, query)
    assert "greatest(`__origin_sales`.mark, `__origin_returns`.mark)" in judged_sql(tmp_path, query, on_close=True)


def test_the_streams_of_a_join_are_judged_where_their_time_is_asked_for(tmp_path: Path) -> None:
    bounded = "SELECT s.id FROM sales s JOIN returns r ON s.id = r.sale AND r.back BETWEEN s.at AND s.at + INTERVAL 1 MINUTE"
    (tmp_path / "app.sql").write_text(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {bounded};", encoding="utf-8")
    declared = load(tmp_path)
    assert set(judged(declared.views["v"].query, declared.streams, on_close=False).joined) == {"sales", "returns"}


def test_the_watermark_of_the_checkpoint_closes_windows_not_that_of_the_history(tmp_path: Path) -> None:
    query = "SELECT window, count(*) AS n FROM sales GROUP BY window(at, '1 minute') EMIT ON WINDOW CLOSE"
    (tmp_path / "app.sql").write_text(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {query};", encoding="utf-8")
    declared = load(tmp_path)
    text = sql(closed_at(meaning(declared.views["v"], declared.declarations), declared.streams, 1234))
    assert "timestamp_millis(1234L)" in text
    assert "max(`at`)" not in text


def test_groups_carry_the_origins_of_their_rows_and_ranks_do_not(tmp_path: Path) -> None:
    (tmp_path / "app.sql").write_text(
        f"{STREAMS} CREATE MATERIALIZED VIEW n AS SELECT item, count(*) AS n FROM sales GROUP BY item;"
        "CREATE MATERIALIZED VIEW r AS SELECT id, row_number() OVER (ORDER BY at) AS place FROM sales;",
        encoding="utf-8",
    )
    declared = load(tmp_path)
    found = carried(declared.views["n"].query, declared.streams)
    assert names_read(found.plan) == ("__traced_sales",)
    assert "collect_list" in sql(found.plan)
    with pytest.raises(Untraceable):
        carried(declared.views["r"].query, declared.streams)


BOUNDS = [
    ("r.back BETWEEN s.at AND s.at + INTERVAL 1 MINUTE", 60_001),
    ("r.back > s.at AND r.back < s.at + INTERVAL '90' SECONDS", 90_000),
    ("r.back >= s.at AND r.back < s.at + INTERVAL '90' SECONDS", 90_000),
    ("r.back >= s.at - INTERVAL 5 SECONDS AND r.back <= s.at + interval '1 hour'", 3_600_001),
    ("(r.back > s.at AND (s.at + INTERVAL 2 MINUTES) > r.back)", 120_000),
    ("CAST(r.back AS TIMESTAMP) > s.at - INTERVAL 2 MINUTES", 120_000),
    ("s.item = 'tea'", 0),
    ("r.back > s.at + INTERVAL 1 MINUTE", 0),
    ("r.back < s.at + INTERVAL 1 HOUR 30 MINUTES", 5_400_000),
    ("r.back < s.at + INTERVAL '1' HOUR '30' MINUTES", 5_400_000),
    ("r.back < s.at + INTERVAL '1 hour 30 minutes'", 5_400_000),
    ("r.back < s.at + INTERVAL '01:30' HOUR TO MINUTE", 5_400_000),
    ("r.back < s.at + INTERVAL 1.5 SECONDS", 1_500),
    ("r.back < s.at + INTERVAL 1 HOUR + INTERVAL 30 MINUTES", 5_400_000),
    ("r.back < s.at + (INTERVAL 1 HOUR + INTERVAL 30 MINUTES)", 5_400_000),
    ("s.at > r.back - (INTERVAL 1 HOUR + INTERVAL 30 MINUTES)", 5_400_000),
    ("r.back - INTERVAL 30 MINUTES < s.at + INTERVAL 1 HOUR", 5_400_000),
    ("r.back < s.at + INTERVAL 1 HOUR - INTERVAL 30 MINUTES", 1_800_000),
    ("r.back < s.at + INTERVAL 1 HOUR - (INTERVAL 1 MINUTE - INTERVAL 31 MINUTES)", 5_400_000),
]


@pytest.mark.parametrize(("bound", "span"), BOUNDS, ids=[bound for bound, _ in BOUNDS])
def test_a_bounded_join_holds_the_watermark_back_by_its_longest_span(tmp_path: Path, bound: str, span: int) -> None:
    query = f"SELECT s.id FROM sales s JOIN returns r ON s.id = r.sale AND {bound}"
    (tmp_path / "app.sql").write_text(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {query};", encoding="utf-8")
    declared = load(tmp_path)
    assert held_back_ms(declared.views["v"].query, declared.streams) == span


@pytest.mark.parametrize(
    "bound",
    [
        "r.back < s.at + INTERVAL 1 MONTH",
        "r.back < s.at + INTERVAL s.id SECONDS",
        "r.back < s.at + make_interval(0, 0, 0, 0, 2)",
        "r.back < date_trunc('HOUR', s.at) + INTERVAL 1 HOUR",
        "r.back NOT BETWEEN s.at AND s.at + INTERVAL 1 HOUR",
        "(r.back < s.at + INTERVAL 1 HOUR OR s.item = 'tea')",
    ],
)
def test_a_bound_that_cannot_be_read_holds_nothing_back(tmp_path: Path, bound: str) -> None:
    joined = f"sales s JOIN returns r ON s.id = r.sale AND {bound}"
    query = f"SELECT window, count(*) AS n FROM {joined} GROUP BY window(s.at, '1 minute') EMIT ON WINDOW CLOSE"
    (tmp_path / "app.sql").write_text(f"{STREAMS} CREATE MATERIALIZED VIEW v AS {query};", encoding="utf-8")
    declared = load(tmp_path)
    text = sql(meaning(declared.views["v"], declared.declarations))
    assert "window.end <=" in text
    assert "greatest(timestampadd" not in text

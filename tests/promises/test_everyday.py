"""What people wrote on their first day with Penstock: each view live, over several files and a restart, equals the batch."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Row, Trial

STREAM = """
CREATE STREAM orders (id INT, item STRING, amount DECIMAL(10,2), ms BIGINT, at AS timestamp_millis(ms),
  WATERMARK FOR at AS at - INTERVAL 30 SECONDS
) WITH (connector = 'files', path = 'die bestellungen ü', format = 'json');
CREATE TABLE items (item STRING, kind STRING) WITH (connector = 'files', path = 'items.json', format = 'json');
"""
VIEWS = {
    "größe je art": "SELECT kind, sum(amount) AS total FROM orders JOIN items USING (item) GROUP BY kind",
    "only tables": "SELECT kind, count(*) AS n FROM items GROUP BY kind",
    "one": "SELECT 1 AS one, 'it''s' AS text",
    "above": "SELECT id, item FROM orders o WHERE amount > (SELECT avg(amount) FROM orders i WHERE i.item = o.item)",
    "each_pair": "SELECT o.id, p.kind FROM orders o, LATERAL (SELECT kind FROM items i WHERE i.item = o.item) p",
    "distinct_items": "SELECT count(DISTINCT item) FILTER (WHERE amount > 5) AS n, sum(amount) / count(*) AS mean FROM orders",
    "both": "SELECT item, sum(amount) * 2 AS twice, count(DISTINCT amount) AS prices FROM orders GROUP BY item",
    "windowed": "SELECT window.start AS w, count(*) AS n FROM orders GROUP BY window(at, '10 seconds')",
    "cubed": "SELECT item, id % 2 AS odd, sum(amount) AS total FROM orders GROUP BY item, id % 2 WITH CUBE",
    "named": "SELECT item AS amount, count(*) AS n FROM orders GROUP BY item",
}


@pytest.fixture
def odd_trial(tmp_path: Path, spark: SparkSession) -> Trial:
    """A folder with a space and a letter outside ASCII in its name."""
    folder = tmp_path / "my äpp"
    folder.mkdir()
    return Trial(folder, spark, {"batch_files_max": "1"})


def orders(first: int, count: int) -> list[Row]:
    start = datetime(2024, 5, 1, tzinfo=UTC)
    return [
        {"id": n, "item": "abc"[n % 3], "amount": n % 7 + 0.5, "ms": round((start + timedelta(seconds=3 * n)).timestamp() * 1000)}
        for n in range(first, first + count)
    ]


def bag(rows: list[Row]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def test_every_view_is_what_the_batch_gives(odd_trial: Trial) -> None:
    trial = odd_trial
    trial.write("items.json", "".join(json.dumps({"item": item, "kind": kind}) + "\n" for item, kind in (("a", "x"), ("b", "y"), ("d", "x"))))
    trial.write("app.sql", STREAM + "".join(f"CREATE MATERIALIZED VIEW `{name}` AS {text};\n" for name, text in VIEWS.items()))
    for part in range(2):
        trial.feed("die bestellungen ü", *orders(20 * part, 10))
        trial.feed("die bestellungen ü", *orders(20 * part + 10, 10), {"id": "wrong", "item": "a"})
        trial.drain()
    for name in VIEWS:
        live = trial.rows(name)
        assert live, name
        assert bag(live) == bag(trial.batch(name)), name
    assert len(trial.rows("orders__dead")) == 2
    (row,) = [row for row in trial.rows("windowed") if row["w"].startswith("2024-05-01T00:00:00")]
    assert row["n"] == 4


def test_a_view_over_tables_alone_is_computed_at_every_start(trial: Trial) -> None:
    table = "CREATE TABLE items (item STRING) WITH (connector = 'files', path = 'items.json', format = 'json');"
    trial.write("app.sql", f"{table} CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM items;")
    for wanted in (1, 2):
        trial.write("items.json", '{"item":"a"}\n' * wanted)
        trial.drain()
        assert trial.rows("counted") == [{"n": wanted}]
    trial.drain()
    assert trial.rows("counted") == [{"n": 2}]


def test_a_view_of_one_row_goes_to_postgres(trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str) -> None:
    place = ", ".join(f"{name} = '{value}'" for name, value in {**postgres, "database": database}.items() if value)
    trial.write(
        "app.sql",
        f"""
        CREATE STREAM orders (id INT) WITH (connector = 'files', path = 'orders', format = 'json');
        CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n, max(id) AS newest FROM orders;
        CREATE SINK copy FROM total WITH (connector = 'postgres', {place}, table = 'total');
    """,
    )
    for first in (0, 5):
        trial.feed("orders", *({"id": n} for n in range(first, first + 5)))
        trial.drain()
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT n, newest FROM total").fetchall() == [(10, 9)]

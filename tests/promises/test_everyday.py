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
from penstock.verify.run import verify

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
    folder, wrong = "die bestellungen ü", {"id": "wrong", "item": "a"}
    trial.feed(folder, *orders(0, 20), wrong)
    trial.drain()
    trial.feed(folder, *orders(20, 10))
    trial.feed(folder, *orders(30, 10), wrong)
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


def test_aliases_of_groups_brackets_and_maps_with_any_key_mean_the_same_live_and_in_batch(trial: Trial) -> None:
    """A group comes before an alias of its name in HAVING; `WHERE (b)` is a condition; a key with parts is JSON, bytes are base64."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM ev (k STRING, g INT, v INT, b BOOLEAN, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
          WITH (connector = 'files', path = 'ev', format = 'json');
        CREATE MATERIALIZED VIEW negated AS SELECT -g AS g, sum(v) AS m FROM ev GROUP BY g HAVING g > 1;
        CREATE MATERIALIZED VIEW flagged AS SELECT k, bool_or(b) AS n, rank() OVER (ORDER BY k) AS r FROM ev GROUP BY k HAVING n;
        CREATE MATERIALIZED VIEW quoted AS SELECT k AS `a``b`, count(*) AS n FROM ev GROUP BY k HAVING n > 1;
        CREATE MATERIALIZED VIEW rolled AS SELECT window.start AS since, k, count(*) AS n FROM ev GROUP BY window(at, '10 minutes'), ROLLUP (k);
        CREATE MATERIALIZED VIEW bracketed AS SELECT k FROM ev WHERE (b);
        CREATE MATERIALIZED VIEW maps AS SELECT k, map(cast(k AS BINARY), 1) AS bytes, map(struct(max(v) AS a, date'2024-05-01' AS d), 1) AS parts
          FROM ev GROUP BY k;
        CREATE MATERIALIZED VIEW above AS SELECT k, parts, map_keys(parts)[0].a AS a, map_keys(bytes)[0] AS bytes, map(array(1, 2), k) AS lists,
          rank() OVER (ORDER BY k) AS r FROM maps;
        """,
    )
    trial.feed("ev", {"k": "a", "g": 1, "v": 1, "b": True, "at": "2024-05-01T10:00:00Z"}, {"k": "b", "g": 2, "v": 2, "b": False})
    trial.drain()
    trial.feed("ev", {"k": "a", "g": 3, "v": 3, "b": True, "at": "2024-05-01T11:00:00Z"})
    trial.drain()
    assert sorted(trial.rows("negated"), key=str) == [{"g": -2, "m": 2}, {"g": -3, "m": 3}]
    assert trial.rows("flagged") == [{"k": "a", "n": True, "r": 1}]
    assert trial.rows("quoted") == [{"a`b": "a", "n": 2}]
    assert trial.rows("bracketed") == [{"k": "a"}, {"k": "a"}]
    first = next(row for row in trial.rows("above") if row["k"] == "a")
    assert first == {"k": "a", "parts": {'{"a":3,"d":"2024-05-01"}': 1}, "a": 3, "bytes": "YQ==", "lists": {"[1,2]": "a"}, "r": 1}
    for view in ("negated", "flagged", "quoted", "rolled", "bracketed", "maps", "above"):
        assert sorted(map(str, trial.batch(view))) == sorted(map(str, trial.rows(view)))
    with trial.engine() as engine:
        assert [verdict.as_json() for verdict in verify(engine, session=trial.session) if not verdict.equal] == []

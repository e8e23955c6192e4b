"""Shapes that Spark accepts and answers wrongly are right in Penstock, live and in batch (`plan/model/wrong_shapes.py`)."""

from __future__ import annotations

import pytest

from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Row, Trial

STREAM = """
CREATE STREAM sales (k STRING, amount INT, qty INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)
  WITH (connector = 'files', path = 'sales', format = 'json');
"""
SESSION = "FROM sales GROUP BY session_window(at, '10 minutes')"
VIEWS: dict[str, tuple[str, Row]] = {
    "several": (
        f"SELECT count(DISTINCT amount) AS a, count(DISTINCT qty) AS b, sum(DISTINCT qty) AS c {SESSION}",
        {"a": 2, "b": 2, "c": 3},
    ),
    "filtered": (f"SELECT count(DISTINCT amount) FILTER (WHERE qty < 3) AS a, count(*) AS n {SESSION}", {"a": 2, "n": 3}),
    "all_groups": (
        "SELECT k, session_window(at, '10 minutes') AS w, count(DISTINCT amount) AS a, count(DISTINCT qty) AS q FROM sales GROUP BY ALL",
        {"k": "x", "w": {"start": "2024-05-01T10:00:00Z", "end": "2024-05-01T10:26:00Z"}, "a": 2, "q": 2},
    ),
    "one": (f"SELECT count(DISTINCT amount) AS a {SESSION}", {"a": 2}),
    "pairs": (f"SELECT count(DISTINCT amount, qty) AS a, max(DISTINCT qty) AS m {SESSION}", {"a": 2, "m": 2}),
    "kept": (f"SELECT sum(amount) AS a {SESSION} HAVING count(DISTINCT amount) = 2 AND sum(DISTINCT qty) = 3", {"a": 16}),
    "of_key": (
        "SELECT upper(k) AS u, session_window.start AS b, session_window.end AS e, avg(DISTINCT amount) AS a, count(DISTINCT qty) AS q "
        "FROM sales GROUP BY upper(k), session_window(at, '10 minutes')",
        {"u": "X", "b": "2024-05-01T10:00:00Z", "e": "2024-05-01T10:26:00Z", "a": 5.5, "q": 2},
    ),
    "long": (f"SELECT count(*) AS n {SESSION} HAVING session_window.end > timestamp'2024-05-01 10:25:00'", {"n": 3}),
}
ROWS = [(5, 1, "10:00"), (6, 2, "10:08"), (5, 1, "10:16")]


def sale(amount: int, qty: int, at: str) -> Row:
    return {"k": "x", "amount": amount, "qty": qty, "at": f"2024-05-01T{at}:00Z"}


def test_every_shape_is_right_in_batch_and_live(trial: Trial) -> None:
    trial.write("app.sql", STREAM + "".join(f"CREATE MATERIALIZED VIEW {name} AS {text};\n" for name, (text, _) in VIEWS.items()))
    trial.feed("sales", sale(*ROWS[2]), sale(*ROWS[0]))
    trial.drain()
    trial.feed("sales", sale(*ROWS[1]))  # joins the two sessions
    trial.drain()
    assert {name: trial.batch(name) for name in VIEWS} == {name: [row] for name, (_, row) in VIEWS.items()}
    assert {name: trial.rows(name) for name in VIEWS} == {name: [row] for name, (_, row) in VIEWS.items()}


def test_a_session_that_closes_is_right_too(trial: Trial) -> None:
    trial.write("app.sql", f"{STREAM} CREATE MATERIALIZED VIEW v AS {VIEWS['several'][0]} EMIT ON WINDOW CLOSE;")
    trial.feed("sales", *(sale(*row) for row in ROWS))
    trial.feed("sales", sale(9, 9, "12:00"))
    trial.drain()
    assert trial.rows("v") == trial.batch("v") == [VIEWS["several"][1]]


@pytest.mark.parametrize("shown", ["window.start AS since", "window.end AS till", "window.start AS since, window.end AS till"])
def test_a_window_shown_by_its_borders_has_a_key_in_postgres(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str, shown: str
) -> None:
    place = ", ".join(f"{name} = '{value}'" for name, value in {**postgres, "database": database}.items() if value)
    trial.write(
        "app.sql",
        f"""{STREAM}
        CREATE MATERIALIZED VIEW minutes AS SELECT {shown}, k, sum(amount) AS total FROM sales GROUP BY window(at, '10 minutes'), k;
        CREATE SINK copy FROM minutes WITH (connector = 'postgres', {place}, table = 'minutes');
    """,
    )
    for row in ROWS:
        trial.feed("sales", sale(*row))
        trial.drain()
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT total FROM minutes ORDER BY 1").fetchall() == [(5,), (11,)]
        (index,) = connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'minutes'").fetchall()
    first = shown.split()[2].rstrip(",")
    assert "UNIQUE" in str(index[0])
    assert f"({first}, k)" in str(index[0])

"""Row patterns over real streams: live in several epochs, over a restart, in batch and in verify the same, in SQL and in Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from penstock.testing.trial import Row, Trial
from penstock.verify.run import verify

pytestmark = pytest.mark.timeout(600)
STREAM = """
CREATE STREAM payments (id INT, card STRING, amount DECIMAL(12,2), at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = 'payments', format = 'json');
"""
VIEWS = """
CREATE MATERIALIZED VIEW card_testing AS
  SELECT * FROM payments MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at
    MEASURES first(small.at) AS since, big.amount AS amount, count(small.*) AS tries, sum(small.amount) / 2 AS half
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (small{3,} big) WITHIN INTERVAL '10' MINUTE
    DEFINE small AS amount < 2, big AS amount > 500);
CREATE MATERIALIZED VIEW rising AS
  SELECT card, id, label, steps FROM payments MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at, id
    MEASURES classifier() AS label, final count(up.*) AS steps
    ALL ROWS PER MATCH
    PATTERN (strt up{2,})
    DEFINE up AS up.amount > prev(up.amount)) AS m WHERE label <> 'strt';
CREATE MATERIALIZED VIEW silent AS
  SELECT card, at FROM payments MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at
    MEASURES a.at AS at
    PATTERN (a NOT b) WITHIN INTERVAL '30' SECOND
    DEFINE a AS amount > 500, b AS amount < 100);
CREATE MATERIALIZED VIEW busiest AS SELECT card, count(*) AS n FROM card_testing GROUP BY card;
"""
PYTHON = """
import penstock as ps

app = ps.App("more")
payments = app.read("payments")
risky = ps.seq("small", "amount < 2").times(3).then("big", "amount > 500")
app.view("risky", payments.key_by("card").order_by("at", "id").pattern(risky, within="10 minutes", since="first(small.at)", amount="big.amount"))
app.view("quiet", payments.key_by("card").order_by("at").pattern(
    ps.seq("a", "amount > 500").then_not("b", "amount < 100"), within="30 seconds"))
app.view("expired", payments.key_by("card").order_by("at").pattern(
    ps.seq("big", "amount > 500").next_("small", "amount < 2"), within="20 seconds", timed_out=True))
"""


def payment(number: int, second: int, amount: float, card: str = "c") -> Row:
    return {"id": number, "card": card, "amount": amount, "at": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"}


def ordered(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in rows)


ROWS = [
    *(payment(number, 10 * number, amount) for number, amount in enumerate((1, 1.5, 0.5, 900, 1, 1, 3, 800, 1, 1, 1, 1, 600))),
    *(payment(100 + number, 5 + 10 * number, amount, "d") for number, amount in enumerate((5, 6, 7, 8, 2, 700, 20, 30))),
    payment(200, 300, 50, "e"),
]
ROWS.sort(key=lambda row: str(row["at"]))


def test_patterns_are_the_same_live_in_batch_and_in_verify(trial: Trial) -> None:
    trial.write("app.sql", STREAM + VIEWS)
    trial.write("more.py", PYTHON)
    for start in range(0, 16, 8):
        trial.feed("payments", *ROWS[start : start + 8])
    trial.having(batch_files_max="1").drain()
    trial.feed("payments", *ROWS[16:], payment(300, 1, 700))
    watched = trial.drain()
    with trial.engine() as engine:
        strategies = {view: engine.explain(view)[0].strategy for view in engine.declared.views}
        verdicts = list(verify(engine, session=trial.session))
    assert [verdict.equal for verdict in verdicts] == [True] * len(strategies), verdicts
    assert set(strategies.values()) <= {"incremental", "kept", "on view"}
    for view in ("card_testing", "rising", "silent", "risky", "quiet", "expired"):
        assert trial.batch(view), view
    assert sorted((row["tries"], float(row["amount"]), float(row["half"])) for row in trial.rows("card_testing")) == [
        (3, 900.0, 1.5),
        (4, 600.0, 2.0),
    ]
    assert sorted((row["card"], row["id"], row["label"], row["steps"]) for row in trial.rows("rising")) == [
        ("c", 6, "up", 2), ("c", 7, "up", 2), ("d", 101, "up", 3), ("d", 102, "up", 3), ("d", 103, "up", 3),
    ]  # fmt: skip
    assert [row["card"] for row in trial.rows("silent")] == [row["card"] for row in trial.rows("quiet")] == ["c"]
    assert sorted(float(row["amount"]) for row in trial.rows("risky")) == [600.0, 900.0]
    assert [row["match_start"] for row in trial.rows("expired")] == ["2026-01-01T00:02:00Z"]
    assert watched.last["card_testing"].late == 1
    assert trial.rows("busiest") == [{"card": "c", "n": 2}]


def test_a_driver_killed_in_the_middle_of_a_pattern_loses_and_doubles_nothing(trial: Trial) -> None:
    trial.write("app.sql", STREAM + VIEWS)
    for start in range(0, len(ROWS), 3):
        trial.feed("payments", *ROWS[start : start + 3])
    command = [sys.executable, "-m", "penstock", "run", str(trial.folder), "--drain", "--set", "batch_files_max=1", "--set", "fast_start=true"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(command, env={**environment, "PENSTOCK_KILL_AT": "store.after-commit:4"}, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    trial.drain()
    with trial.engine() as engine:
        verdicts = list(verify(engine, session=trial.session))
    assert all(verdict.equal for verdict in verdicts), verdicts
    assert len(trial.rows("card_testing")) == 2

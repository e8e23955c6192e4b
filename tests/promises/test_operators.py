"""Python functions of the app in its views: the same rows live, in batch and in verify; an error names the user's line and costs one row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import AppFault
from penstock.testing.cluster import StandaloneCluster
from penstock.testing.trial import Row, Trial
from penstock.verify.run import verify

pytestmark = pytest.mark.timeout(600)
STREAM = """
CREATE STREAM payments (id INT, card STRING, amount DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = 'payments', format = 'json');
"""
SCORING = """
import pyarrow as pa
import pyarrow.compute as pc
import pandas as pd
import penstock as ps

import rates


def score(batch):
    if pc.any(pc.equal(batch["amount"], 666.0)).as_py():
        raise ValueError("the devil's amount")
    return pa.RecordBatch.from_arrays([batch["card"], pc.multiply(batch["amount"], rates.FACTOR), batch["at"]], names=["card", "score", "at"])


@ps.function("DOUBLE")
def risk(amount, card):
    if amount == 666.0:
        raise ValueError(f"the devil's amount of {card}")
    return None if amount is None else amount * (2 if card is None else 1)


@ps.function("DOUBLE", vectorized=True)
def doubled(amount):
    return pc.multiply(amount, 2)


@ps.function("STRING", vectorized=True)
def shouted(card: pd.Series) -> pd.Series:
    return card.str.upper()
"""
RATES = "FACTOR = 10.0\n"
OPERATOR = "map_batches(payments, 'scoring:score', 'returns card STRING, score DOUBLE, at TIMESTAMP')"
VIEWS = f"""
CREATE FUNCTION tripled AS 'more:tripled' RETURNS DOUBLE;
CREATE MATERIALIZED VIEW scored AS SELECT * FROM {OPERATOR};
CREATE MATERIALIZED VIEW totals AS SELECT card, sum(score) AS total, count(*) AS n FROM {OPERATOR} AS s WHERE s.score > 5 GROUP BY card;
CREATE MATERIALIZED VIEW closed AS SELECT window.start AS since, sum(score) AS total FROM {OPERATOR} GROUP BY window(at, '1 minute')
EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW ranked AS SELECT card, score FROM {OPERATOR} ORDER BY score DESC LIMIT 2;
CREATE MATERIALIZED VIEW above AS SELECT * FROM map_batches((SELECT card, sum(amount) AS amount, max(at) AS at FROM payments GROUP BY card),
  'scoring:score', 'card STRING, score DOUBLE, at TIMESTAMP');
CREATE MATERIALIZED VIEW risks AS SELECT id, risk(amount, card) AS risk, doubled(amount) AS twice, shouted(card) AS card, tripled(amount) AS three
FROM payments WHERE risk(amount, card) IS NULL OR risk(amount, card) > 0;
CREATE MATERIALIZED VIEW by_risk AS SELECT risk(amount, 'x') > 15 AS high, sum(doubled(amount)) AS total FROM payments WHERE amount < 600
GROUP BY risk(amount, 'x') > 15;
"""
MORE = "def tripled(amount):\n    return None if amount is None else amount * 3\n"


def payment(number: int, amount: float | None, second: int, card: str | None = None) -> Row:
    return {"id": number, "card": card or f"c{number % 3}", "amount": amount, "at": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"}


@pytest.fixture
def app(trial: Trial) -> Trial:
    trial.write("app.sql", STREAM + VIEWS)
    trial.write("scoring.py", SCORING)
    trial.write("rates.py", RATES)
    trial.write("more.py", MORE)
    return trial


def ordered(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def first_half(trial: Trial) -> None:
    for number in range(4):
        trial.feed("payments", *(payment(number * 10 + each, float(each) + number, number * 20 + each) for each in range(10)))


def second_half(trial: Trial) -> None:
    trial.feed("payments", *(payment(100 + each, 20.0 + each, 130 + each) for each in range(10)), payment(110, None, 140))


def test_functions_and_operators_give_the_same_live_in_batch_and_in_verify(app: Trial) -> None:
    """In several epochs, over a restart, below and above what Spark keeps."""
    first_half(app)
    app.having(batch_files_max="1").drain()
    second_half(app)
    app.drain()
    with app.engine() as engine:
        strategies = {view: engine.explain(view)[0].strategy for view in engine.declared.views}
        assert [verdict.equal for verdict in verify(engine, session=app.session)] == [True] * len(strategies), verify(engine)
    assert strategies["scored"] == strategies["risks"] == "stateless"
    assert strategies["totals"] == strategies["closed"] == strategies["by_risk"] == "incremental"
    for view in strategies:
        assert ordered(app.rows(view)) == ordered(app.batch(view)), view
    scored = app.rows("scored")
    assert len(scored) == 51
    assert sum(row["score"] for row in scored if row["score"] is not None) == pytest.approx(10 * (sum(range(10)) * 4 + 60 + sum(range(20, 30))))
    risks = {row["id"]: row for row in app.rows("risks")}
    assert risks[100] == {"id": 100, "risk": 20.0, "twice": 40.0, "card": "C1", "three": 60.0}
    assert risks[110]["risk"] is None
    assert app.rows("closed")
    assert {row["high"] for row in app.rows("by_risk")} == {True, False}


def test_a_row_for_which_a_function_raises_is_a_dead_letter_and_the_others_go_on(app: Trial) -> None:
    scored = f"CREATE MATERIALIZED VIEW scored AS SELECT * FROM {OPERATOR};"
    app.write("app.sql", f"{STREAM}{scored} CREATE MATERIALIZED VIEW risks AS SELECT id, risk(amount, card) FROM payments;")
    app.feed("payments", *(payment(each, 666.0 if each in (3, 8) else 1.0, each) for each in range(20)))
    watched = app.drain()
    assert {row["card"] for row in app.rows("scored")} == {"c0", "c1", "c2"}
    assert (len(app.rows("scored")), len(app.rows("risks"))) == (18, 18)
    dead = app.rows("payments__dead")
    assert len(dead) == 4
    of_operator = [letter for letter in dead if letter["position"]["function"] == "scoring:score"]
    assert {json.loads(letter["raw"])["id"] for letter in of_operator} == {3, 8}
    assert {letter["reason"] for letter in of_operator} == {"scoring:score raised ValueError: the devil's amount"}
    assert {letter["position"]["line"] for letter in of_operator} == {12}
    of_function = [json.loads(letter["raw"]) for letter in dead if letter["position"]["function"] == "scoring:risk"]
    assert of_function[0] == {"amount": 666.0, "card": "c0"}
    assert sum(progress.dead for progress in watched.last.values()) == 4
    app.feed("payments", payment(30, 666.0, 30))
    app.drain()
    assert len(app.rows("payments__dead")) == 6
    assert ordered(app.rows("risks")) == ordered(app.batch("risks"))
    with app.engine() as engine:
        assert all(verdict.equal for verdict in verify(engine, session=app.session))


@pytest.mark.parametrize(
    ("view", "line"),
    [
        (f"CREATE MATERIALIZED VIEW v WITH (on_error = 'stop') AS SELECT * FROM {OPERATOR}", 12),
        ("CREATE MATERIALIZED VIEW v WITH (on_error = 'stop') AS SELECT risk(amount, card) AS r FROM payments", 19),
        ("CREATE MATERIALIZED VIEW v AS SELECT card, sum(risk(amount, card)) AS r FROM payments GROUP BY card", 19),
    ],
)
def test_an_error_that_stops_a_view_names_file_line_and_row(app: Trial, view: str, line: int) -> None:
    app.write("app.sql", f"{STREAM}{view};")
    app.feed("payments", payment(1, 1.0, 1), payment(2, 666.0, 2))
    with pytest.raises(AppFault) as caught:
        app.batch("v")
    for error in (app.fail(AppFault)[0], caught.value):
        assert error.where is not None
        assert (Path(error.where.file).name, error.where.line) == ("scoring.py", line)
        assert "ValueError: the devil's amount" in error.message
        assert '"amount": 666.0' in error.message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return batch", "returned the columns id, card, amount, at, but declares card, score"),
        ("return batch.to_pylist()", "returned list, and not a pyarrow.RecordBatch or Table"),
        ("return batch.select(['card', 'amount']).rename_columns(['card', 'score'])", ""),
        ("return batch.select(['card', 'card']).rename_columns(['card', 'score'])", "in `score` string, but declares double"),
    ],
)
def test_what_a_function_returns_is_held_to_what_it_declares(trial: Trial, body: str, message: str) -> None:
    trial.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW v AS SELECT * FROM map_batches(payments, 'own:f', 'card STRING, score DOUBLE');")
    trial.write("own.py", f"def f(batch):\n    {body}\n")
    trial.feed("payments", payment(1, 1.5, 1))
    if not message:
        assert trial.batch("v") == [{"card": "c1", "score": 1.5}]
        return
    with pytest.raises(AppFault, match=message):
        trial.batch("v")


def test_a_view_starts_over_when_its_function_changes(app: Trial) -> None:
    """What was computed by the old function would stand beside what the new one gives, and `verify` would tell them apart."""
    app.write("app.sql", STREAM + "CREATE MATERIALIZED VIEW risks AS SELECT id, risk(amount, card) AS risk FROM payments;")
    first_half(app)
    app.drain()
    app.write("scoring.py", "# a comment changes nothing\n" + SCORING)
    app.drain()
    app.write("scoring.py", SCORING.replace("else amount * (2", "else 7 * amount * (2"))
    app.drain()
    assert ordered(app.rows("risks")) == ordered(app.batch("risks"))
    assert {row["id"]: row["risk"] for row in app.rows("risks")}[35] == 7 * 8.0


# Programs of their own, since a process has one Spark session.
ON_CLUSTER = """
import json, sys
from pathlib import Path
from penstock.observe.request import RunRequest
from penstock.settings import load
from penstock.spark.session.session import open_session, stop_session
from penstock.wiring import open_app

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
spark = open_session(load(overrides=settings), folder / "spark", app_name="cluster", needs_kafka=False)
engine = open_app(folder / "app", overrides=settings, session=spark)
engine.run(RunRequest(drain=True))
found = {view: [list(engine.peek(view, None).lines), list(engine.batch(view).lines)] for view in engine.declared.views}
found["dead"] = list(engine.peek("payments__dead", None).lines)
engine.close()
stop_session()
print(json.dumps(found))
"""
LAZY = """

def score_late(batch):
    import late_rates

    return batch.append_column("late", pa.array([late_rates.FACTOR] * batch.num_rows)).select(["id", "late"])
"""


def test_functions_travel_to_the_executors_of_a_cluster(cluster: StandaloneCluster, tmp_path: Path) -> None:
    """With what their files import, also when they do so as late as they run."""
    folder = tmp_path / "app"
    folder.mkdir()
    views = VIEWS + "CREATE MATERIALIZED VIEW late AS SELECT * FROM map_batches(payments, 'scoring:score_late', 'id INT, late DOUBLE');"
    files = {"app.sql": STREAM + views, "scoring.py": SCORING + LAZY, "rates.py": RATES, "more.py": MORE, "_hidden.py": "", "late_rates.py": RATES}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "payments").mkdir()
    rows = [payment(each, 666.0 if each == 7 else float(each), each) for each in range(40)]
    for part in (rows[:20], rows[20:]):
        (folder / "payments" / f"{part[0]['id']}.json").write_text("".join(f"{json.dumps(row)}\n" for row in part), encoding="utf-8")
    settings = {"driver_memory": "1g", "executor_memory": "700m", "shuffle_partitions": "2", "fast_start": "true", "master": cluster.master}
    done = _program(ON_CLUSTER, str(tmp_path), json.dumps(settings))
    dead = done.pop("dead")
    for view, (live, batch) in done.items():
        assert sorted(live) == sorted(batch), view
    assert (len(done["scored"][0]), len(done["risks"][0])) == (39, 38)  # the amount 0 is no risk
    assert len(done["late"][0]) == 40
    assert {json.loads(line)["late"] for line in done["late"][0]} == {10.0}
    assert {"scoring:score", "scoring:risk"} <= {json.loads(line)["position"]["function"] for line in dead}


DECLARED_HERE = """
import json, sys
import penstock as ps

app = ps.App("here", folder=sys.argv[1], settings={"fast_start": True})
payments = app.stream("payments", ps.Files("payments", format="json"), "id INT, amount DOUBLE")

def scaled(batch):
    return batch.set_column(1, "amount", [factor(value.as_py()) for value in batch["amount"]])

def factor(value):
    return value * 10

@ps.function("DOUBLE")
def halved(amount):
    return amount / 2

app.view("both", payments.map_batches(scaled, returns="id INT, amount DOUBLE").select("id", "amount", half="halved(amount)"))
print(json.dumps(app.batch("both").to_dicts()))
app.close()
"""


@pytest.mark.parametrize("as_script", [True, False])
def test_functions_of_the_script_that_declares_the_app_are_called(tmp_path: Path, as_script: bool) -> None:
    """A script has a file, what stands in for a notebook has none."""
    (tmp_path / "payments").mkdir()
    (tmp_path / "payments" / "0.json").write_text('{"id": 1, "amount": 3.0}', encoding="utf-8")
    (tmp_path / "script.py").write_text(DECLARED_HERE, encoding="utf-8")
    given = [str(tmp_path / "script.py")] if as_script else ["-c", DECLARED_HERE]
    assert _run(*given, str(tmp_path)) == [{"id": 1, "amount": 30.0, "half": 15.0}]


def test_a_driver_that_is_killed_loses_and_doubles_nothing(app: Trial) -> None:
    """Killed when the store has an epoch and Spark's commit log has not: the epoch runs again, and its dead letters are the same ones."""
    for number in range(3):
        app.feed("payments", *(payment(number * 10 + each, 666.0 if each == 4 else 1.0, number * 10 + each) for each in range(10)))
    command = [sys.executable, "-m", "penstock", "run", str(app.folder), "--drain", "--set", "batch_files_max=1", "--set", "fast_start=true"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(command, env={**environment, "PENSTOCK_KILL_AT": "store.after-commit:4"}, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    app.drain()
    assert len(app.rows("scored")) == 27
    assert len([row for row in app.rows("payments__dead") if row["position"]["view"] == "scored"]) == 3
    for view in ("scored", "totals", "risks"):
        assert ordered(app.rows(view)) == ordered(app.batch(view)), view


def _program(text: str, *arguments: str) -> Any:
    return _run("-c", text, *arguments)


def _run(*arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-W", "error", *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)

"""Functions with state by key: live in several epochs, in batch and in verify the same, and what a plain loop over the rows gives."""

from __future__ import annotations

import json
import os
import random
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
from datetime import timedelta

import pandas as pd
import penstock as ps


def update(row, state):
    if row["amount"] == 666.0:
        raise ValueError("the devil's amount")
    seen = state or {"n": 0, "total": 0.0}
    seen = {"n": seen["n"] + 1, "total": seen["total"] + row["amount"]}
    return [{"id": row["id"], "card": row["card"], "n": seen["n"], "total": seen["total"]}], seen


def totals(rows: pd.DataFrame, state: pd.DataFrame):
    before = state.set_index("card")["total"].reindex(rows["card"]).fillna(0.0).to_numpy()
    out = pd.DataFrame({"id": rows["id"], "total": rows.groupby("card")["amount"].cumsum() + before})
    return out, rows[["card"]].assign(total=out["total"]).drop_duplicates("card", keep="last")


class Quiet(ps.ProcessFunction):
    def process(self, row, ctx):
        count, last = ctx.value("count", 0), ctx.value("timer")
        count.set(count.get() + 1)
        if last.get() is not None:
            ctx.delete_timer(last.get())
        last.set(ctx.time + timedelta(seconds=20))
        ctx.timer(last.get())
        ctx.side("large", {"id": row["id"], "amount": row["amount"]}) if row["amount"] > 7 else None

    def on_timer(self, ctx):
        n = ctx.value("count").get()
        ctx.value("count").clear()
        return {"card": ctx.key["card"], "n": n, "since": ctx.time}
"""
KEYED = """map_with_state(payments PARTITION BY card ORDER BY at, 'scoring:update', 'returns id INT, card STRING, n INT, total DOUBLE',
  'state n INT, total DOUBLE')"""
VIEWS = f"""
CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED};
CREATE MATERIALIZED VIEW best AS SELECT card, max(total) AS total FROM {KEYED} AS s WHERE n > 1 GROUP BY card;
CREATE MATERIALIZED VIEW top AS SELECT card, total FROM scored ORDER BY total DESC LIMIT 3;
"""
MORE = """
import penstock as ps
from scoring import Quiet, totals

app = ps.App("more")
payments = app.read("payments")
app.view("summed", payments.where("amount < 600").key_by("card").map_with_state(
    totals, state="total DOUBLE", returns="id INT, total DOUBLE", vectorized=True))
app.view("quiet", payments.key_by("card").order_by("at", "id").map_with_state(Quiet, returns="card STRING, n INT, since TIMESTAMP"))
app.view("large", payments.key_by("card").order_by("at").map_with_state(Quiet, returns="id INT, amount DOUBLE", output="large"))


def seen(row, state):
    return {"card": row["card"], "first": state is None}, (row["id"], {"any": "value"})


app.view("fresh", payments.key_by("card").map_with_state(seen, returns="card STRING, first BOOLEAN", ttl="15 seconds").where("first"))
"""


def payment(number: int, second: int, amount: float = 1.0, card: str | None = None) -> Row:
    at = f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"
    return {"id": number, "card": card or f"c{number % 5}", "amount": amount, "at": at}


def ordered(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def shuffled(count: int, seed: int) -> list[Row]:
    """Rows that come out of order, but never later than the watermark allows."""
    chance = random.Random(seed)
    rows = [payment(number, number // 2, float(chance.randint(1, 9)), f"c{chance.randint(0, 9)}") for number in range(count)]
    return sorted(rows, key=lambda row: row["at"][:18] + str(chance.random()))


def oracle(rows: list[Row], upto: str) -> list[Row]:
    """The function in a plain loop over the rows up to the watermark."""
    names: dict[str, Any] = {}
    exec(SCORING, names)
    states: dict[str, Any] = {}
    found = list[Row]()
    for row in sorted(rows, key=lambda row: (row["at"], row["id"])):
        if row["at"] <= upto and row["amount"] != 666.0:
            made, states[row["card"]] = names["update"](row, states.get(row["card"]))
            found += made
    return found


@pytest.fixture
def app(trial: Trial) -> Trial:
    trial.write("app.sql", STREAM + VIEWS)
    trial.write("scoring.py", SCORING)
    return trial


def test_every_form_gives_the_same_live_in_batch_and_in_verify(app: Trial) -> None:
    """In several epochs, over a restart, with rows out of order and one that is late; below and above what Spark keeps."""
    app.write("more.py", MORE)
    rows = shuffled(200, 1)
    for start in range(0, 160, 40):
        app.feed("payments", *rows[start : start + 40])
    app.having(batch_files_max="1").drain()
    app.feed("payments", *rows[160:], payment(1000, 3, card="c1"))
    watched = app.drain()
    with app.engine() as engine:
        strategies = {view: engine.explain(view)[0].strategy for view in engine.declared.views}
        verdicts = list(verify(engine, session=app.session))
        assert [verdict.equal for verdict in verdicts] == [True] * len(strategies), verdicts
    incremental = dict.fromkeys(("scored", "summed", "quiet", "large", "fresh"), "incremental")
    assert strategies == incremental | {"best": "kept", "top": "on view"}
    assert watched.last["scored"].late == 1
    assert {verdict.view: verdict.late for verdict in verdicts}["scored"] == 1
    expected = oracle(rows, "2026-01-01T00:01:29Z")
    assert len(expected) == 180
    assert ordered(app.rows("scored")) == ordered(expected)
    assert ordered(app.rows("summed")) == ordered([{"id": row["id"], "total": row["total"]} for row in expected])
    assert {row["card"]: row["total"] for row in app.rows("best")} == {row["card"]: row["total"] for row in expected}
    assert len(app.rows("top")) == 3
    passed = [row for row in rows if row["at"] <= "2026-01-01T00:01:29Z"]
    assert ordered(app.rows("large")) == ordered([{"id": row["id"], "amount": row["amount"]} for row in passed if row["amount"] > 7])
    assert len(app.rows("fresh")) >= 10
    assert all(row["n"] >= 1 for row in app.rows("quiet"))


def test_a_row_that_raises_is_set_aside_or_stops_the_view(app: Trial) -> None:
    app.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED};")
    rows = [payment(each, each, 666.0 if each in (3, 8) else 1.0) for each in range(30)]
    app.feed("payments", *rows)
    watched = app.drain()
    assert ordered(app.rows("scored")) == ordered(oracle(rows, "2026-01-01T00:00:19Z")) == ordered(app.batch("scored"))
    dead = app.rows("payments__dead")
    assert {json.loads(letter["raw"])["id"] for letter in dead} == {3, 8}
    assert {(letter["reason"], letter["position"]["line"]) for letter in dead} == {("scoring:update raised ValueError: the devil's amount", 10)}
    assert watched.last["scored"].dead == 2
    app.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW v WITH (on_error = 'stop') AS SELECT * FROM {KEYED};")
    error = app.fail(AppFault)[0]
    assert error.where is not None
    assert (Path(error.where.file).name, error.where.line) == ("scoring.py", 10)
    app.write("scoring.py", "def update(row, state):\n    return {'id': 1}, None\n")
    assert "a row with id, but declares id, card, n, total" in str(app.fail(AppFault)[0])


def test_a_view_starts_over_when_its_function_or_its_state_changes(app: Trial) -> None:
    app.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED};")
    app.feed("payments", *shuffled(60, 3))
    app.having(keyed_buckets="3").drain()
    before = app.rows("scored")
    app.write("scoring.py", SCORING.replace('["total"] + row["amount"]', '["total"] + 2 * row["amount"]'))
    app.drain()
    assert sum(row["total"] for row in app.rows("scored")) == 2 * sum(row["total"] for row in before)
    app.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED.replace('state n INT', 'state n BIGINT')};")
    app.feed("payments", *(payment(200 + each, 100 + each) for each in range(20)))
    app.having(keyed_buckets="5").drain()
    assert ordered(app.rows("scored")) == ordered(app.batch("scored"))
    assert len(app.rows("scored")) == 70


def test_a_driver_that_is_killed_loses_and_doubles_nothing(app: Trial) -> None:
    """Killed when the store has an epoch and Spark's state has not: the epoch runs again, from the state before it."""
    app.write("app.sql", f"{STREAM}CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED};")
    rows = shuffled(120, 5)
    for start in range(0, 120, 30):
        app.feed("payments", *rows[start : start + 30])
    command = [sys.executable, "-m", "penstock", "run", str(app.folder), "--drain", "--set", "batch_files_max=1", "--set", "fast_start=true"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(command, env={**environment, "PENSTOCK_KILL_AT": "store.after-commit:3"}, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    app.drain()
    assert ordered(app.rows("scored")) == ordered(oracle(rows, "2026-01-01T00:00:49Z"))
    with app.engine() as engine:
        assert all(verdict.equal for verdict in verify(engine, session=app.session))


# A program of its own, since a process has one Spark session.
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
engine.close()
stop_session()
print(json.dumps(found))
"""


def test_state_by_key_is_kept_on_a_cluster(cluster: StandaloneCluster, tmp_path: Path) -> None:
    (tmp_path / "app" / "payments").mkdir(parents=True)
    quiet = "map_with_state(payments PARTITION BY card ORDER BY at, 'scoring:Quiet', 'returns card STRING, n INT, since TIMESTAMP')"
    views = f"CREATE MATERIALIZED VIEW scored AS SELECT * FROM {KEYED}; CREATE MATERIALIZED VIEW quiet AS SELECT * FROM {quiet};"
    for name, text in {"app.sql": STREAM + views, "scoring.py": SCORING}.items():
        (tmp_path / "app" / name).write_text(text, encoding="utf-8")
    rows = shuffled(160, 7)
    for part in (rows[:80], rows[80:]):
        (tmp_path / "app" / "payments" / f"{part[0]['id']}.json").write_text("".join(f"{json.dumps(row)}\n" for row in part), encoding="utf-8")
    settings = {"driver_memory": "1g", "executor_memory": "700m", "shuffle_partitions": "2", "fast_start": "true", "master": cluster.master}
    command = [sys.executable, "-W", "error", "-c", ON_CLUSTER, str(tmp_path), json.dumps({**settings, "batch_files_max": "1"})]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for view, (live, batch) in json.loads(done.stdout).items():
        assert sorted(live) == sorted(batch), view
        assert live
    assert len(json.loads(done.stdout)["scored"][0]) == len(oracle(rows, "2026-01-01T00:01:09Z"))

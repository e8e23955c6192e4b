"""How jobs run: restarted when they fail, stopped in order, continued where they were, rebuilt when they changed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from penstock.catalog import Catalog
from penstock.dev.broker import free_port
from penstock.errors import EngineError, SinkError, SourceError, StateError, TypeFault
from penstock.spark.checkpoint.offset_log import last_epoch, read_epoch
from penstock.testing.trial import Trial
from penstock.verify.run import verify

SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"
# Each attempt loads the file again, so what a callback remembers stands in a file of its own.
BELL = """
import json, time
from pathlib import Path

here = Path(__file__).parent

def note(name, entry):
    with (here / name).open("a") as file:
        file.write(json.dumps(entry) + "\\n")

def noted(name):
    path = here / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

def flaky(changes, epoch):
    note("calls", time.monotonic())
    if len(noted("calls")) <= 2:
        raise ConnectionError("the bell is broken")
    note("rung", [change["row"] for change in changes])

def broken(changes, epoch):
    raise ConnectionError("the bell is gone")

def slow(changes, epoch):
    note("started", epoch)
    time.sleep(1.5)
    note("rung", [change["row"] for change in changes])
"""


def ring(function: str, view: str = "copy") -> str:
    return f"CREATE SINK bell FROM {view} WITH (connector = 'callback', callback = 'bell:{function}');"


def noted(trial: Trial, name: str) -> list[object]:
    path = trial.folder / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def app(trial: Trial, *statements: str) -> None:
    trial.write("app.sql", "\n".join([SALES, *statements]))
    trial.write("bell.py", BELL)
    (trial.folder / "sales").mkdir(exist_ok=True)


def sold(trial: Trial, *pairs: tuple[str, int]) -> None:
    trial.feed("sales", *({"item": item, "amount": amount} for item, amount in pairs))


def totals(trial: Trial) -> dict[str, int]:
    return {row["item"]: row["total"] for row in trial.rows("totals")}


def checkpoint(trial: Trial, job: str) -> Path:
    found = Catalog(trial.state).current(job)
    assert found is not None
    return found[1]


def generation(trial: Trial, job: str) -> str:
    found = Catalog(trial.state).current(job)
    assert found is not None
    return found[0]


def test_a_job_whose_callback_fails_is_restarted_with_growing_waits_and_says_why_while_the_others_finish(trial: Trial) -> None:
    """Twice the function raises, the third call works: the changes come once, and the other job never noticed."""
    app(trial, COPY, TOTALS, ring("flaky"))
    sold(trial, ("tea", 2), ("milk", 1))
    seen = trial.having(restart_backoff_s="0.4").drain(restarts=2)
    assert (seen.last["copy"].status, seen.last["copy"].restarts, seen.last["copy"].rows) == ("done", 2, 2)
    assert "the bell is broken" in seen.details("copy", "restarting")[0]
    assert (seen.last["totals"].status, seen.last["totals"].restarts) == ("done", 0)
    first, second, third = (float(str(moment)) for moment in noted(trial, "calls"))
    assert second - first >= 0.4
    assert third - second >= 0.8
    assert noted(trial, "rung") == [[{"item": "tea", "amount": 2}, {"item": "milk", "amount": 1}]]
    assert totals(trial) == {"tea": 2, "milk": 1}


def test_a_job_that_fails_again_and_again_is_given_up_with_the_users_own_line(trial: Trial) -> None:
    """After `restarts_max` restarts the error is raised; its results and the other views are complete all the same."""
    app(trial, COPY, TOTALS, ring("broken"))
    sold(trial, ("tea", 2))
    error, seen = trial.having(restarts_max="1").fail(SinkError)
    assert "the bell is gone" in error.message
    assert error.where is not None
    assert Path(error.where.file).name == "bell.py"
    assert (seen.last["copy"].status, seen.last["copy"].restarts) == ("failed", 1)
    assert seen.last["totals"].status == "done"
    assert totals(trial) == {"tea": 2}
    assert trial.rows("copy") == [{"item": "tea", "amount": 2}]


def test_a_source_that_cannot_be_reached_fails_its_own_view_only(trial: Trial) -> None:
    """A broker that does not answer is named, and the job over files goes on."""
    nobody = f"127.0.0.1:{free_port()}"
    stream = f"CREATE STREAM far (v STRING) WITH (connector = 'kafka', servers = '{nobody}', topic = 't');"
    app(trial, stream, "CREATE MATERIALIZED VIEW faraway AS SELECT v FROM far;", TOTALS)
    sold(trial, ("tea", 2))
    error, seen = trial.having(drain_gives_up_after="3 seconds", restart_backoff_s="0.5").fail(SourceError)
    assert nobody in str(error)
    assert nobody in seen.details("faraway", "outage")[0]
    assert (seen.last["faraway"].status, seen.last["totals"].status) == ("failed", "done")
    assert totals(trial) == {"tea": 2}


def test_a_value_that_the_users_sql_cannot_take_fails_that_view_once_in_the_users_words(trial: Trial) -> None:
    """Only Spark sees that a cast fails: the error has the user's file, line and words, and there is no restart."""
    app(trial, TOTALS, "CREATE MATERIALIZED VIEW numbers AS\n  SELECT item,\n         CAST(item AS INT) AS n\n  FROM sales;")
    sold(trial, ("tea", 2))
    error, seen = trial.fail(TypeFault)
    assert "'tea'" in error.message
    assert error.where is not None
    assert (Path(error.where.file).name, error.where.line) == ("app.sql", 5)
    assert "CAST(item AS INT)" in (error.excerpt or "")
    assert "try_cast" in (error.hint or "")
    assert (seen.last["numbers"].status, seen.last["numbers"].restarts) == ("failed", 0)
    assert totals(trial) == {"tea": 2}


def test_a_stop_finishes_the_current_batch_and_a_later_run_loses_and_doubles_nothing(trial: Trial) -> None:
    """The stop comes while a slow function works: it may end, nothing begins any more, the rest is done by the next run."""
    app(trial, COPY, TOTALS, ring("slow"))
    for number in range(5):
        sold(trial, (f"item {number}", number))
    small = trial.having(batch_files_max="1")
    with small.live() as running:
        running.until(lambda: noted(trial, "started"))
        assert running.stop() < 10
    assert 1 <= len(noted(trial, "started")) < 5
    assert len(noted(trial, "rung")) == len(noted(trial, "started"))
    assert {progress.status for progress in running.last.values()} == {"stopped"}
    small.drain()
    assert noted(trial, "rung") == [[{"item": f"item {number}", "amount": number}] for number in range(5)]
    assert len(trial.rows("copy")) == 5
    assert totals(trial) == {f"item {number}": number for number in range(5)}


@pytest.mark.parametrize("how", ["setting", "option"])
def test_the_trigger_once_takes_what_is_there_and_ends_by_itself(trial: Trial, how: str) -> None:
    """Given for all views by the setting, or for one by its option."""
    app(trial, COPY if how == "setting" else COPY.replace("copy AS", "copy WITH (trigger = 'once') AS"))
    sold(trial, ("tea", 2))
    chosen = trial.having(trigger="once") if how == "setting" else trial
    with chosen.live() as running:
        running.thread.join(60)
        assert not running.thread.is_alive()
    assert running.last["copy"].status == "done"
    assert trial.rows("copy") == [{"item": "tea", "amount": 2}]


@pytest.mark.parametrize("how", ["setting", "option"])
def test_an_interval_lets_one_batch_begin_in_each(trial: Trial, how: str) -> None:
    """However much is waiting, a batch waits for the next second; one that began late, on a loaded machine, may be followed at once."""
    app(trial, COPY if how == "setting" else COPY.replace("copy AS", "copy WITH (trigger = '1 second') AS"))
    for number in range(3):
        sold(trial, ("tea", number))
    chosen = trial.having(batch_files_max="1", trigger="1 second" if how == "setting" else "")
    with chosen.live() as running:
        running.until(lambda: running.last and running.last["copy"].epoch >= 2)
    first, _, third = (read_epoch(checkpoint(trial, "copy"), epoch).time_ms for epoch in range(3))
    assert third - first >= 1000
    assert [row["amount"] for row in trial.rows("copy")] == [0, 1, 2]


def test_a_state_folder_is_used_by_one_run_at_a_time(trial: Trial) -> None:
    """The second run is refused with a message that names who holds the folder; afterwards the folder is free again."""
    app(trial, COPY)
    sold(trial, ("tea", 2))
    with trial.live() as running:
        running.until(lambda: running.last and running.last["copy"].epoch >= 0)
        error, _ = trial.fail(StateError)
        assert f"process {os.getpid()}" in error.message
        assert str(trial.state) in error.message
    assert trial.drain().last["copy"].status == "done"


def test_a_changed_view_is_rebuilt_from_history_while_an_unchanged_one_continues(trial: Trial) -> None:
    """The new meaning holds for old rows too, and the other view takes only what is new."""
    app(trial, COPY, TOTALS)
    sold(trial, ("tea", 2), ("milk", 1))
    trial.drain()
    generations = generation(trial, "copy"), generation(trial, "totals")
    app(trial, COPY, TOTALS.replace("sum(amount)", "10 * sum(amount)"))
    sold(trial, ("tea", 3))
    seen = trial.drain()
    assert totals(trial) == {"tea": 50, "milk": 10}
    assert (seen.last["copy"].rows, seen.last["totals"].rows) == (1, 3)
    assert (generation(trial, "copy") == generations[0], generation(trial, "totals") == generations[1]) == (True, False)
    assert len(trial.rows("copy")) == 3


def test_a_removed_checkpoint_rebuilds_the_view_and_skips_nothing(trial: Trial) -> None:
    """Epoch numbers begin again, but no epoch of the new generation is taken for one of the old."""
    app(trial, COPY, TOTALS)
    sold(trial, ("tea", 2))
    trial.drain()
    sold(trial, ("milk", 1))
    trial.drain()
    shutil.rmtree(trial.state / "checkpoints")
    sold(trial, ("tea", 5))
    seen = trial.drain()
    assert (seen.last["totals"].epoch, seen.last["totals"].rows) == (0, 3)
    assert totals(trial) == {"tea": 7, "milk": 1}
    assert sorted(row["amount"] for row in trial.rows("copy")) == [1, 2, 5]


@pytest.mark.parametrize("older", ["checkpoints", "results.db"])
def test_results_and_checkpoints_from_different_moments_are_refused_by_name(trial: Trial, older: str) -> None:
    """An old copy of one beside a new one of the other would lose or double rows."""
    app(trial, COPY)
    sold(trial, ("tea", 2))
    trial.drain()
    copied = trial.folder.parent / "copied"
    (shutil.copytree if older == "checkpoints" else shutil.copyfile)(trial.state / older, copied)
    sold(trial, ("tea", 3))
    trial.drain()
    place = trial.state / older
    if older == "checkpoints":
        shutil.rmtree(place)
    copied.replace(place)
    error, seen = trial.fail(StateError)
    assert str(checkpoint(trial, "copy")) in error.message
    assert "rebuild the view from history" in (error.hint or "")
    assert (seen.last["copy"].status, seen.last["copy"].restarts) == ("failed", 0)


def test_batches_are_large_when_behind_and_small_when_caught_up(trial: Trial) -> None:
    """A backlog of files is one batch, a single file is one batch too, and a bound is a bound."""
    app(trial, COPY)
    for number in range(12):
        sold(trial, ("tea", number))
    first = trial.drain().last["copy"]
    sold(trial, ("milk", 1))
    second = trial.drain().last["copy"]
    for number in range(4):
        sold(trial, ("tea", number))
    bound = trial.having(batch_files_max="2").drain().last["copy"]
    assert [(step.epoch, step.rows) for step in (first, second, bound)] == [(0, 12), (1, 1), (3, 4)]
    assert last_epoch(checkpoint(trial, "copy") / "commits") == 3


def test_a_failure_of_spark_is_no_mistake_of_the_users(trial: Trial) -> None:
    """A checkpoint that was damaged by hand is named, and nothing is written over it."""
    app(trial, COPY)
    sold(trial, ("tea", 2))
    trial.drain()
    damaged = checkpoint(trial, "copy") / "offsets" / "0"
    damaged.write_text("not an offset log\n", encoding="utf-8")
    for crc in damaged.parent.glob(".*.crc"):
        crc.unlink()
    sold(trial, ("tea", 3))
    error, seen = trial.having(restarts_max="0").fail((EngineError, StateError))  # type: ignore[arg-type]
    assert "offset" in str(error)
    assert seen.last["copy"].status == "failed"
    assert trial.rows("copy") == [{"item": "tea", "amount": 2}]


def test_a_stream_on_both_sides_of_a_union_goes_on_in_the_next_run(trial: Trial) -> None:
    """Spark has one source for both, with one folder and two places in its offset log."""
    trial.write(
        "app.sql",
        """
        CREATE STREAM s (a INT, b INT) WITH (connector = 'files', path = 's', format = 'json');
        CREATE STREAM t (c INT) WITH (connector = 'files', path = 't', format = 'json');
        CREATE MATERIALIZED VIEW v AS SELECT a AS n FROM s UNION ALL SELECT b FROM s UNION ALL SELECT c FROM t;
        """,
    )
    for n in (1, 2):
        trial.feed("s", {"a": 10 * n, "b": 10 * n + 1}, {"a": "wrong"})
        trial.feed("t", {"c": 10 * n + 2}, {"c": "wrong"})
        trial.drain()
    assert sorted(row["n"] for row in trial.rows("v")) == [10, 11, 12, 20, 21, 22]
    assert [len(trial.rows(f"{name}__dead")) for name in ("s", "t")] == [2, 2]
    with trial.engine() as engine:
        assert [verdict.as_json() for verdict in verify(engine, session=trial.session) if not verdict.equal] == []


def test_a_drain_from_a_server_that_does_not_answer_is_an_error_and_the_other_views_are_done(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.run.runner._CATCH_UP_S", 0.3)
    port = free_port()
    lines = f"CREATE STREAM lines (line STRING) WITH (connector = 'socket', port = '{port}', format = 'text');"
    trial.write("app.sql", lines + SALES + COPY + "CREATE MATERIALIZED VIEW heard AS SELECT line FROM lines;")
    trial.feed("sales", {"item": "tea", "amount": 1})
    error, _ = trial.fail(SourceError)
    assert error.exit_code == 3
    assert f"stream `lines`: no server answers at localhost:{port}" in error.message
    assert trial.rows("copy") == [{"item": "tea", "amount": 1}]

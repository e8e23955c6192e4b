"""Views, sinks and streams come and go while an app runs: each at an exact epoch, and the others never notice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog import Catalog
from penstock.errors import InUseFault, NameFault, SyntaxFault, UserError
from penstock.store.generations import ViewGeneration, note_of
from penstock.store.numbers import numbers_note
from penstock.testing.trial import Live, Trial, eventually
from penstock.verify.run import verify

SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');"
TOTALS = "CREATE MATERIALIZED VIEW totals AS SELECT item, sum(amount) AS total FROM sales GROUP BY item;"
BEST = "CREATE MATERIALIZED VIEW best AS SELECT item, total FROM totals WHERE total > 20;"
RANKED = "CREATE MATERIALIZED VIEW ranked AS SELECT item, total FROM totals ORDER BY total DESC, item LIMIT {};"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"
ITEMS = ("tea", "milk", "salt", "rice", "figs")


def app(trial: Trial, *statements: str) -> None:
    trial.write("app.sql", "\n".join([SALES, *statements]))
    (trial.folder / "sales").mkdir(exist_ok=True)


def sold(trial: Trial, number: int) -> None:
    trial.feed("sales", *({"item": item, "amount": number + place} for place, item in enumerate(ITEMS)))


def generation(trial: Trial, job: str) -> str:
    found = Catalog(trial.state).current(job)
    assert found is not None
    return found[0]


def view_generation(trial: Trial, view: str) -> ViewGeneration:
    with closing(sqlite3.connect(trial.state / "results.db")) as connection:
        ((value,),) = connection.execute("SELECT value FROM penstock_notes WHERE name = ?", (note_of(view),)).fetchall()
    return ViewGeneration(**json.loads(value))


def left_of(trial: Trial, view: str) -> int:
    """How many rows of any table of the store still speak of a view; but for the number from which its epochs would go on."""
    with closing(sqlite3.connect(trial.state / "results.db")) as connection:
        tables = ("penstock_rows", "penstock_changes", "penstock_epochs", "penstock_views")
        found = sum(
            connection.execute(f"SELECT count(*) FROM {table} WHERE view IN (?, ?)", (view, f"__kept:{view}")).fetchone()[0] for table in tables
        )
        jobs = ("penstock_jobs", "penstock_ledger", "penstock_owners")
        found += sum(connection.execute(f"SELECT count(*) FROM {table} WHERE job = ?", (view,)).fetchone()[0] for table in jobs)
        names = [name for (name,) in connection.execute("SELECT name FROM penstock_notes") if name != numbers_note(view)]
        return int(found) + sum(1 for name in names if view in name.replace(":", " ").split())


def as_set(rows: list[dict[str, Any]]) -> set[str]:
    return {json.dumps(row, sort_keys=True) for row in rows}


def kept(live: Live, view: str) -> set[str]:
    """What the store holds; `peek` would compute a view that has not run."""
    found = live.engine._run().kept(view)
    return set() if found is None else {json.dumps(json.loads(line), sort_keys=True) for line in found.lines}


def all_equal(trial: Trial) -> set[tuple[str, str | None]]:
    with trial.engine() as engine:
        found = list(verify(engine, session=trial.session))
    assert [verdict.as_json() for verdict in found if not verdict.equal] == []
    return {(verdict.view, verdict.sink) for verdict in found}


class Flow:
    """Rows that keep coming on a thread until the block ends."""

    def __init__(self, trial: Trial) -> None:
        self._trial, self._over = trial, threading.Event()
        self.fed = 0
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self._over.wait(0.3):
            sold(self._trial, self.fed)
            self.fed += 1

    def __enter__(self) -> Flow:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def test_views_and_sinks_are_added_while_rows_flow_and_the_others_never_notice(trial: Trial) -> None:
    app(trial, TOTALS, COPY)
    with trial.live() as live, Flow(trial):
        live.until(lambda: live.last.get("copy") and live.last["copy"].epoch >= 2 and live.last["totals"].epoch >= 2)
        before = generation(trial, "totals"), generation(trial, "copy")
        epoch = live.engine.add(BEST)
        assert epoch >= 2
        assert {json.loads(row)["item"] for row in kept(live, "best")}, "its rows over the history so far can be read"
        assert view_generation(trial, "best").epoch <= epoch
        added = live.engine.add("CREATE MATERIALIZED VIEW counts AS SELECT item, count(*) AS n FROM sales GROUP BY item;")
        assert added >= 0
        assert len(kept(live, "counts")) == len(ITEMS)
        live.engine.add("CREATE SINK out FROM best WITH (connector = 'files', path = 'out', delivery = 'exactly-once');")
        here = live.last["totals"].epoch
        live.until(lambda: live.last["totals"].epoch > here + 2 and live.last["counts"].epoch > added + 1)
        assert live.last["totals"].views == ("totals", "best")
        assert {job: progress.restarts for job, progress in live.last.items()} == {"totals": 0, "copy": 0, "counts": 0}
        assert (generation(trial, "totals"), generation(trial, "copy")) == before
    trial.drain()
    for view in ("totals", "copy", "best", "counts"):
        assert as_set(trial.rows(view)) == as_set(trial.batch(view)), view
    assert ("best", "out") in all_equal(trial)
    assert (generation(trial, "totals"), generation(trial, "copy")) == before, "what was added is there in the next run, which rebuilds nothing"


def test_a_view_that_is_dropped_leaves_nothing_behind_and_one_that_is_read_stays(trial: Trial) -> None:
    app(trial, TOTALS, BEST, COPY, "CREATE SINK out FROM copy WITH (connector = 'files', path = 'out');")
    sold(trial, 1)
    with trial.live() as live:
        live.until(lambda: (trial.folder / "out").exists() and kept(live, "totals"))
        with pytest.raises(InUseFault, match="`totals` cannot be dropped: `best` reads it"):
            live.engine.drop("totals")
        with pytest.raises(NameFault):
            live.engine.drop("nothing")
        live.engine.drop("COPY")
        assert set(live.engine.declared.declarations) == {"sales", "totals", "best"}
        assert set(live.last) >= {"totals"}
        assert left_of(trial, "copy") == 0
        assert not (trial.state / "checkpoints" / "copy").exists()
        live.engine.drop("best")
        assert left_of(trial, "best") == 0
        sold(trial, 2)
        live.until(lambda: '{"item": "tea", "total": 3}' in kept(live, "totals"))
        live.until(lambda: set(live.last) == {"totals"})
    with trial.engine() as engine:
        assert set(engine.declared.views) == {"totals"}, "what was dropped from a file stays dropped"
    app(trial, TOTALS, BEST, COPY.replace("amount", "amount + 1 AS more"))
    with trial.engine() as engine:
        assert set(engine.declared.views) == {"totals", "copy"}, "until the file says something else"


def test_a_replaced_view_shows_its_new_meaning_and_its_sinks_follow(trial: Trial) -> None:
    app(trial, TOTALS, RANKED.format(2), "CREATE SINK out FROM ranked WITH (connector = 'files', path = 'out', delivery = 'exactly-once');")
    sold(trial, 1)
    with trial.live() as live:
        live.until(lambda: len(kept(live, "ranked")) == 2)
        first, rest = view_generation(trial, "ranked"), generation(trial, "totals")
        live.engine.add(RANKED.format(3).replace("CREATE", "CREATE OR REPLACE"))
        assert len(kept(live, "ranked")) == 3
        assert view_generation(trial, "ranked").name != first.name
        live.engine.add(TOTALS.replace("CREATE", "CREATE OR REPLACE").replace("sum(amount)", "sum(amount) * 2"))
        assert '{"item": "figs", "total": 10}' in kept(live, "totals")
        assert '{"item": "figs", "total": 10}' in kept(live, "ranked"), "what reads it follows"
        assert generation(trial, "totals") != rest
        sold(trial, 2)
        live.until(lambda: '{"item": "figs", "total": 22}' in kept(live, "ranked"))
    trial.drain()
    assert ("ranked", "out") in all_equal(trial)


def test_a_view_that_is_replaced_is_built_beside_the_old_one_whose_rows_are_shown_until_then(trial: Trial) -> None:
    """The history comes one file at a time: without a place of its own the new one would show less than all items for a while."""
    app(trial, TOTALS, BEST)
    for number, item in enumerate(ITEMS):
        trial.feed("sales", {"item": item, "amount": 20 + number})
    small = trial.having(batch_files_max="1")
    with small.live() as live:
        live.until(lambda: len(kept(live, "best")) == len(ITEMS) - 1)
        seen: list[int] = []
        over = threading.Event()

        def look() -> None:
            while not over.wait(0.05):
                seen.append(len(kept(live, "totals")))

        looking = threading.Thread(target=look)
        looking.start()
        epoch = live.engine.add(TOTALS.replace("CREATE", "CREATE OR REPLACE").replace("sum(amount)", "max(amount) + 100"))
        over.set()
        looking.join()
        assert set(seen) == {len(ITEMS)}
        assert epoch == len(ITEMS) - 1
        assert '{"item": "tea", "total": 120}' in kept(live, "totals")
        assert len(kept(live, "best")) == len(ITEMS)
        trial.feed("sales", {"item": "tea", "amount": 50})
        live.until(lambda: '{"item": "tea", "total": 150}' in kept(live, "best"))
        assert [name for name in Catalog(trial.state).jobs() if name.startswith("__")] == []
    small.drain()
    all_equal(trial)


def test_a_replacement_that_fails_on_its_way_leaves_the_old_view_as_it_was(trial: Trial) -> None:
    app(trial, TOTALS)
    sold(trial, 1)
    with trial.live() as live:
        live.until(lambda: len(kept(live, "totals")) == len(ITEMS))
        before, rows = generation(trial, "totals"), kept(live, "totals")
        with pytest.raises(UserError):
            live.engine.add(TOTALS.replace("CREATE", "CREATE OR REPLACE").replace("sum(amount)", "sum(CAST(item AS INT))"))
        assert (generation(trial, "totals"), kept(live, "totals")) == (before, rows)
        sold(trial, 2)
        live.until(lambda: '{"item": "tea", "total": 3}' in kept(live, "totals"))
        assert live.last["totals"].restarts == 0
    all_equal(trial)


def test_a_plan_that_changes_only_above_what_is_kept_is_evaluated_again_without_the_history(trial: Trial) -> None:
    """The kept rows are the same, and may be parted in another way by the new plan."""
    sums = "(SELECT item, sum(amount) AS total FROM sales GROUP BY item)"
    ranked = f"CREATE MATERIALIZED VIEW best AS SELECT item, total, rank() OVER ({{}}) AS place FROM {sums}"
    app(trial, ranked.format("ORDER BY total DESC") + ";")
    sold(trial, 1)
    with trial.live() as live:
        live.until(lambda: len(kept(live, "best")) == len(ITEMS))
        before = generation(trial, "best")
        for over in ("PARTITION BY item ORDER BY total", "PARTITION BY total % 2 ORDER BY total DESC", "ORDER BY total"):
            live.engine.add(ranked.format(over).replace("CREATE", "CREATE OR REPLACE"))
            assert kept(live, "best") == as_set(trial.batch("best")), over
            sold(trial, 2)
            live.until(lambda: kept(live, "best") == as_set(trial.batch("best")))
        assert generation(trial, "best") == before
        assert live.last["best"].restarts == 0
    all_equal(trial)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("CREATE MATERIALIZED VIEW more AS SELECT itm FROM totals;", UserError),
        ("CREATE MATERIALIZED VIEW more AS SELEC item FROM totals;", SyntaxFault),
        ("CREATE MATERIALIZED VIEW totals AS SELECT item FROM sales;", NameFault),
        (f"{BEST} CREATE MATERIALIZED VIEW more AS SELECT item FROM nowhere;", NameFault),
        ("CREATE MATERIALIZED VIEW more AS SELECT array_join(total, ',') AS x FROM totals;", UserError),
        ("CREATE MATERIALIZED VIEW more AS SELECT item + 1 AS x FROM totals;", UserError),
        ("SELECT 1", SyntaxFault),
        ("", SyntaxFault),
    ],
)
def test_a_wrong_statement_changes_nothing(trial: Trial, sql: str, kind: type[Exception]) -> None:
    app(trial, TOTALS)
    sold(trial, 1)
    with trial.live() as live:
        live.until(lambda: len(kept(live, "totals")) == len(ITEMS))
        before = generation(trial, "totals")
        with pytest.raises(kind):
            live.engine.add(sql)
        assert set(live.engine.declared.views) == {"totals"}
        assert (live.last["totals"].restarts, generation(trial, "totals")) == (0, before)
        assert left_of(trial, "more") == left_of(trial, "best") == 0
        sold(trial, 2)
        live.until(lambda: '{"item": "tea", "total": 3}' in kept(live, "totals"))
    with trial.engine() as engine:
        assert set(engine.declared.views) == {"totals"}


def test_followers_that_change_between_runs_are_made_again_alone(trial: Trial) -> None:
    app(trial, TOTALS, BEST)
    sold(trial, 10)
    trial.drain()
    before, first = generation(trial, "totals"), view_generation(trial, "best")
    app(trial, TOTALS, BEST.replace("> 20", "> 11"), RANKED.format(2))
    trial.drain()
    assert generation(trial, "totals") == before
    assert (len(trial.rows("best")), len(trial.rows("ranked"))) == (3, 2)
    assert view_generation(trial, "best").name != first.name
    app(trial, TOTALS, RANKED.format(2))
    sold(trial, 11)
    trial.drain()
    assert left_of(trial, "best") == 0
    app(trial, TOTALS, BEST.replace("> 20", "> 11"), RANKED.format(2))
    trial.drain()
    assert as_set(trial.rows("best")) == as_set(trial.batch("best")), "not what it held when it left"
    assert generation(trial, "totals") == before
    all_equal(trial)


def test_a_view_with_a_job_of_its_own_may_become_a_follower_and_back(trial: Trial) -> None:
    own = "CREATE MATERIALIZED VIEW best AS SELECT item, sum(amount) AS total FROM sales GROUP BY item HAVING sum(amount) > 20;"
    app(trial, TOTALS, own)
    sold(trial, 10)
    trial.drain()
    for statement in (BEST, own, BEST):
        app(trial, TOTALS, statement)
        sold(trial, 3)
        trial.drain()
        assert as_set(trial.rows("best")) == as_set(trial.batch("best")), statement
    all_equal(trial)


def _driver(trial: Trial, *more: str) -> subprocess.Popen[str]:
    """The app in a process of its own, from the command line."""
    command = [sys.executable, "-m", "penstock", "run", str(trial.folder), "--state", str(trial.state), *more, "--set", "master=local[1]"]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})


def _killed(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGKILL)
    _, output = process.communicate(timeout=60)
    return output


def _holds(trial: Trial, view: str, what: Callable[[list[dict[str, Any]]], bool]) -> bool:
    path = trial.state / "results.db"
    if not path.exists():
        return False
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        try:
            return what([json.loads(row) for (row,) in connection.execute("SELECT row FROM penstock_rows WHERE view = ?", (view,))])
        except sqlite3.OperationalError:
            return False


ADDER = """
import sys, threading
from pathlib import Path
from penstock.observe.request import RunRequest
from penstock.wiring import open_app

folder, state, *statements = sys.argv[1:]
engine = open_app(folder, state=Path(state), overrides={"master": "local[1]"})
threading.Thread(target=lambda: engine.run(RunRequest()), daemon=True).start()
while not (engine._runner and engine._runner.kept("totals") and list(engine._runner.kept("totals").lines)):
    threading.Event().wait(0.1)
for statement in statements:
    print("epoch", engine.add(statement), flush=True)
threading.Event().wait()
"""


def test_what_was_added_is_there_again_after_kill_9(trial: Trial) -> None:
    app(trial, TOTALS)
    sold(trial, 10)
    counts = "CREATE MATERIALIZED VIEW counts AS SELECT item, count(*) AS n FROM sales GROUP BY item;"
    script = trial.write("../adder.py", ADDER)
    process = subprocess.Popen(
        [sys.executable, str(script), str(trial.folder), str(trial.state), BEST, counts], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline().split()[0] for _ in range(2)] == ["epoch", "epoch"]
    before = generation(trial, "totals"), generation(trial, "counts")
    _killed(process)
    sold(trial, 20)
    trial.drain()
    assert (generation(trial, "totals"), generation(trial, "counts")) == before
    for view in ("totals", "best", "counts"):
        assert as_set(trial.rows(view)) == as_set(trial.batch(view)), view
    all_equal(trial)


def test_edits_are_applied_within_seconds_and_a_broken_one_is_shown_while_the_rest_goes_on(trial: Trial) -> None:
    app(trial, TOTALS)
    sold(trial, 10)
    process = _driver(trial, "--watch")
    output: list[str] = []
    assert process.stderr is not None
    reader = threading.Thread(target=lambda: output.extend(iter(process.stderr.readline, "")), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        eventually(lambda: _holds(trial, "totals", lambda rows: len(rows) == len(ITEMS)))
        app(trial, TOTALS, BEST)
        began = time.monotonic()
        eventually(lambda: view_is_there(trial, "best"))
        assert time.monotonic() - began < 15
        app(trial, TOTALS, BEST, "CREATE MATERIALIZED VIEW wrong AS SELECT itm FROM totals;")
        eventually(lambda: "goes on as before" in "".join(output))
        text = "".join(output)
        assert "app.sql:4" in text
        assert "itm" in text
        assert "^^^" in text
        sold(trial, 20)
        eventually(lambda: _holds(trial, "best", lambda rows: {"item": "tea", "total": 30} in rows))
    finally:
        _killed(process)
    app(trial, TOTALS, BEST)
    trial.drain()
    all_equal(trial)


def view_is_there(trial: Trial, view: str) -> bool:
    try:
        return bool(view_generation(trial, view).name)
    except (ValueError, sqlite3.OperationalError):
        return False


def test_a_stream_comes_with_the_first_view_over_it_and_goes_after_the_last(trial: Trial) -> None:
    app(trial, TOTALS)
    sold(trial, 10)
    trial.feed("returns", {"item": "tea"}, {"item": "milk"})
    with trial.live() as live:
        live.until(lambda: len(kept(live, "totals")) == len(ITEMS))
        live.engine.add(
            """CREATE STREAM returns (item STRING) WITH (connector = 'files', path = 'returns', format = 'json');
            CREATE MATERIALIZED VIEW returned AS SELECT item, count(*) AS n FROM returns GROUP BY item;"""
        )
        assert kept(live, "returned") == {'{"item": "milk", "n": 1}', '{"item": "tea", "n": 1}'}
        with pytest.raises(InUseFault, match="`returned` reads it"):
            live.engine.drop("returns")
        live.engine.add("DROP VIEW returned; DROP STREAM returns;")
        assert set(live.engine.declared.declarations) == {"sales", "totals"}
    assert Path(trial.state / "checkpoints" / "returned").exists() is False

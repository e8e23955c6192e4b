"""What is reported of views that failed or never ran, and of SQL that is asked once."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from dataclasses import replace

import pytest

from penstock.cli.status import line
from penstock.errors import NameFault, PlanFault, StateError
from penstock.observe.request import RunRequest
from penstock.store.sqlite import SqliteStore
from penstock.testing.trial import Trial
from penstock.wiring import open_app

SALES = "CREATE STREAM sales (item STRING, amount INT) WITH (connector = 'files', path = 'sales', format = 'json');"
SHARE = "CREATE MATERIALIZED VIEW share AS SELECT item, 10 / amount AS share FROM sales;"
BIG = "CREATE MATERIALIZED VIEW big AS SELECT item FROM share WHERE share > 1;"
HALF = "CREATE MATERIALIZED VIEW half AS SELECT item, 5 / amount AS half FROM sales;"
COPY = "CREATE MATERIALIZED VIEW copy AS SELECT item, amount FROM sales;"


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return found


def test_every_failed_view_is_named_and_whoever_reads_one_is_warned(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    """The run names both, `status` keeps why, peek and sql say it, and a later good run ends it."""
    trial.write("app.sql", "\n".join((SALES, SHARE, BIG, HALF, COPY)))
    with trial.engine() as engine:
        assert [view.status for view in engine.status()] == ["not run"] * 4
    trial.feed("sales", {"item": "tea", "amount": 0})
    error, _ = trial.fail(PlanFault)
    assert error.message.startswith("3 jobs failed:")
    assert all(f"\n  {job}: " in error.message for job in ("share", "big", "half"))
    caplog.clear()
    with trial.engine() as engine:
        standing = {view.view: (view.status, view.rows) for view in engine.status()}
        assert standing == {"share": ("failed", 0), "big": ("failed", 0), "half": ("failed", 0), "copy": ("done", 1)}
        assert list(engine.peek("share").lines) == []
        assert "view `share` failed in its last run" in warned(caplog)[0]
        assert list(engine.query("SELECT count(*) AS n FROM half").lines) == ['{"n":0}']
        assert "view `half` failed in its last run" in warned(caplog)[0]
        assert len(list(engine.peek("copy").lines)) == 1
        assert warned(caplog) == []
        with pytest.raises(NameFault) as raised:
            list(engine.query("SELECT itm\nFROM copy").lines)
        assert raised.value.excerpt == "    1 | SELECT itm\n               ^^^"


def test_a_run_that_was_killed_is_not_reported_as_running(trial: Trial) -> None:
    trial.write("app.sql", "\n".join((SALES, COPY)))
    trial.feed("sales", {"item": "tea", "amount": 1})
    with trial.live() as running:
        running.until(lambda: "copy" in running.last and running.last["copy"].epoch >= 0)
        with trial.engine() as engine:
            assert engine.status()[0].status == "running"
            at = engine.status()[0].at
    with trial.engine() as engine:
        assert engine.status()[0].status == "stopped"
    with closing(SqliteStore(trial.state / "results.db")) as store:  # what it leaves behind when it cannot say how it ended
        store.note("status:copy", json.dumps({"status": "running", "detail": "", "at": at}))
    with trial.engine() as engine:
        found = engine.status()[0]
        assert (found.status, found.at, found.rows) == ("killed", at, 1)
        assert line(found).startswith(f"copy: killed after it began at {at}, epoch 0, 1 row")


def test_two_apps_side_by_side_do_not_share_a_state_folder_unless_one_takes_the_others_place(trial: Trial) -> None:
    trial.write("one.sql", "\n".join((SALES, COPY)))
    trial.write("two.sql", "\n".join((SALES, COPY.replace("amount", "1 AS amount"))))
    trial.feed("sales", {"item": "tea", "amount": 7})
    state = trial.state

    def drained(path: str) -> list[str]:
        engine = open_app(trial.folder / path, state=state, session=trial.session)
        try:
            engine.run(RunRequest(drain=True))
            return list(engine.peek("copy").lines)
        finally:
            engine.close()

    assert drained("one.sql") == ['{"item":"tea","amount":7}']
    with pytest.raises(StateError, match=r"is the state folder of another app, .*one\.sql") as refused:
        drained("two.sql")
    assert "--state DIR" in str(refused.value.hint)
    (trial.folder / "two.sql").rename(trial.folder.parent / "kept.sql")
    assert drained(".") == ['{"item":"tea","amount":7}'], "the folder is the same app"
    (trial.folder / "one.sql").rename(trial.folder / "first.sql")
    assert drained("first.sql") == ['{"item":"tea","amount":7}']
    (trial.folder.parent / "kept.sql").rename(trial.folder / "first.sql")
    assert drained("first.sql") == ['{"item":"tea","amount":1}'], "rewritten, it is a change of the app"


def test_a_folder_that_is_not_there_is_reported_when_a_run_begins(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write("app.sql", "\n".join((SALES, COPY)))
    trial.drain()
    assert f"stream `sales`: there is no folder or file {trial.folder / 'sales'} yet" in warned(caplog)
    with trial.engine() as engine:
        assert list(engine.peek("copy").lines) == []
    assert warned(caplog) == []


def test_whoever_reads_a_view_that_has_changed_since_it_ran_is_warned(trial: Trial, caplog: pytest.LogCaptureFixture) -> None:
    trial.write("app.sql", "\n".join((SALES, COPY)))
    trial.feed("sales", {"item": "tea", "amount": 1})
    trial.drain()
    trial.write("app.sql", "\n".join((SALES, COPY.replace("SELECT ", "SELECT 'new' AS kind, ", 1))))
    caplog.clear()
    with trial.engine() as engine:
        assert len(list(engine.peek("copy").lines)) == 1
        assert "view `copy` has changed since it ran" in warned(caplog)[0]
        assert "has changed since it ran" in engine.status()[0].detail
    trial.drain()
    with trial.engine() as engine:
        assert engine.status()[0].detail == ""


def test_files_that_moved_since_they_were_read_are_not_read_once_more(trial: Trial) -> None:
    trial.write("app.sql", "\n".join((SALES, COPY)))
    trial.feed("sales", {"item": "tea", "amount": 1})
    trial.drain()
    moved = replace(trial, folder=trial.folder.with_name("elsewhere"))
    trial.folder.rename(moved.folder)
    error, _ = moved.fail(StateError)
    assert f"its files were read from {trial.folder / 'sales'}, and are now looked for at {moved.folder / 'sales'}" in error.message
    moved.folder.rename(trial.folder)
    trial.feed("sales", {"item": "milk", "amount": 2})
    trial.drain()
    assert [row["item"] for row in trial.rows("copy")] == ["tea", "milk"]

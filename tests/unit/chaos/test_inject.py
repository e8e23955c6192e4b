"""What is done to an app is undone, and nothing is done to a driver that is not chaos's own: with drivers that only pretend."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.catalog import Catalog
from penstock.chaos import damage, inject, judge
from penstock.chaos import run as running
from penstock.chaos.apps import Subject
from penstock.chaos.faults import BY_NAME
from penstock.chaos.follow import Seen
from penstock.chaos.inject import NotDone, NotSurvived
from penstock.chaos.parts import Parts, is_locked
from penstock.chaos.plan import Step
from penstock.chaos.report import Outcome
from penstock.chaos.run import Run
from penstock.chaos.storm import storm
from penstock.chaos.subjects import reader, users
from penstock.errors import StateError
from penstock.spark.run.lock import StateLock

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copied AS SELECT value FROM lines;
"""


class Pretended:
    """A driver that says at once what the test wants it to."""

    says = "12:00:00 job: running, rows/s 0, rows 0\n"
    pid = 0
    killed_at = None

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.command, self.environment = command, environment
        self.began, self.started, self.ended = time.monotonic(), time.time(), time.time()
        self.code: int | None = None
        self.words = self.says

    def kill(self) -> None:
        self.code = -9

    def sweep(self, seconds: float = 20.0) -> list[int]:
        return []

    def tree(self) -> list[int]:
        return []

    def wait(self, seconds: float) -> int | None:
        return self.code


def checkpoint(state: Path) -> dict[Path, bytes]:
    """The checkpoint of one job: its files and what they hold."""
    generation = Catalog(state).open_generation("job", "plan").checkpoint
    for name in ("offsets/0", "commits/0", "metadata", "state/0/0/1_ab.changelog"):
        (generation / name).parent.mkdir(parents=True, exist_ok=True)
        (generation / name).write_bytes(f"content of {name}".encode())
    return held(state)


def held(state: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (state / "checkpoints").rglob("*") if path.is_file()}


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of a user's app, nobody feeds it, whose drivers are pretended; none of its waits is long."""
    monkeypatch.setattr(running, "Driver", Pretended)
    monkeypatch.setattr(running, "_QUIET_S", 0.1)
    monkeypatch.setattr(inject, "_START_S", 1.0)
    monkeypatch.setattr(inject, "_IDLE_S", 0.2)
    reader: Any = SimpleNamespace(look=lambda: True, store=SimpleNamespace(epochs={"job": 0}))
    run = Run(Subject("app", tmp_path / "app.sql", tmp_path), Parts(), reader, tmp_path / "chaos", None, lambda text: None, frozenset({"job"}))
    run.start()
    return run


def step(fault: str, choice: int = 0) -> Step:
    return Step(1, BY_NAME[fault], 0.0, choice)


STATE_FILE = 7 * damage.KINDS.index("state")
OFFSETS = 7 * damage.KINDS.index("offsets")


def test_a_spoilt_file_comes_back_when_the_run_went_on(started: Run) -> None:
    before = checkpoint(started.subject.state)
    with pytest.raises(NotSurvived, match="as if nothing had happened"):
        inject.corrupt_checkpoint(started, step("corrupt-checkpoint", OFFSETS))
    assert held(started.subject.state) == before


def test_a_spoilt_file_comes_back_when_somebody_ends_chaos_meanwhile(started: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoint(started.subject.state)

    def interrupted(corrupted: damage.Corrupted, words: str) -> bool:
        assert held(started.subject.state) != before
        raise KeyboardInterrupt

    monkeypatch.setattr(damage.Corrupted, "named_in", interrupted)
    with pytest.raises(KeyboardInterrupt):
        inject.corrupt_checkpoint(started, step("corrupt-checkpoint", OFFSETS))
    assert held(started.subject.state) == before
    assert started.driver.code is not None


def test_a_spoilt_file_comes_back_when_the_run_is_closed(started: Run) -> None:
    before = checkpoint(started.subject.state)
    assert damage.corrupt(started.subject.state, ["job"], OFFSETS) is not None
    started.close()
    assert held(started.subject.state) == before


def test_nothing_is_spoilt_under_a_driver_that_is_not_ours(started: Run) -> None:
    before = checkpoint(started.subject.state)
    with StateLock(started.subject.state), pytest.raises(StateError, match="is in use by"):
        inject.corrupt_checkpoint(started, step("corrupt-checkpoint", OFFSETS))
    assert held(started.subject.state) == before


@pytest.mark.parametrize("act", [lambda run: run.start(), lambda run: run.start(take_over=True)], ids=["start", "take over"])
def test_a_driver_that_is_not_ours_ends_the_storm(started: Run, act: Callable[[Run], object]) -> None:
    """A second driver of ours may be started beside the first; none beside a stranger's."""
    started.start()
    started.close()
    with StateLock(started.subject.state), pytest.raises(StateError, match="is in use by") as raised:
        act(started)
    assert str(raised.value.hint).startswith("stop the run first")


def app(folder: Path) -> Path:
    (folder / "input").mkdir()
    (folder / "app.sql").write_text(APP, encoding="utf-8")
    return folder


def test_chaos_refuses_an_app_that_runs_before_anything_is_started(tmp_path: Path) -> None:
    printed: list[str] = []
    with StateLock(tmp_path / "state"), pytest.raises(StateError, match="is in use by"):
        storm(str(app(tmp_path)), 1, state=tmp_path / "state", say=printed.append)
    assert printed == []


def test_chaos_first_puts_back_what_it_could_not_when_it_was_killed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    before = checkpoint(state)
    assert damage.corrupt(state, ["job"], OFFSETS) is not None
    assert held(state) != before
    users(app(tmp_path), state, {})
    assert held(state) == before


def test_a_point_that_an_idle_app_does_not_come_to_is_a_note(started: Run) -> None:
    """And the driver that waits for it is replaced by one that does not."""
    started.start(step("kill-at:sink.mid-rows"))
    armed = started.driver
    assert inject.kill_at(started, step("kill-at:sink.mid-rows")) == NotDone("not reached: the app had nothing new to do there")
    assert (armed.code, started.driver.code, started.armed) == (-9, None, None)


@pytest.mark.parametrize("says", ["", "12:00:00 job: restarting, rows/s 0, rows 0\n"])
def test_a_point_that_an_app_does_not_come_to_because_it_does_not_run_is_a_failure(started: Run, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    monkeypatch.setattr(Pretended, "says", says)
    with pytest.raises(NotSurvived, match="never came to"):
        inject.kill_at(started, step("kill-at:sink.mid-rows"))


def test_a_point_that_a_fed_app_does_not_come_to_is_a_failure(started: Run) -> None:
    fed: Any = object()
    started.feeder = fed
    with pytest.raises(NotSurvived, match="never came to"):
        inject.kill_at(started, step("kill-at:sink.mid-rows"))


def test_a_point_that_was_not_reached_is_no_fault_that_was_survived(started: Run) -> None:
    started.start(step("kill-at:sink.mid-rows"))
    found = started._step(step("kill-at:sink.mid-rows"), None)
    assert (found.done, found.failure, found.note) == (False, "", "not reached: the app had nothing new to do there")


def test_a_zombie_of_an_idle_app_is_frozen_at_any_moment(started: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inject, "_is_stopped", lambda driver: False)
    assert inject._frozen_at(started, "store.mid-rows", 1) == "any moment, store.mid-rows not reached: the app had nothing new to do there"
    frozen: Any = started.driver
    assert "PENSTOCK_STOP_AT" not in frozen.environment
    assert frozen.code is None


def test_state_that_an_idle_app_did_not_read_is_a_note_and_comes_back(started: Run) -> None:
    before = checkpoint(started.subject.state)
    note = inject.corrupt_checkpoint(started, step("corrupt-checkpoint", STATE_FILE))
    assert note == "0/1_ab.changelog cut short: not read: the app had nothing new to do there"
    assert isinstance(note, NotDone)
    assert held(started.subject.state) == before


def test_state_with_which_the_app_went_on_is_a_failure_and_comes_back(started: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoint(started.subject.state)
    monkeypatch.setattr(started, "start", lambda **_: started.reader.store.epochs.update(job=1) or started.driver)
    with pytest.raises(NotSurvived, match="as if nothing had happened"):
        inject.corrupt_checkpoint(started, step("corrupt-checkpoint", STATE_FILE))
    assert held(started.subject.state) == before


def test_an_app_is_quiet_only_from_when_it_says_that_it_runs(started: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    driver: Any = started.driver
    driver.words = ""
    time.sleep(0.2)
    assert not started.all_past(started.mark())
    driver.words = Pretended.says
    assert not started.all_past(started.mark())
    time.sleep(0.2)
    assert started.all_past(started.mark())
    started.reader.store.epochs["job"] = 1
    assert started.quiet_s() == 0


def test_every_job_is_waited_for_also_where_nothing_is_stored(tmp_path: Path) -> None:
    sink = "CREATE SINK out FROM copied WITH (connector = 'console');\n"
    (app(tmp_path) / "app.sql").write_text(APP.replace("copied AS", "copied WITH (store = false) AS") + sink, encoding="utf-8")
    _, found = reader(users(tmp_path, tmp_path / "state", {}).subject, Seen())
    assert found == {"copied"}


def test_no_epoch_leaves_the_log_before_the_reader_has_seen_it_whatever_the_user_set(tmp_path: Path) -> None:
    subject = users(app(tmp_path), tmp_path / "state", {"changes_kept_epochs": "1", "trigger": "2 seconds"}).subject
    words = subject.command("run")
    kept = [word for word in words if word.startswith("changes_kept_epochs=")]
    assert kept == ["changes_kept_epochs=1000000"]
    assert "trigger=2 seconds" in words


def test_a_verify_that_takes_too_long_is_a_failure_in_words(started: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(command: Sequence[str], *, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", endless)
    outcome = Outcome("app", 7)
    judge.verify(started.subject, outcome)
    assert outcome.verified == "not within 10 minutes"
    assert "verify did not end within 10 minutes" in outcome.failures[0]


def test_a_file_that_somebody_writes_to_is_locked_and_one_that_is_not_there_is_not(tmp_path: Path) -> None:
    database = tmp_path / "results.db"
    assert not is_locked(database)
    assert not database.exists()
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE t (x)")
        assert not is_locked(database)
        writer.execute("BEGIN IMMEDIATE")
        assert is_locked(database)
        writer.execute("ROLLBACK")
        assert not is_locked(database)

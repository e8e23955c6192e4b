"""A job whose engine is gone is given up at once and in plain words; other failures are tried again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import StreamingQueryException

from penstock.catalog import Catalog, Generation
from penstock.errors import EngineError, FencedError, RefusalError, SinkError
from penstock.plan.load import load
from penstock.settings import load as load_settings
from penstock.share.jobs import jobs
from penstock.spark.run import supervisor
from penstock.spark.run.job import JobRun
from penstock.spark.run.supervisor import Guard, ended

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy AS SELECT value FROM lines;
"""


def failing(folder: Path, error: Exception) -> tuple[Guard, list[Generation]]:
    """A guard of a job that cannot be opened, and its attempts."""
    (folder / "app.sql").write_text(APP, encoding="utf-8")
    attempts: list[Generation] = []

    def open_run(generation: Generation) -> JobRun:
        attempts.append(generation)
        raise error

    (job,) = jobs(load(folder))
    settings = load_settings(overrides={"restarts_max": "2", "restart_backoff_s": "0.01"})
    return Guard(job, open_run, Catalog(folder), settings, threading.Event()), attempts


def test_without_its_jvm_a_job_is_given_up_at_once_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "jvm_is_gone", lambda patience_s=0.0: True)
    guard, attempts = failing(tmp_path, Py4JNetworkError("Answer from Java side is empty"))
    guard.run(drain=False)
    assert isinstance(guard.error, EngineError)
    assert "JVM has ended" in guard.error.message
    assert len(attempts) == 1


def test_a_failure_of_another_kind_is_tried_again(tmp_path: Path) -> None:
    guard, attempts = failing(tmp_path, SinkError("away"))
    guard.run(drain=False)
    assert isinstance(guard.error, SinkError)
    assert len(attempts) == 3


def test_a_sink_that_does_not_fit_is_not_tried_again(tmp_path: Path) -> None:
    guard, attempts = failing(tmp_path, RefusalError("table t lacks columns of view `copy`: value"))
    guard.run(drain=False)
    assert len(attempts) == 1
    assert guard.progress.detail == "table t lacks columns of view `copy`: value"


@pytest.mark.parametrize(("held", "tried"), [(True, 2), (False, 1)], ids=["it holds the folder", "it was replaced"])
def test_who_holds_the_state_folder_takes_its_place_back_once_when_fenced(tmp_path: Path, held: bool, tried: int) -> None:
    """Its fence came from a driver that it had replaced; a second one soon after is somebody else's who has a right to it."""
    guard, attempts = failing(tmp_path, FencedError("another driver has taken over"))
    guard.held = lambda: held or not attempts
    guard.run(drain=False)
    assert isinstance(guard.error, FencedError)
    assert len(attempts) == tried


@pytest.mark.parametrize(("answer", "over"), [(False, False), (True, True), (StreamingQueryException("it failed"), True)])
def test_a_query_is_waited_for_and_one_that_failed_has_ended(answer: bool | Exception, over: bool) -> None:
    class Query:
        def awaitTermination(self, timeout: float) -> bool:
            assert timeout == 0.25
            if isinstance(answer, Exception):
                raise answer
            return answer

    assert ended(Query(), 0.25) is over  # type: ignore[arg-type]


def test_a_driver_that_was_replaced_before_it_opened_its_run_leaves_the_catalogue_as_it_is(tmp_path: Path) -> None:
    """Its successor may run another plan: the generation of that one must not be given up for the plan of this one."""
    guard, attempts = failing(tmp_path, SinkError("never"))
    first = guard.catalog.open_generation(guard.job.name, guard.job.fingerprint)
    second = guard.catalog.open_generation(guard.job.name, "of the successor")
    guard.held = lambda: False
    guard.run(drain=False)
    assert (type(guard.error), attempts) == (FencedError, [])
    assert guard.catalog.open_generation(guard.job.name, "of the successor").name == second.name
    assert first.checkpoint.is_dir()


def test_a_run_that_was_opened_too_late_is_not_started(tmp_path: Path) -> None:
    """The stop came while it was being opened: a driver that hung there and was replaced must deliver nothing."""
    guard, _ = failing(tmp_path, SinkError("never"))
    ended: list[float] = []

    class Opened:
        def stop(self, timeout_s: float) -> None:
            ended.append(timeout_s)

    def open_run(generation: Generation) -> JobRun:
        guard.stop.set()
        return Opened()  # type: ignore[return-value]

    guard.open_run = open_run
    guard.run(drain=False)
    assert (guard.error, guard.progress.status, ended) == (None, "stopped", [0])

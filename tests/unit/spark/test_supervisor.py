"""A job whose engine is gone is given up at once and in plain words; other failures are tried again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from penstock.catalog import Catalog, Incarnation
from penstock.errors import EngineError, SinkError
from penstock.plan.load import load
from penstock.settings import load as load_settings
from penstock.share.jobs import jobs
from penstock.spark import supervisor
from penstock.spark.job import JobRun
from penstock.spark.supervisor import Guard

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy AS SELECT value FROM lines;
"""


def failing(folder: Path, error: Exception) -> tuple[Guard, list[Incarnation]]:
    """A guard of a job that cannot be opened, and its attempts."""
    (folder / "app.sql").write_text(APP, encoding="utf-8")
    attempts: list[Incarnation] = []

    def open_run(life: Incarnation) -> JobRun:
        attempts.append(life)
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

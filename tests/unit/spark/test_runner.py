"""A driver that lost its state folder opens nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.catalog import Incarnation
from penstock.errors import FencedError
from penstock.plan.load import load
from penstock.settings import load as load_settings
from penstock.share.jobs import jobs
from penstock.spark import runner
from penstock.spark.frames import App
from penstock.spark.hold import Hold
from penstock.spark.runner import SparkRunner

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy AS SELECT value FROM lines;
"""


def test_a_driver_that_hung_before_it_took_its_job_over_leaves_it_to_its_successor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.sql").write_text(APP, encoding="utf-8")
    declared = load(tmp_path / "app.sql")
    (job,) = jobs(declared)
    opened: list[Incarnation] = []
    monkeypatch.setattr(runner, "JobRun", lambda *given: opened.append(given[-1]))
    nothing: Any = None
    driver = SparkRunner(App(declared, load_settings(), tmp_path, lambda name: name), lambda: nothing)
    life = Incarnation("copy", "life", tmp_path / "checkpoint", fresh=False)
    with Hold(tmp_path) as late, Hold(tmp_path, take_over=True), pytest.raises(FencedError, match="was taken over by"):
        driver._open_run(nothing, nothing, job, set(), late, life)
    assert opened == []

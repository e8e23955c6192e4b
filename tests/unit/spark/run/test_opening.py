"""A driver that lost its state folder opens nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from penstock.catalog import Catalog, Generation
from penstock.errors import FencedError
from penstock.plan.load import load
from penstock.settings import load as load_settings
from penstock.share.jobs import jobs
from penstock.spark.compile.frames import AppContext
from penstock.spark.run import opening
from penstock.spark.run.faults.parts import Parts
from penstock.spark.run.lock import StateLock
from penstock.spark.run.opening import Opening

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy AS SELECT value FROM lines;
"""


def test_a_driver_that_hung_before_it_took_its_job_over_leaves_it_to_its_successor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.sql").write_text(APP, encoding="utf-8")
    declared = load(tmp_path / "app.sql")
    (job,) = jobs(declared)
    opened: list[Generation] = []
    monkeypatch.setattr(opening, "JobRun", lambda *given: opened.append(given[-1]))
    nothing: Any = None
    app = AppContext(declared, load_settings(), tmp_path, lambda name: name)
    generation = Generation("copy", "generation", tmp_path / "checkpoint", fresh=False)
    with StateLock(tmp_path) as late, StateLock(tmp_path, take_over=True), pytest.raises(FencedError, match="was taken over by"):
        Opening(nothing, lambda: app, lambda: nothing, late, Parts(), Catalog(tmp_path), nullcontext(), ()).open_run(job, generation)
    assert opened == []

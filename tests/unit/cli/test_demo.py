"""The demo's own folder: what it removes, and when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.demo import _prepare
from penstock.errors import StateError
from penstock.spark.run.lock import StateLock


def test_a_demo_that_still_runs_is_left_alone(tmp_path: Path) -> None:
    _prepare(tmp_path / "state", keep=False)
    (tmp_path / "state" / "jobs").mkdir()
    with StateLock(tmp_path / "state"), pytest.raises(StateError, match="still runs in"):
        _prepare(tmp_path / "state", keep=False)
    assert (tmp_path / "state" / "jobs").exists()
    _prepare(tmp_path / "state", keep=False)
    assert not (tmp_path / "state" / "jobs").exists()


def test_a_folder_that_somebody_still_writes_to_is_one_clear_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _prepare(tmp_path / "state", keep=False)
    (tmp_path / "state" / "jobs").mkdir()

    def not_empty(folder: Path) -> None:
        raise OSError(39, "Directory not empty", str(folder))

    monkeypatch.setattr("penstock.cli.demo.shutil.rmtree", not_empty)
    with pytest.raises(StateError, match="just stopping"):
        _prepare(tmp_path / "state", keep=False)

"""Copies of tables go when no epoch of a generation that is kept needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.spark.checkpoint.table_log import add_changes, changed_tables
from penstock.spark.compile.table_versions import TableVersions, _open
from penstock.spark.run.job_tables import drop_unneeded


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for version in ("v1", "v2", "v3", "v4"):
        (tmp_path / "tables" / "cards" / version).mkdir(parents=True)
        (tmp_path / "tables" / "cards" / version / "cards.csv").touch()
    (tmp_path / "tables" / "cards" / ".v5-1234").mkdir()
    return tmp_path


def joined(state: Path, job: str, generation: str, *versions: str, whole: bool = False) -> Path:
    checkpoint = state / "checkpoints" / job / generation
    checkpoint.mkdir(parents=True)
    for epoch, version in enumerate(versions):
        add_changes(checkpoint, epoch, {"cards": version}, {"cards"} if whole else ())
    return checkpoint


def copies(state: Path) -> set[str]:
    return {copy.name for copy in (state / "tables" / "cards").iterdir()} - {".v5-1234"}


def test_every_version_that_rows_of_a_kept_generation_joined_stays(state: Path) -> None:
    joined(state, "spend", "one", "v1", "v2")
    joined(state, "sold", "two", "v2", "v3")
    drop_unneeded(state)
    assert copies(state) == {"v1", "v2", "v3"}


def test_where_the_newest_counts_for_all_rows_the_others_go_but_the_one_before(state: Path) -> None:
    checkpoint = joined(state, "best", "one", "v1", "v2", "v1", "v3", "v4", whole=True)
    drop_unneeded(state)
    assert copies(state) == {"v3", "v4"}
    assert len(changed_tables(checkpoint)["cards"]) == 5


def test_what_a_running_job_has_open_stays_though_no_epoch_has_joined_it_yet(state: Path) -> None:
    versions = TableVersions(state / "tables")
    versions.used["cards"] = "v4"
    _open.add(versions)
    drop_unneeded(state)
    assert copies(state) == {"v4"}
    del versions
    drop_unneeded(state)
    assert copies(state) == set()
    assert (state / "tables" / "cards" / ".v5-1234").exists(), "it is being written"


def test_there_may_be_no_copies_at_all(tmp_path: Path) -> None:
    drop_unneeded(tmp_path)

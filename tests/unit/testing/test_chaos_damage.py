from __future__ import annotations

from pathlib import Path

import pytest

from penstock.catalog import Catalog
from penstock.testing.chaos.damage import WAYS, mend, spoil


def test_only_a_checkpoint_that_is_in_use_is_spoilt(tmp_path: Path) -> None:
    """Damage to what an earlier life left would be seen by nobody."""
    catalog = Catalog(tmp_path)
    for plan in ("first", "second"):
        checkpoint = catalog.incarnation("job", plan).checkpoint
        for log in ("offsets", "commits"):
            (checkpoint / log).mkdir()
            (checkpoint / log / "0").write_text("v1", encoding="utf-8")
    present = catalog.current("job")
    assert present is not None
    for choice in range(40):
        spoilt = spoil(tmp_path, ["job"], choice)
        assert spoilt is not None
        assert present[1] in spoilt.path.parents
        spoilt.restore()


def test_without_a_checkpoint_there_is_nothing_to_spoil(tmp_path: Path) -> None:
    assert spoil(tmp_path, ["job"], 3) is None


@pytest.mark.parametrize("choice", [31 * number for number in range(len(WAYS))])
def test_a_file_that_a_run_has_written_anew_is_left_as_it_is(tmp_path: Path, choice: int) -> None:
    checkpoint = Catalog(tmp_path).incarnation("job", "plan").checkpoint
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir()
        (checkpoint / log / "0").write_text("old one", encoding="utf-8")
    spoilt = spoil(tmp_path, ["job"], choice)
    assert spoilt is not None
    spoilt.path.write_text("another", encoding="utf-8")
    spoilt.restore()
    assert spoilt.path.read_text(encoding="utf-8") == "another"
    assert mend(tmp_path) is None

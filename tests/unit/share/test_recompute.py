"""How many real queries still read the history again in every epoch: as few as ever, and no more."""

from __future__ import annotations

from pathlib import Path

from penstock.bench.nexmark.generate import STREAMS
from penstock.bench.nexmark.queries import NAMES, app
from penstock.testing import golden
from penstock.wiring import open_app

QUERIES = Path(__file__).parents[2] / "queries"
GOLDEN_MAX = 12
NEXMARK = {"q5", "q6", "q7", "q15"}


def test_of_the_golden_queries_no_more_than_before(tmp_path: Path) -> None:
    found = {case.name: open_app(golden.prepare([case], tmp_path / case.name)).explain(case.view) for case in golden.cases(QUERIES)}
    assert len(found) > 150
    again = {name: explained.reason for name, (explained,) in found.items() if explained.strategy == "recompute"}
    assert len(again) <= GOLDEN_MAX, again


def test_of_the_nexmark_queries_no_other_than_before(tmp_path: Path) -> None:
    for stream in STREAMS:
        (tmp_path / stream).mkdir()
    (tmp_path / "side_input.csv").write_text("key,value\n", encoding="utf-8")
    (tmp_path / "app.sql").write_text(app(tmp_path, list(NAMES)), encoding="utf-8")
    assert {entry.view for entry in open_app(tmp_path).explain() if entry.strategy == "recompute"} <= NEXMARK

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.bench.frame import run
from penstock.bench.nexmark.generate import STREAMS
from penstock.bench.nexmark.queries import HERE, NAMES, app
from penstock.errors import OptionFault
from penstock.wiring import open_app

DOC = Path(__file__).parents[3] / "docs" / "bench.md"


def test_the_table_in_the_docs_says_how_each_query_is_kept(tmp_path: Path) -> None:
    for stream in STREAMS:
        (tmp_path / stream).mkdir()
    (tmp_path / "side_input.csv").write_text("key,value\n", encoding="utf-8")
    (tmp_path / "app.sql").write_text(app(tmp_path, NAMES), encoding="utf-8")
    explained = {one.view: str(one.strategy) for one in open_app(tmp_path / "app.sql").explain()}
    listed = dict(re.findall(r"^\| (q\d+) \|.*\| ([a-z ]+) \|$", DOC.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert listed == {name: explained[name] for name in NAMES}


def test_flink_has_a_text_for_each_query_or_says_why_not() -> None:
    assert all((HERE / "flink" / f"{name}.sql").read_text(encoding="utf-8").strip() for name in NAMES)


def test_an_option_that_a_benchmark_does_not_take_is_refused() -> None:
    with pytest.raises(OptionFault, match="does not take --rows"):
        run("ysb", events=None, rounds=1, report=print, rows=5)

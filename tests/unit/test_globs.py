"""Braces in a path leave the same choices wherever it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.globs import expanded, matches
from penstock.plan.check.files import file_findings
from penstock.plan.model.declare import Declared, Table
from penstock.schema import Schema
from penstock.source.files.follow import sizes
from penstock.source.files.source import present


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("d/*.json", ["d/*.json"]),
        ("d/{a,b}/*.json", ["d/a/*.json", "d/b/*.json"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("{a,b{1,2}c}/x", ["a/x", "b1c/x", "b2c/x"]),
        ("x{,.gz}", ["x", "x.gz"]),
        ("{one}", ["one"]),
        ("a{b,c", ["a{b,c"]),
        ("a}b", ["a}b"]),
    ],
)
def test_braces_are_choices(pattern: str, plain: list[str]) -> None:
    assert list(expanded(pattern)) == plain


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.json").write_text("{}\n", encoding="utf-8")
    return tmp_path


def test_a_file_that_two_choices_mean_is_named_once(folder: Path) -> None:
    assert matches(f"{folder}/{{a,?}}") == [f"{folder}/{name}" for name in "abc"]


def test_history_reads_what_live_watches(folder: Path) -> None:
    assert present(f"{folder}/{{a,b}}/*.json") == [f"{folder}/a/1.json", f"{folder}/b/1.json"]


def test_tail_follows_the_files_of_a_brace(folder: Path) -> None:
    assert len(sizes(f"{folder}/{{a,b}}/*.json", {})) == 2


def test_a_folder_with_braces_in_its_name_is_followed(tmp_path: Path) -> None:
    (tmp_path / "{a,b}").mkdir()
    (tmp_path / "{a,b}" / "1.log").write_text("x\n", encoding="utf-8")
    assert len(sizes(f"{tmp_path}/{{a,b}}", {})) == 1


@pytest.mark.parametrize(("path", "errors"), [("{a,b}/*.json", 0), ("{x,y}/*.json", 1)])
def test_a_table_of_a_brace_is_there_if_one_choice_is(folder: Path, path: str, errors: int) -> None:
    table = Table("t", Schema(()), {"connector": "files", "path": path})
    assert len(list(file_findings(Declared("app", folder, {"t": table})))) == errors

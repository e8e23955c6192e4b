"""The little style that a test can hold: what ruff, mypy and import-linter do not see."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))
LINES_MAX = 400

# Modules longer than LINES_MAX, each with its reason.
LONG: dict[str, str] = {}

# Folders of the package, as ARCHITECTURE.md draws them.
FOLDERS = {"source", "decode", "plan", "share", "spark", "sink", "subscribe", "web", "cli", "models", "testing", "bench"}

# Tests that may be left out on some machines, each with its reason. `make test` runs all the others.
SKIPS: dict[str, str] = {}

VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "internals", "core", "base"}
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(work|home/[a-z]+|root|Users|farm)/|/tmp/bash_jobs")
REGISTRY = re.compile(r"--(extra-)?index-url|--trusted-host|<mirror>|<repositories>")
OPEN_END = re.compile(r"\b(TODO|FIXME|XXX)\b|\bNotImplementedError\b")


def tracked() -> list[Path]:
    """The text files of the repository, as git lists them."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in found if path.is_file() and b"\0" not in path.read_bytes()[:1024]]


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_package_was_found() -> None:
    assert len(MODULES) > 20


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_fits_the_head_or_says_why_not(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LINES_MAX or shown(path) in LONG


def test_the_list_of_long_modules_is_true() -> None:
    too_long = {shown(path) for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > LINES_MAX}
    assert set(LONG) <= too_long
    assert all(LONG.values())


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_names_are_domain_words() -> None:
    vague = [shown(path) for path in MODULES if VAGUE & {path.stem, path.parent.name}]
    assert vague == []


def test_every_folder_is_on_the_map() -> None:
    package = ROOT / "src" / "penstock"
    found = {path.parent.relative_to(package).parts[0] for path in MODULES if path.parent != package}
    assert found <= FOLDERS
    drawn = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert [folder for folder in sorted(found) if f"{folder}/" not in drawn] == []


def test_nothing_is_left_open() -> None:
    here = Path(__file__).name
    left = [shown(path) for path in tracked() if path.suffix == ".py" and path.name != here and OPEN_END.search(path.read_text(encoding="utf-8"))]
    assert left == []


def test_no_path_or_host_of_one_machine() -> None:
    here = Path(__file__).name
    bound = []
    for path in tracked():
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.name != here and (MACHINE_PATH.search(text) or REGISTRY.search(text)):
            bound.append(shown(path))
    assert bound == []


def test_every_test_runs_or_says_why_not() -> None:
    marks = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b")
    found = {
        shown(path) for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name and marks.search(path.read_text(encoding="utf-8"))
    }
    assert found == set(SKIPS)

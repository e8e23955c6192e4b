"""The little style that a test can hold: what ruff, mypy and import-linter do not see."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "src").rglob("*.py"))
SOURCE = ROOT / "src" / "penstock"
LINES_MAX = 400
BRANCHES_MAX = 20

# Modules longer than LINES_MAX, each with its reason.
LONG: dict[str, str] = {}

# Folders of the package, as ARCHITECTURE.md draws them.
FOLDERS = {
    "source",
    "decode",
    "plan",
    "share",
    "spark",
    "store",
    "sink",
    "subscribe",
    "observe",
    "verify",
    "chaos",
    "web",
    "cli",
    "interactive",
    "client",
    "models",
    "testing",
    "dev",
    "bench",
}

# Tests that may be left out on some machines, each with its reason. `make test` runs all the others.
SKIPS: dict[str, str] = {
    "tests/test_deploy.py": "only systemd itself can say whether it takes a unit",
    "tests/promises/test_outages.py": "a small disk that can be filled is mounted, which only root may do",
}

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
def test_a_function_has_few_branches(path: Path) -> None:
    functions = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    many = {function.name: count for function in functions if (count := branches(function)) > BRANCHES_MAX}
    assert not many


def branches(node: ast.AST) -> int:
    """How often the way through a function parts: if, loop, case, except, `and`, `or`; a function inside of it counts for itself."""
    found = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(child, ast.match_case) and "assert_never" in ast.unparse(child.body[0]):  # no way leads there, mypy says
            continue
        found += isinstance(child, ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.match_case | ast.comprehension)
        found += len(child.ifs) if isinstance(child, ast.comprehension) else len(child.values) - 1 if isinstance(child, ast.BoolOp) else 0
        found += branches(child)
    return found


def test_branches_are_counted() -> None:
    text = "def f(a):\n    if a and a:\n        return [b for b in a if b]\n    while a:\n        def g(): return 1 if a else 2\n"
    assert branches(ast.parse(text).body[0]) == 5


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


DOTTED = re.compile(r"`((?:penstock\.)?[a-z_]+(?:\.[A-Za-z_]+)+)`")


def test_names_in_docstrings_and_comments_are_there() -> None:
    """A module that is named as `room.module` or `room.module.name` exists, and holds that name."""
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    rooms = {name.split(".")[0] for name in modules if "." in name}
    stale = []
    for path in modules.values():
        for name in DOTTED.findall(path.read_text(encoding="utf-8")):
            words = name.removeprefix("penstock.").split(".")
            home = next((".".join(words[:end]) for end in range(len(words), 0, -1) if ".".join(words[:end]) in modules), "")
            rest = words[len(home.split(".")) :] if home else words
            if words[0] in rooms and not (home and all(re.search(rf"\b{word}\b", modules[home].read_text(encoding="utf-8")) for word in rest)):
                stale.append(f"{path.relative_to(SOURCE)}: {name}")
    assert stale == []

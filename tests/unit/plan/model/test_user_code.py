"""Python functions of an app, known by `module:name`; their files are read, not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PlanFault, Where
from penstock.plan.model.user_code import digest, is_target, takes, target_of

CODE = """
FACTOR = 2

def helper(x):
    return x * FACTOR

def score(amount, country=None):
    return helper(amount)

def other(*values):
    return 1
"""


def written(folder: Path, text: str) -> Path:
    (folder / "scoring.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("text", "whether"), [("a:b", True), ("a.b:c", True), ("a", False), ("a:", False), ("a:b:c", False), ("a/b:c", False)])
def test_a_target_is_module_and_name(text: str, whether: bool) -> None:
    assert is_target(text) is whether


def test_how_many_arguments_are_taken_is_read_from_the_file(tmp_path: Path) -> None:
    folder = written(tmp_path, CODE)
    assert takes(folder, "scoring:score") == (1, 2)
    assert takes(folder, "scoring:other") == (0, None)
    assert takes(folder, "scoring:missing") is None
    assert takes(folder, "nowhere:score") is None


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("\ndef score", "\n# a comment\n\ndef score", False),
        ("return 1", "return 2", False),
        ("helper(amount)", "helper(amount) + 1", True),
        ("x * FACTOR", "x + FACTOR", True),
        ("FACTOR = 2", "FACTOR = 3", True),
    ],
)
def test_a_function_changes_with_what_it_uses_of_its_file(tmp_path: Path, old: str, new: str, changes: bool) -> None:
    before = digest(written(tmp_path, CODE), "scoring:score")
    assert (digest(written(tmp_path, CODE.replace(old, new)), "scoring:score") != before) is changes


def top_level() -> None:
    """A function that has a name."""


def test_a_function_is_known_by_name_or_refused() -> None:
    assert target_of(top_level, Where("a.py", 1)) == f"{__name__}:top_level"
    for strange in (lambda: None, len):
        with pytest.raises(PlanFault, match="not a function with a name of its own"):
            target_of(strange, Where("a.py", 1))

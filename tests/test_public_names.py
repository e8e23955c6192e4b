"""The public surface is one list: what `import penstock` shows is what `__all__` names."""

from __future__ import annotations

import tomllib
from pathlib import Path

import penstock

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def test_all_is_what_is_visible() -> None:
    assert dir(penstock) == sorted(penstock.__all__)


def test_all_is_sorted_and_holds_no_name_twice() -> None:
    assert list(penstock.__all__) == sorted(set(penstock.__all__))


def test_every_public_name_is_there_and_documented() -> None:
    assert [name for name in penstock.__all__ if not getattr(penstock, name).__doc__] == []


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    assert not hasattr(penstock, "Spark")


def test_the_version_is_the_project_s() -> None:
    assert penstock.__version__ == tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]

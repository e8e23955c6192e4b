"""The public surface is one list: what `import penstock` shows is what `__all__` names."""

from __future__ import annotations

from types import ModuleType

import penstock


def test_all_is_what_is_visible() -> None:
    visible = {
        name for name, value in vars(penstock).items() if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    assert visible == set(penstock.__all__)


def test_all_is_sorted_and_holds_no_name_twice() -> None:
    assert list(penstock.__all__) == sorted(set(penstock.__all__), key=str.lower)


def test_every_public_name_is_documented() -> None:
    assert [name for name in penstock.__all__ if not getattr(penstock, name).__doc__] == []

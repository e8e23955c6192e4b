"""Verbs that read once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.change import Rows
from penstock.cli import read
from penstock.errors import PlanFault
from penstock.schema import Column, Schema


def test_a_view_that_cannot_be_computed_leaves_the_others(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def computed(view: str) -> Rows:
        if view.startswith("broken"):
            raise PlanFault(f"view `{view}`: Division by zero")
        return Rows(Schema((Column("n", "int"),)), iter(['{"n":1}']))

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[Any]:
        yield SimpleNamespace(declared=SimpleNamespace(views=["a", "broken1", "b", "broken2", "c"]), batch=computed)

    monkeypatch.setattr(read, "opened", opened)
    with pytest.raises(PlanFault, match="broken2"):
        read.batch(None, json=True)  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [f'{{"view": "{view}", "row": {{"n":1}}}}' for view in "abc"]
    assert printed.err == "error: view `broken1`: Division by zero\n"

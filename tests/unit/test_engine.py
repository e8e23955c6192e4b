"""The engine asks its runner for the right view, whatever the case of the name."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from penstock.change import Rows
from penstock.engine import Engine, Runner
from penstock.plan.model.declare import Declared, Stream
from penstock.schema import Schema
from penstock.settings import Settings


class Letters:
    """A runner that only has dead letters."""

    def dead(self, stream: str) -> Rows:
        return Rows(Schema(()), iter([stream]))


@pytest.mark.parametrize("name", ["Orders__dead", "orders__dead", "ORDERS__DEAD"])
def test_dead_letters_are_found_whatever_the_case_of_their_stream(name: str) -> None:
    declared = Declared("app", Path("."), {"Orders": Stream("Orders", Schema(()), {})})
    engine = Engine(declared, cast(Settings, None), Path("."), [], lambda declared: cast(Runner, Letters()))
    assert list(engine.peek(name).lines) == ["Orders"]

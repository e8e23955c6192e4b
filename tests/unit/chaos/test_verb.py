"""`penstock chaos` says what it can do, and what is wrong with what it is asked for."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.chaos.apps import ROUTES
from penstock.chaos.faults import FAULTS
from penstock.errors import NameFault, OptionFault


def test_the_list_has_every_fault_and_every_built_in_app() -> None:
    shown = CliRunner().invoke(program(), ["chaos", "--list"]).output
    assert [fault.name for fault in FAULTS if fault.name not in shown or fault.words not in shown] == []
    assert [name for name in ROUTES if name not in shown] == []


def test_without_an_app_or_with_one_that_is_not_there_nothing_is_started() -> None:
    for arguments in ([], ["nowhere.sql"]):
        with pytest.raises(OptionFault):
            CliRunner().invoke(program(), ["chaos", *arguments], catch_exceptions=False)


def test_an_unknown_fault_is_reported_before_anything_is_started() -> None:
    with pytest.raises(NameFault, match="kill-everything"):
        CliRunner().invoke(program(), ["chaos", "files-sqlite", "--faults", "kill-everything"], catch_exceptions=False)

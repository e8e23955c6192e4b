"""The shell: what it completes, and its dot commands."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from penstock.cli.shell import Names, obey
from penstock.cli.sql import timed_answer
from penstock.engine import Engine, Runner
from penstock.plan.model.declare import Declared, Sink, Stream, View
from penstock.plan.model.nodes import Scan
from penstock.schema import Column, Schema
from penstock.settings import Settings

DECLARED = Declared(
    "shop",
    Path("shop"),
    {
        "Payments": Stream("Payments", Schema((Column("card", "string"), Column("amount", "decimal(12,2)"))), {"connector": "socket"}),
        "totals": View("totals", Scan("Payments"), text="SELECT sum(amount) AS total_spent FROM Payments"),
        "out": Sink("out", "totals", {"connector": "console"}),
    },
)


def no_spark(declared: Declared) -> Runner:
    raise AssertionError("this must not need Spark")


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(DECLARED, Settings(MappingProxyType({})), tmp_path, [], no_spark)


def completed(text: str) -> list[str]:
    return [found.text for found in Names(DECLARED).get_completions(Document(text), CompleteEvent())]


def test_names_columns_and_keywords_are_completed_without_regard_to_case() -> None:
    assert completed("SELECT * FROM pay") == ["Payments"]
    assert completed("SELECT am") == ["amount"]
    assert completed("SELECT total") == ["total_spent", "totals"]
    assert completed("sel") == ["SELECT"]


def test_a_sink_cannot_be_queried_so_it_is_not_offered() -> None:
    assert completed("SELECT * FROM ou") == []


def test_dot_commands_and_their_names_are_completed() -> None:
    assert completed(".s") == [".schema"]
    assert completed(".schema to") == ["totals"]


def test_tables_and_schema_are_reported_without_spark(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert obey(engine, ".tables")
    assert obey(engine, ".schema payments;")
    assert capsys.readouterr().out.splitlines() == ["Payments  stream", "totals    view", "card    string", "amount  decimal(12,2)"]


def test_a_mistake_does_not_end_the_shell(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert obey(engine, ".nonsense")
    assert obey(engine, ".schema nothing")
    timed_answer(engine, "CREATE MATERIALIZED VIEW v AS SELECT 1", json=False)
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")] == [
        "error: there is no command `.nonsense`",
        "error: there is no stream, table or view `nothing`",
        "error: CREATE does not belong in the shell: what an app declares stands in its files",
    ]


def test_quit_leaves(engine: Engine) -> None:
    assert not obey(engine, ".quit")

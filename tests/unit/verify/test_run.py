"""Which views and places `verify` compares, and what it says of those that it does not. What Spark would answer is given by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.__main__ import program
from penstock.catalog import Catalog
from penstock.change import Change, Epoch
from penstock.errors import StateError
from penstock.schema import Column, Schema
from penstock.share.jobs import jobs
from penstock.sink.files.sink import FilesSink
from penstock.sink.spec import SinkSpec
from penstock.store.sqlite import SqliteStore
from penstock.verify import run
from penstock.verify.expected import Expected
from penstock.verify.report import Verdict, summary
from penstock.verify.rows import Row
from penstock.wiring import open_app

APP = """
CREATE STREAM a (value STRING) WITH (connector = 'files', path = 'a', format = 'text');
CREATE STREAM b (value STRING) WITH (connector = 'files', path = 'b', format = 'text');
CREATE MATERIALIZED VIEW fed AS SELECT value FROM a;
CREATE MATERIALIZED VIEW idle AS SELECT value FROM b;
CREATE SINK idle_out FROM idle WITH (connector = 'files', path = 'out');
"""
LINES = Schema((Column("value", "string"),))
ROW = '{"value":"x"}'


class Oracle:
    """Expects one row of every view that has an epoch; nobody may ask for one that has none."""

    def __init__(self, spark: object, app: object) -> None: ...

    def expected(self, generation: Any, member: Any, epoch: int) -> Expected:
        assert generation.last >= 0
        return Expected(LINES, [Row(ROW)] if epoch >= 0 else [])


class Bench:
    """An app whose jobs have generations, but only those that were fed an epoch."""

    def __init__(self, folder: Path, more: str = "") -> None:
        (folder / "app.sql").write_text(APP + more, encoding="utf-8")
        self.folder, self.engine = folder, open_app(folder, state=folder / "state")
        self.engine.state.mkdir()
        catalog, self.store = Catalog(self.engine.state), SqliteStore(self.engine.state / "results.db")
        self.generations = {job.name: catalog.open_generation(job.name, job.fingerprint) for job in jobs(self.engine.declared)}
        self.fences = {name: self.store.take_over(name, generation.name).fence for name, generation in self.generations.items()}

    def planned(self, view: str) -> None:
        offsets = self.generations[view].checkpoint / "offsets"
        offsets.mkdir()
        (offsets / "0").write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1}\n{"logOffset":0}', encoding="utf-8")

    def committed(self, view: str) -> None:
        with self.store.open_epoch(view, self.generations[view].name, self.fences[view], 0) as writer:
            writer.append(view, [ROW])

    def delivered(self, view: str) -> None:
        spec = SinkSpec(f"{view}_out", view, {"connector": "files", "path": "out"}, LINES, None, True, False, self.folder)
        FilesSink(spec).deliver(Epoch(view, self.generations[view].name, 0, [Change("+", None, ROW)]))

    def verdicts(self, view: str | None = None) -> list[Verdict]:
        return list(run.verify(self.engine, view, session=object()))  # type: ignore[arg-type]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Bench]:
    monkeypatch.setattr(run, "Oracle", Oracle)
    found = Bench(tmp_path, getattr(request, "param", ""))
    found.planned("fed")
    found.committed("fed")
    yield found
    found.store.close()


def summed_up(verdicts: list[Verdict]) -> list[tuple[str, str | None, object, str]]:
    return [(verdict.view, verdict.sink, verdict.as_json()["equal"], verdict.unread) for verdict in verdicts]


def test_a_view_without_input_is_not_compared_and_the_others_are(bench: Bench) -> None:
    found = bench.verdicts()
    nothing = "nothing was consumed yet"
    assert summed_up(found) == [("fed", None, True, ""), ("idle", None, None, nothing), ("idle", "idle_out", None, nothing)]
    assert all(verdict.equal for verdict in found)
    assert summary(found) == "verified: 1 row in 1 place are what a batch run over the same input gives; 2 places not compared"


def test_a_view_without_input_that_is_asked_for_says_so(bench: Bench) -> None:
    with pytest.raises(StateError, match="view `idle` has consumed nothing yet"):
        bench.verdicts("idle")


def test_rows_in_the_store_without_any_input_are_a_lost_checkpoint(bench: Bench) -> None:
    bench.committed("idle")
    with pytest.raises(StateError, match=r"the results store has epoch 0, but .* has committed -1"):
        bench.verdicts()


def test_a_sink_that_holds_rows_without_any_input_is_not_equal(bench: Bench) -> None:
    bench.delivered("idle")
    found = bench.verdicts()[-1]
    assert not found.equal
    assert "sink `idle_out` has epoch 0 of view `idle`, but the results store only -1" in found.refused


TOPIC = "WITH (connector = 'kafka', servers = 'localhost:9', topic = 'alerts');"


@pytest.mark.parametrize(
    "bench",
    ["CREATE MATERIALIZED VIEW shown WITH (store = false) AS SELECT value FROM a; CREATE SINK screen FROM shown WITH (connector = 'console');"],
    indirect=True,
)
def test_the_verb_says_no_where_there_is_nothing_that_could_be_read_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.planned("shown")
    monkeypatch.setattr("penstock.spark.session.jvm.start_ahead", lambda *_: None)
    monkeypatch.setattr(run, "_open", lambda app: object())
    monkeypatch.setattr(run, "stop_session", lambda: None)
    for view, code, words in (("shown", 1, "NOTHING was verified"), ("fed", 0, "verified: 1 row in 1 place")):
        done = CliRunner().invoke(program(), ["verify", str(bench.folder), view, "--state", str(bench.engine.state)])
        assert (done.exit_code, words in done.stderr) == (code, True), done.output


@pytest.mark.parametrize("bench", [f"CREATE SINK one FROM fed {TOPIC} CREATE SINK two FROM idle {TOPIC}"], indirect=True)
def test_sinks_that_cannot_be_distinguished_are_not_compared(bench: Bench) -> None:
    found = bench.verdicts("fed")
    assert summed_up(found)[-1] == ("fed", "one", None, "shared with sink `two`, whose rows cannot be distinguished from its own")
    assert all(verdict.equal for verdict in found)

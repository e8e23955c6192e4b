"""As of which epoch `verify` compares a sink, and when it says what a run says: that the sink has lost epochs."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.change import Change, Epoch
from penstock.errors import StateError
from penstock.plan.load import load
from penstock.schema import Column, Schema
from penstock.share.jobs import jobs
from penstock.sink.files.sink import FilesSink
from penstock.sink.postgres.sink import PostgresSink
from penstock.sink.spec import SinkSpec
from penstock.spark.checkpoint.agreement import names_in_store
from penstock.store.protocol import FenceToken
from penstock.store.sqlite import SqliteStore
from penstock.verify.consumed import Consumed
from penstock.verify.files import read_files
from penstock.verify.rows import Reader
from penstock.verify.standing import Standing, known, place_of, standing

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy WITH (store = {stored}) AS SELECT value FROM lines;
CREATE SINK out FROM copy WITH (connector = 'files', path = 'out');
"""
LINES = Schema((Column("value", "string"),))
BEGAN = datetime(2024, 5, 1, tzinfo=UTC)


class Bench:
    """A store, a folder that a sink delivers to, and what `verify` makes of them."""

    def __init__(self, folder: Path, *, stored: bool) -> None:
        (folder / "app.sql").write_text(APP.format(stored=str(stored).lower()), encoding="utf-8")
        (job,) = jobs(load(folder / "app.sql"))
        self._stored, self._path = stored, folder / "results.db"
        self.consumed = Consumed(job, "generation", folder / "checkpoint", BEGAN, ("lines",))
        self.spec = SinkSpec("out", "copy", {"connector": "files", "path": "out"}, LINES, None, True, False, folder)
        self.out = folder / "out"
        self.sink, self.store = FilesSink(self.spec), SqliteStore(self._path)
        self._token = FenceToken("copy", "generation", self.store.take_over("copy", "generation").fence)

    def planned(self, epoch: int) -> None:
        path = self.consumed.checkpoint / "offsets" / str(epoch)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('v1\n{"batchWatermarkMs":0,"batchTimestampMs":1}\n{"logOffset":0}', encoding="utf-8")

    def committed(self, epoch: int, *rows: str) -> None:
        self.planned(epoch)
        with self.store.open_epoch("copy", "generation", self._token.fence, epoch) as writer:
            if self._stored and rows:
                writer.append("copy", rows)

    def delivered(self, epoch: int) -> None:
        self.sink.deliver(Epoch("copy", "generation", epoch, [Change("+", None, json.dumps({"value": str(epoch)}))]))

    def confirmed(self, epoch: int) -> None:
        self.store.set_delivered(self._token, names_in_store("out", "copy", self.spec.options, self.sink.ledger)[1], epoch)

    def ran(self, epochs: int) -> None:
        for epoch in range(epochs):
            self.committed(epoch, '{"value":"x"}')
            self.delivered(epoch)
            self.confirmed(epoch)

    def at(self) -> int:
        return read_files(self.spec, Reader(LINES, None), "generation", BEGAN, lambda: -1).epoch

    def standing(self) -> Standing:
        with closing(sqlite3.connect(self._path)) as connection:

            def fetch(text: str, *values: object) -> list[tuple[Any, ...]]:
                return connection.execute(text, values).fetchall()

            before = known(fetch, self.consumed, self.spec, place_of(self.spec))
            return standing(fetch, self.consumed, self.consumed.job.members[0], self.spec, before, self.at())


@pytest.fixture(params=[True, False], ids=["stored", "unstored"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    found = Bench(tmp_path, stored=request.param)
    yield found
    found.store.close()


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path, stored=True)
    yield found
    found.store.close()


def test_a_sink_that_has_all_is_compared_as_of_the_newest_epoch(bench: Bench) -> None:
    bench.ran(3)
    assert bench.standing() == Standing(2)


def test_a_sink_restored_from_an_older_copy_has_lost_epochs(bench: Bench, tmp_path: Path) -> None:
    bench.ran(1)
    shutil.copytree(bench.out, tmp_path / "older")
    for epoch in (1, 2):
        bench.committed(epoch, '{"value":"x"}')
        bench.delivered(epoch)
        bench.confirmed(epoch)
    shutil.rmtree(bench.out)
    (tmp_path / "older").rename(bench.out)
    found = bench.standing()
    assert (found.epoch, found.behind) == (2, 0)
    assert found.fault is not None
    assert "sink `out` has view `copy` up to epoch 0, but epochs up to 2 were delivered to it" in found.fault.message
    assert str(bench.out / "_penstock") in found.fault.message


def test_a_folder_without_its_marker_and_its_newest_epoch_has_lost_it(bench: Bench) -> None:
    bench.ran(3)
    shutil.rmtree(bench.out / "epoch=2")
    (bench.out / "_penstock").unlink()
    found = bench.standing()
    assert found.epoch == 2
    assert found.fault is not None
    assert "up to epoch 1, but epochs up to 2" in found.fault.message


def test_a_sink_that_is_gone_has_lost_everything(bench: Bench) -> None:
    bench.ran(3)
    shutil.rmtree(bench.out)
    found = bench.standing()
    assert found.epoch == 2
    assert found.fault is not None
    assert "up to epoch -1, but epochs up to 2" in found.fault.message


def test_a_crash_before_the_store_confirms_is_no_loss(bench: Bench) -> None:
    bench.ran(2)
    bench.committed(2, '{"value":"x"}')
    bench.delivered(2)
    assert bench.standing() == Standing(2)


def test_a_sink_without_a_store_may_have_an_epoch_before_the_ledger_has_it(bench: Bench) -> None:
    bench.ran(2)
    bench.planned(2)
    bench.delivered(2)
    found = bench.standing()
    if bench.consumed.job.members[0].stored:
        assert found.fault is not None
        assert "has epoch 2 of view `copy`, but the results store only 1" in found.fault.message
    else:
        assert found == Standing(2)


def test_a_view_that_started_over_misses_nothing_of_its_last_generation(bench: Bench, tmp_path: Path) -> None:
    bench.ran(3)
    fence = bench.store.take_over("copy", "next").fence
    with bench.store.open_epoch("copy", "next", fence, 0):
        pass
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
        generation = Consumed(bench.consumed.job, "next", bench.consumed.checkpoint, BEGAN, ("lines",))
        before = known(lambda text, *values: connection.execute(text, values).fetchall(), generation, bench.spec, place_of(bench.spec))
    assert (before.confirmed, before.ledger) == (-1, 0)


def test_what_was_never_delivered_is_compared_as_of_the_ledger(bench: Bench) -> None:
    for epoch in range(3):
        bench.committed(epoch, '{"value":"x"}')
    found = bench.standing()
    assert (found.epoch, found.behind) == (2, 0)
    if bench.consumed.job.members[0].stored:
        assert found.fault is None
    else:
        assert found.fault is not None
        assert "misses epochs 0 to 2 of view `copy`, which keeps no store" in found.fault.message


def test_a_sink_that_lags_is_compared_as_of_its_own_epoch(stored: Bench) -> None:
    stored.ran(2)
    for epoch in (2, 3):
        stored.committed(epoch, '{"value":"x"}')
    assert stored.standing() == Standing(1, behind=2)


def test_a_sink_of_a_view_that_is_quiet_is_compared_as_of_the_newest_epoch(stored: Bench) -> None:
    """Spark has forgotten the epoch that the sink is at; what the view held then it holds now."""
    stored.ran(2)
    for epoch in range(2, 8):
        stored.committed(epoch)
    for epoch in range(6):
        (stored.consumed.checkpoint / "offsets" / str(epoch)).unlink()
    found = stored.standing()
    assert found == Standing(7)
    assert [logged.epoch for logged in stored.consumed.logged(found.epoch)] == [6, 7]


def test_a_sink_that_missed_changes_which_are_not_kept_is_not_taken_for_up_to_date(stored: Bench) -> None:
    stored.ran(2)
    stored.committed(2, '{"value":"x"}')
    stored.committed(3, '{"value":"x"}')
    stored.store.trim("copy", 0, 4)
    assert stored.standing().epoch == 1


def test_an_epoch_that_spark_has_forgotten_is_not_called_damage(stored: Bench) -> None:
    for epoch in (5, 6):
        stored.planned(epoch)
    with pytest.raises(StateError, match="what epoch 4 took is not known any more") as caught:
        stored.consumed.logged(4)
    assert "remove" not in str(caught.value.hint)
    assert [logged.epoch for logged in stored.consumed.logged(6)] == [5, 6]


def test_a_place_is_called_what_a_run_calls_it(tmp_path: Path) -> None:
    table = SinkSpec("out", "copy", {"connector": "postgres", "database": "d", "table": "s.t"}, LINES, None, True, False, tmp_path)
    folder = SinkSpec("out", "copy", {"connector": "files", "path": "out"}, LINES, None, True, False, tmp_path)
    assert (place_of(table), place_of(folder)) == (PostgresSink(table).ledger, FilesSink(folder).ledger)
    assert not (tmp_path / "out").exists()

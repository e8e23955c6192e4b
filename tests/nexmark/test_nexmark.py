"""Nexmark's 23 queries: live in several epochs, stopped and resumed, over history, and by DuckDB, all the same."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.bench.nexmark.generate import OF_FIFTY, STREAMS, Plan, write, write_side_input
from penstock.bench.nexmark.queries import HERE, NAMES, app
from penstock.testing.bag import bag, difference
from penstock.testing.duck import ask, load
from penstock.testing.trial import Trial

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import duckdb
    from penstock.change import Rows

DUCKDB = Path(__file__).parent / "duckdb"
PLAN = Plan(events=4000, files=2, rate=40)
SETTINGS = {"master": "local[2]", "driver_memory": "2g", "shuffle_partitions": "2", "batch_files_max": "1"}
RUN_TOGETHER = 12
# Results that would be empty or hold nothing of interest would prove nothing.
AT_LEAST = {"q2": 5, "q3": 5, "q5": 30, "q6": 50, "q7": 10, "q8": 10, "q11": 50, "q15": 2}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write(folder, PLAN)
    write_side_input(folder / "side_input.csv")
    return folder


@pytest.fixture(scope="module")
def second(data: Path) -> duckdb.DuckDBPyConnection:
    files = {stream: sorted((data / stream).iterdir()) for stream in STREAMS}
    return load((HERE / "streams.sql").read_text(encoding="utf-8"), {**files, "side_input": [data / "side_input.csv"]})


@dataclass
class Runs:
    """Apps of a dozen views, each run once: the first half of the files, a stop, the rest; then every view over history."""

    session: SparkSession
    folder: Path
    data: Path
    chosen: list[str]
    held: dict[str, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)

    def of(self, name: str) -> tuple[Counter[str], Counter[str]]:
        if name not in self.held:
            place = self.chosen.index(name) // RUN_TOGETHER * RUN_TOGETHER
            self.held |= self.run(self.chosen[place : place + RUN_TOGETHER])
        return self.held[name]

    def run(self, names: list[str]) -> dict[str, tuple[Counter[str], Counter[str]]]:
        trial = Trial(self.folder / names[0], self.session, SETTINGS)
        for stream in STREAMS:
            (trial.folder / stream).mkdir(parents=True)
        shutil.copy(self.data / "side_input.csv", trial.folder / "side_input.csv")
        trial.write("app.sql", app(trial.folder, names))
        for half in (range(PLAN.files // 2), range(PLAN.files // 2, PLAN.files)):
            for number in half:
                for stream in STREAMS:
                    trial.feed_bytes(stream, (self.data / stream / f"{number:05d}.json").read_bytes())
            trial.drain()
        with trial.engine() as engine:
            return {name: (_bag(engine.peek(name, None)), _bag(engine.batch(name))) for name in names}


def _bag(answer: Rows) -> Counter[str]:
    return bag(json.loads(line) for line in answer.lines)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, spark: SparkSession, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Of the queries that were chosen, so that `-k q4` runs an app with that one view."""
    items = [
        item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path and "runs" in item.fixturenames
    ]
    return Runs(spark, tmp_path_factory.mktemp("runs"), data, [str(item.callspec.params["name"]) for item in items])


def test_events_come_in_the_published_proportions_from_a_seed(data: Path, tmp_path: Path) -> None:
    counts = {stream: sum(path.read_bytes().count(b"\n") for path in (data / stream).iterdir()) for stream in STREAMS}
    assert counts == {stream: PLAN.events * share // 50 for stream, share in OF_FIFTY.items()}
    write(tmp_path, PLAN)
    assert all((tmp_path / stream / "00001.json").read_bytes() == (data / stream / "00001.json").read_bytes() for stream in STREAMS)


def test_hot_auctions_and_hot_bidders_get_their_share(second: duckdb.DuckDBPyConnection) -> None:
    (shares,) = ask(second, "SELECT avg((auction % 100 = 0)::INT) AS hot_auction, avg((bidder % 100 = 1)::INT) AS hot_bidder FROM bid")
    assert 0.45 < shares["hot_auction"] < 0.6
    assert 0.7 < shares["hot_bidder"] < 0.85


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_live_and_resumed_is_what_history_and_duckdb_give(name: str, runs: Runs, second: duckdb.DuckDBPyConnection) -> None:
    live, batch = runs.of(name)
    expected = bag(ask(second, (DUCKDB / f"{name}.sql").read_text(encoding="utf-8")))
    assert expected.total() >= AT_LEAST.get(name, 1)
    assert difference(expected, batch) == ""
    assert difference(expected, live) == ""

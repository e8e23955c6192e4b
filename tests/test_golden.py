"""Golden queries: each view holds its expected rows over history, and live after a stop and a resume in the middle."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engine import Engine
from penstock.errors import PenstockError
from penstock.observe.request import RunRequest
from penstock.testing import golden
from penstock.testing.golden import Case, Group
from penstock.testing.reference import Input, late_rows, sessions, watermark, windows
from penstock.wiring import open_app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).parent / "queries"
CASES = golden.cases(QUERIES)
EVERYDAY = [case for case in CASES if case.everyday or os.environ.get("PENSTOCK_GOLDEN") == "all"]
SMALL = {"master": "local[2]", "driver_memory": "2g", "shuffle_partitions": "2", "batch_files_max": "1"}
WITHOUT_CUT = ("stateless", "incremental")


def each_case() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_there_are_enough_queries_and_enough_of_them_are_cut() -> None:
    assert len(EVERYDAY) >= 80
    assert sum(case.cut for case in EVERYDAY) >= 25
    assert {path.stem for path in (QUERIES / "expected").iterdir()} == {case.name for case in CASES}
    assert {path.stem for path in (QUERIES / "duckdb").iterdir()} == {case.name for case in CASES}


@each_case()
def test_second_opinion_agrees(case: Case) -> None:
    assert golden.compare(case.expected, golden.second_opinion(case)) == ""


@pytest.mark.parametrize("stream", [entry for entry in golden.inputs(QUERIES) if entry.is_stream], ids=lambda entry: str(entry.name))
def test_no_input_row_comes_too_late(stream: Input) -> None:
    """Live drops rows behind the watermark and batch does not, so an input with one could not be golden."""
    assert late_rows(stream) == []


@each_case()
def test_explain_says_whether_it_is_cut(case: Case, tmp_path: Path) -> None:
    (explained,) = open_app(golden.prepare([case], tmp_path)).explain(case.view)
    assert case.cut == (explained.strategy not in WITHOUT_CUT), str(explained)


def test_compare_counts_copies_and_forgives_the_last_digits() -> None:
    assert golden.compare(['{"a": 1}', '{"a": 0.1}'], ['{"a": 0.10000000000001}', '{"a": 1.0}']) == ""
    assert golden.compare(['{"at": "2024-03-01T10:00:00.5Z"}'], ['{"at": "2024-03-01T10:00:00.500000Z"}']) == ""
    assert "1 missing, 0 too many" in golden.compare(['{"a": 1}', '{"a": 1}'], ['{"a": 1}'])
    assert "1 missing, 1 too many" in golden.compare(['{"a": 1, "b": 2}'], ['{"b": 2, "a": 1}'])
    assert "1 missing, 1 too many" in golden.compare(['{"a": "1.00"}'], ['{"a": "1.0"}'])


def test_reference_places_borders_in_the_later_window_and_joins_touching_sessions() -> None:
    noon = datetime(2024, 3, 1, 12, tzinfo=UTC)
    five = timedelta(minutes=5)
    assert windows(noon, five, five, timedelta()) == [(noon, noon + five)]
    assert [start for start, _ in windows(noon, 2 * five, five, timedelta())] == [noon, noon - five]
    assert sessions([noon + five, noon], five) == [(noon, noon + 2 * five)]
    just_after = noon + five + timedelta(milliseconds=1)
    assert sessions([noon, just_after], five) == [(noon, noon + five), (just_after, just_after + five)]
    assert watermark([noon + timedelta(microseconds=1999), None], five) == noon + timedelta(milliseconds=1) - five


@dataclass
class Answer:
    """What a view held in the end, or the error that came in between."""

    rows: list[str] = field(default_factory=list)
    error: str = ""


@dataclass
class Runs:
    """Runs each group of cases once, when the first of its cases asks; the other cases find their answers there."""

    spark: SparkSession
    folder: Path
    groups: list[Group]
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)

    def answer(self, mode: str, case: Case) -> Answer:
        if (mode, case.name) not in self.answers:
            (group,) = (group for group in self.groups if case in group.cases)
            self.answers |= {(mode, name): found for name, found in self.run(mode, group).items()}
        return self.answers[mode, case.name]

    def run(self, mode: str, group: Group) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        sound: list[Case] = []
        for case in group.cases:
            try:
                open_app(golden.prepare([case], self.folder / mode / "alone" / case.name))
                sound.append(case)
            except PenstockError as error:
                found[case.name] = Answer(error=str(error))
        if sound:
            run = self.over_history if mode == "batch" else self.live
            found |= run(sound, self.folder / mode / group.name)
        return found

    def over_history(self, chosen: list[Case], folder: Path) -> dict[str, Answer]:
        app = golden.prepare(chosen, folder)
        for k in range(1, golden.rounds(chosen) + 1):
            golden.feed(chosen, folder, k)
        engine = open_app(app, overrides=SMALL, session=self.spark)
        try:
            return {case.name: rows_of(engine, "batch", case) for case in chosen}
        finally:
            engine.close()

    def live(self, chosen: list[Case], folder: Path) -> dict[str, Answer]:
        """Every file is a micro-batch of its own (`batch_files_max`); the engine is closed and opened again half-way."""
        app = golden.prepare(chosen, folder)
        last = golden.rounds(chosen)
        middle = (last + 1) // 2
        error = ""
        for first, end in ((1, middle), (middle + 1, last)):
            for k in range(first, end + 1):
                golden.feed(chosen, folder, k)
            engine = open_app(app, overrides=SMALL, session=self.spark)
            try:
                engine.run(RunRequest(drain=True))
            except PenstockError as failed:
                error += str(failed)
            finally:
                engine.close()
        engine = open_app(app, overrides=SMALL, session=self.spark)
        try:
            found = {case.name: rows_of(engine, "peek", case) for case in chosen}
        finally:
            engine.close()
        return {name: Answer(answer.rows, answer.error or error) for name, answer in found.items()}


def rows_of(engine: Engine, verb: str, case: Case) -> Answer:
    try:
        rows = engine.batch(case.view) if verb == "batch" else engine.peek(case.view)
        return Answer(list(rows.lines))
    except PenstockError as error:
        return Answer(error=str(error))


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Groups of the cases that were chosen, so that `-k name` runs an app with that one query."""
    items = [
        item for item in request.session.items if isinstance(item, pytest.Function) and item.path == Path(__file__) and "runs" in item.fixturenames
    ]
    chosen = [item.callspec.params["case"] for item in items]
    return Runs(spark, tmp_path_factory.mktemp("golden"), golden.groups([case for case in CASES if case in chosen]))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["batch", "live"])
@pytest.mark.parametrize("case", EVERYDAY, ids=[case.name for case in EVERYDAY])
def test_view_holds_what_is_expected(mode: str, case: Case, runs: Runs) -> None:
    answer = runs.answer(mode, case)
    difference = golden.compare(case.expected, answer.rows)
    assert not difference, f"{case.says}\n{difference}\n{answer.error}"
    assert not answer.error

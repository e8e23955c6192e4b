"""Which generation a view is in, and whether its rows were made by what it is now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.plan.load import load
from penstock.share.jobs import Member, jobs
from penstock.spark.run.members.lineage import Lineage
from penstock.store.protocol import FenceToken
from penstock.store.sqlite import SqliteStore

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW counts AS SELECT value, count(*) AS n FROM lines GROUP BY value;
CREATE MATERIALIZED VIEW often AS SELECT value FROM counts WHERE n > {least};
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self._folder, self.store = folder, SqliteStore(folder / "results.db")
        self.token = FenceToken("counts", "one", self.store.take_over("counts", "one").fence)

    def members(self, least: int = 1) -> tuple[Member, ...]:
        (self._folder / "app.sql").write_text(APP.format(least=least), encoding="utf-8")
        (job,) = jobs(load(self._folder / "app.sql"))
        return job.members

    def epoch(self) -> None:
        with self.store.open_epoch(*self.token, 0) as writer:
            writer.append("often", ["a"])

    def due(self, lineage: Lineage, members: tuple[Member, ...]) -> list[str]:
        return [member.name for member in members if lineage.is_due(member)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    yield found
    found.store.close()


def test_a_view_that_follows_rows_of_an_earlier_release_is_evaluated_once_more(bench: Bench) -> None:
    """The job was known by all its views then, and what is stored now to follow rows by their changes was not; its own rows stay."""
    bench.epoch()
    lineage = Lineage(bench.store, bench.token, bench.members(), 0)
    assert bench.due(lineage, bench.members()) == ["often"]
    lineage.wrote(bench.members(), {"often": lineage.started(bench.members()[1], 0)})
    assert bench.due(lineage, bench.members()) == []


def test_a_view_that_starts_later_has_a_name_of_its_own_until_the_job_starts_over(bench: Bench) -> None:
    members = bench.members()
    bench.epoch()
    lineage = Lineage(bench.store, bench.token, members[:1], 0)
    assert bench.due(lineage, members) == ["often"]
    started = {"often": lineage.started(members[1], 0)}
    assert lineage.name("often", started).startswith("one.")
    with bench.store.amend(bench.token, 0, lineage.names(members, started)) as writer:
        lineage.write(writer, members, started)
    lineage.wrote(members, started)
    assert (bench.due(lineage, members), lineage.name("counts", {})) == ([], "one")
    over = bench.token._replace(generation="two", fence=bench.store.take_over("counts", "two").fence)
    assert Lineage(bench.store, over, members, -1).name("often", {}) == "two"


def test_a_view_that_is_none_of_the_jobs_any_more_is_forgotten(bench: Bench) -> None:
    members = bench.members()
    bench.epoch()
    lineage = Lineage(bench.store, bench.token, members, 0)
    assert (lineage.lacks(members), lineage.lacks(members[:1])) == (False, True)
    with bench.store.amend(bench.token, 0) as writer:
        lineage.write(writer, members[:1], {})
    lineage.wrote(members[:1], {})
    assert list(bench.store.rows("often")) == []
    assert not lineage.lacks(members[:1])

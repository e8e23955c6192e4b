"""A swap that a crash left half done is finished or given up, never both or neither."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.catalog import Catalog, Swap
from penstock.plan.load import load
from penstock.share.jobs import jobs
from penstock.spark.run.members.beside import built_beside, finish_swaps, replaces
from penstock.store.generations import first_of, note_of
from penstock.store.sqlite import SqliteStore

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW v AS SELECT value, count(*) AS n FROM lines GROUP BY value;
CREATE MATERIALIZED VIEW top AS SELECT value FROM v ORDER BY n DESC LIMIT 1;
CREATE SINK out FROM v WITH (connector = 'console');
"""
NEXT = "__next:v"


class Bench:
    """A job with rows, and its next generation built up beside it."""

    def __init__(self, folder: Path) -> None:
        self.catalog, self.store = Catalog(folder), SqliteStore(folder / "results.db")
        self.old, self.new = self._ran("v", "before", "old"), self._ran(NEXT, "after", "new")
        self.swap = Swap("v", NEXT, self.new)

    def _ran(self, job: str, fingerprint: str, row: str) -> str:
        generation = self.catalog.open_generation(job, fingerprint)
        (generation.checkpoint / "commits").mkdir()
        (generation.checkpoint / "commits" / "0").write_text("v1\n{}")
        fence = self.store.take_over(job, generation.name).fence
        with self.store.open_epoch(job, generation.name, fence, 0) as writer:
            writer.append(job, [row])
            writer.note(note_of(job), first_of(job, generation.name, "").text)
        self.store.put_schema(job, "value string", None)
        return generation.name

    @property
    def stands(self) -> tuple[list[str], str, bool]:
        """The rows of the view, its generation by the catalogue, and whether that one's checkpoint and the ledger agree."""
        found = self.catalog.current("v")
        assert found is not None
        agree = (found[1] / "commits" / "0").exists() and self.store.committed("v", found[0]) == 0
        return list(self.store.rows("v")), found[0], agree


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    found = Bench(tmp_path)
    yield found
    found.store.close()


def test_what_is_built_up_is_the_owner_alone_under_a_name_that_nobody_reads(tmp_path: Path) -> None:
    (tmp_path / "app.sql").write_text(APP, encoding="utf-8")
    (job,) = jobs(load(tmp_path / "app.sql"))
    beside = built_beside(job)
    assert (beside.name, [member.name for member in beside.members]) == (NEXT, [NEXT])
    assert (beside.fingerprint, beside.members[0].fingerprint) == (job.fingerprint, job.members[0].fingerprint)
    assert beside.members[0].sinks == ()
    assert (replaces(beside), replaces(job)) == ("v", None)


def test_a_crash_while_it_is_built_up_leaves_the_old_one(bench: Bench) -> None:
    finish_swaps(bench.catalog, bench.store)
    assert bench.stands == (["old"], bench.old, True)
    assert (bench.catalog.jobs(), list(bench.store.rows(NEXT))) == (["v"], [])


def test_a_crash_before_the_store_has_swapped_leaves_the_old_one(bench: Bench) -> None:
    bench.catalog.intend(bench.swap)
    finish_swaps(bench.catalog, bench.store)
    assert bench.stands == (["old"], bench.old, True)
    assert bench.catalog.intended() == []


def test_a_crash_after_the_store_has_swapped_is_finished(bench: Bench) -> None:
    bench.catalog.intend(bench.swap)
    bench.store.swap("v", NEXT)
    finish_swaps(bench.catalog, bench.store)
    assert bench.stands == (["new"], bench.new, True)
    assert (bench.catalog.jobs(), bench.catalog.intended()) == (["v"], [])


def test_a_crash_in_the_middle_of_the_catalogues_part_is_finished(bench: Bench) -> None:
    bench.catalog.intend(bench.swap)
    bench.store.swap("v", NEXT)
    bench.catalog.swapped(bench.swap)
    bench.catalog.intend(bench.swap)
    finish_swaps(bench.catalog, bench.store)
    assert bench.stands == (["new"], bench.new, True)

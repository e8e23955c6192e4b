"""Who follows a view, over a real store; Spark stands still where a condition asks it, as it may under load."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.change import Change, Rows
from penstock.engine import Engine
from penstock.plan.load import load
from penstock.schema import columns
from penstock.settings import of_app
from penstock.store.sqlite import SqliteStore
from penstock.subscribe.subscription import Snapshot
from penstock.web import changes, events
from penstock.web.answers import Refused
from penstock.web.changes import Follower
from penstock.web.console.rows import LiveRows
from penstock.web.events import Batch
from penstock.web.follow import Feed
from penstock.web.host import Host
from penstock.web.query import Queries, _asked
from penstock.web.rows import Reading
from penstock.wiring import AppOrigin

APP = """
CREATE STREAM orders (k STRING) WITH (connector = 'http');
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM orders GROUP BY k;
"""
BY_SPARK = "upper(k) = 'A'"


class StoodStill:
    """What is asked of Spark waits until `goes_on`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self.goes_on, self.cancelled = store, threading.Event(), threading.Event()
        self.answer: Callable[[], Rows] = lambda: Rows(columns("x STRING"), iter(()))

    def results(self) -> SqliteStore:
        return self._store

    def filtered(self, view: str, lines: Sequence[str], condition: str) -> Rows:
        self.goes_on.wait()
        return Rows(columns("k STRING, n BIGINT"), iter(lines))

    def evaluate(self, plan: object, view: object) -> Rows:
        return self.answer()

    def cancel(self, thread: int, ended: threading.Event) -> None:
        self.cancelled.set()


class Job:
    """Writes the view, epoch by epoch."""

    def __init__(self, folder: Path) -> None:
        app = folder / "app.sql"
        app.write_text(APP)
        settings, home = of_app(app, {"query_timeout_s": "0.1"}, folder / "state")
        home.mkdir()
        origin = AppOrigin(lambda: load(app), settings, home)
        self.store = SqliteStore(home / "results.db")
        self.spark = StoodStill(self.store)
        declared = origin.read()
        self.host = Host(Engine(declared, settings, home, origin.check(declared), lambda _: self.spark, origin))  # type: ignore[arg-type, return-value]
        self.feed = Feed(self.host, 100)
        self.store.put_schema("counts", "k STRING, n BIGINT", ("k",))
        self._generation, self._epoch = "g", -1
        self._fence = self.store.take_over("counts", self._generation).fence
        self.put(a=0)

    def put(self, **counts: int) -> None:
        self._epoch += 1
        with self.store.open_epoch("counts", self._generation, self._fence, self._epoch) as writer:
            writer.upsert("counts", [(json.dumps({"k": k}), json.dumps({"k": k, "n": n})) for k, n in counts.items()], [])

    def replace(self, ddl: str, row: dict[str, object]) -> None:
        """Another generation of the view, with other columns."""
        self._generation, self._epoch = f"{self._generation}+", 0
        self._fence = self.store.take_over("counts", self._generation).fence
        self.store.put_schema("counts", ddl, ("k",))
        with self.store.open_epoch("counts", self._generation, self._fence, 0) as writer:
            writer.reset("counts")
            writer.upsert("counts", [(json.dumps({"k": row["k"]}), json.dumps(row))])

    def close(self) -> None:
        self.spark.goes_on.set()
        self.feed.stop()
        self.feed.readers.shutdown()
        self.feed.judges.shutdown()
        self.store.close()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path)
    yield found
    found.close()


async def until_quiet(coming: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
    """What comes until a comment does, or the end."""
    async for batch in coming:
        if not batch.events:
            return
        yield batch


def rows_of(batch: Batch) -> list[Any]:
    return [data.get("rows", data.get("row")) for event in batch.events if (data := json.loads(event.data))]


def test_a_comment_comes_also_where_a_condition_lets_no_change_pass(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "QUIET_S", 0.2)

    async def followed() -> list[Batch]:
        job.feed.start(asyncio.get_running_loop())
        found: list[Batch] = []
        with job.feed.following("counts"):
            async for batch in Follower(job.feed, "counts", None, "k = 'z'").batches():
                found.append(batch)
                if len(found) == 2:
                    break
        return found

    over = threading.Event()

    def write() -> None:
        n = 0
        while not over.wait(0.02):
            job.put(a=(n := n + 1))

    writing = threading.Thread(target=write)
    writing.start()
    try:
        snapshot, comment = asyncio.run(asyncio.wait_for(followed(), 30))
    finally:
        over.set()
        writing.join()
    assert (rows_of(snapshot), comment.events) == ([[]], ())


def test_who_waits_for_spark_holds_up_nobody_else(job: Job) -> None:
    async def followed() -> list[Any]:
        job.feed.start(asyncio.get_running_loop())

        async def wait() -> None:
            async for _ in Follower(job.feed, "counts", None, BY_SPARK).batches():
                raise AssertionError("Spark has judged")

        waiting = [asyncio.create_task(wait()) for _ in range(20)]
        await asyncio.sleep(0)
        with job.feed.following("counts"):
            coming = Follower(job.feed, "counts", None, "n >= 0").batches()
            found = [rows_of(await anext(coming))]
            job.put(a=1)
            found.append(rows_of(await anext(coming)))
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return found

    try:
        found = asyncio.run(asyncio.wait_for(followed(), 30))
    finally:
        job.spark.goes_on.set()
    assert found == [[[{"k": "a", "n": 0}]], [{"k": "a", "n": 0}, {"k": "a", "n": 1}]]


def test_a_condition_goes_on_over_a_view_that_was_replaced_and_ends_where_its_columns_are_gone(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "QUIET_S", 0.5)

    async def followed(where: str) -> list[Any]:
        job.feed.start(asyncio.get_running_loop())
        with job.feed.following("counts"):
            coming = Follower(job.feed, "counts", None, where).batches()
            found = [rows_of(await anext(coming))]
            job.replace("k STRING, m BIGINT", {"k": "b", "m": 5})
            return found + [rows_of(batch) async for batch in until_quiet(coming)]

    assert asyncio.run(asyncio.wait_for(followed("k <> 'z'"), 30)) == [[[{"k": "a", "n": 0}]], [[{"k": "b", "m": 5}]]]
    assert asyncio.run(asyncio.wait_for(followed("m > 1"), 30))[0] == [[{"k": "b", "m": 5}]]
    job.replace("k STRING, n BIGINT", {"k": "a", "n": 1})
    assert asyncio.run(asyncio.wait_for(followed("n > 0"), 30)) == [[[{"k": "a", "n": 1}]]]


@pytest.mark.parametrize("where", ["", "k <> 'z'"])
def test_news_need_no_thread_for_each_follower(job: Job, where: str) -> None:
    async def followed() -> list[Any]:
        job.feed.start(asyncio.get_running_loop())
        with job.feed.following("counts"):
            coming = [Follower(job.feed, "counts", None, where).batches() for _ in range(3)]
            for one in coming:
                await anext(one)
            over = threading.Event()
            asking = [asyncio.ensure_future(anext(one)) for one in coming]
            await asyncio.sleep(0.2)
            busy = [job.feed.readers.submit(over.wait) for _ in range(20)]
            job.put(a=1)
            found = [rows_of(batch) for batch in await asyncio.gather(*asking)]
            over.set()
            assert all(one.result() for one in busy)
        return found

    assert asyncio.run(asyncio.wait_for(followed(), 30)) == [[{"k": "a", "n": 0}, {"k": "a", "n": 1}]] * 3


def test_a_snapshot_of_long_rows_comes_in_events_of_bounded_size(job: Job) -> None:
    rows = [Change("+", None, json.dumps({"k": str(number) * 30_000})) for number in range(7)]
    for kept, wanted in ((None, [3, 3, 1]), ([number % 2 == 0 for number in range(7)], [3, 1]), ([False] * 7, [0])):
        found = [json.loads(batch.events[0].data) for batch in events.snapshot(Snapshot("start", 1, rows, "token"), kept, 9)]
        assert [len(data["rows"]) for data in found] == wanted
        assert [data["more"] for data in found] == [True] * (len(wanted) - 1) + [False]


def test_a_condition_that_spark_judges_is_bounded_in_time(job: Job) -> None:
    async def asked() -> None:
        await Queries(job.host).within_time(lambda: Reading(job.host, "counts", BY_SPARK).rows(10))

    async def refused() -> Refused:
        with pytest.raises(Refused) as found:
            await asked()
        job.spark.goes_on.set()
        return found.value

    assert Reading(job.host, "counts", BY_SPARK).asks_spark
    assert asyncio.run(refused()).status == 408


def test_an_answer_is_cut_where_its_rows_are_too_large(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.web.query._LETTERS_MAX", 100)
    for sizes, kept in (([40, 40, 40], 2), ([40, 40], 2), ([200, 1], 1), ([1] * 9, 5)):
        job.spark.answer = lambda sizes=sizes: Rows(columns("x STRING"), iter("x" * size for size in sizes))  # type: ignore[misc]
        found = _asked(job.host, "SELECT k AS x FROM orders", 5)
        assert (len(found.lines), found.truncated) == (kept, kept < len(sizes))


def test_a_page_holds_the_rows_that_changed_last_and_counts_all(job: Job) -> None:
    rows = LiveRows(job.feed, "counts")
    assert (rows.take(), len(rows)) == (True, 1)
    job.put(b=1, c=1)
    job.put(a=2, b=3)
    rows.take()
    assert (len(rows), rows.last(2)) == (3, [{"k": "a", "n": 2}, {"k": "b", "n": 3}])
    assert (rows.take(), len(rows.last(10))) == (False, 3)

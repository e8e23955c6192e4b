"""When an epoch is confirmed and when it is delivered: that order is the guarantee."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from penstock.catalog import Generation
from penstock.change import Change, Epoch
from penstock.errors import FencedError, RefusalError, SinkError, StateError
from penstock.plan.load import load
from penstock.settings import load as load_settings
from penstock.share.jobs import jobs
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.delivery import outlet
from penstock.spark.run.delivery.outbox import Outbox
from penstock.spark.run.delivery.outlet import Seen
from penstock.store.protocol import FenceToken
from penstock.store.sqlite import SqliteStore

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy WITH (store = {store}) AS SELECT value FROM lines {emit};
CREATE SINK out FROM copy WITH (connector = 'console', delivery = '{delivery}'{more});
"""
TWO_VIEWS = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW copy AS SELECT value, count(*) AS n FROM lines GROUP BY value;
CREATE MATERIALIZED VIEW first AS SELECT value, n FROM copy ORDER BY value LIMIT 1;
CREATE SINK out FROM {view} WITH (connector = 'console', delivery = '{delivery}');
"""


class Writer:
    """A sink that notes what it gets and what the store says at that moment; `own` is its own ledger, if it has one."""

    ledger = "the ledger of the double"

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.own: int | None = None
        self.got: list[tuple[int, int]] = []
        self.whole: list[tuple[int, list[str], list[str]]] = []
        self.fail_at: int | None = None

    def position(self, generation: str) -> int | None:
        return self.own

    def deliver(self, epoch: Epoch) -> None:
        self.got.append((epoch.epoch, self._store.delivered("out of copy", epoch.generation)))
        if epoch.epoch == self.fail_at:
            self.fail_at = None
            raise SinkError("the sink is down")
        if self.own is not None:
            self.own = epoch.epoch

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self.whole.append((epoch.epoch, [change.row for change in epoch.changes if change.op == "-"], list(rows)))

    def close(self) -> None:
        pass


class Bench:
    """A store with epochs, one sink, and outboxes over them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self.store = SqliteStore(folder / "results.db")
        self.writer = Writer(self.store)
        self.position = self.store.take_over("copy", "generation")
        monkeypatch.setattr(outlet, "open_sink", lambda *given, **named: self.writer)

    def logged(self, *epochs: int) -> None:
        for number in epochs:
            with self.store.open_epoch("copy", "generation", self.position.fence, number) as writer:
                writer.append("copy", [f'{{"value":"{number}"}}'])

    def open(
        self, delivery: str = "at-least-once", *, text: str = APP, store: str = "true", emit: str = "", view: str = "", more: str = ""
    ) -> Outbox:
        filled = text.format(delivery=delivery, store=store, emit=emit, view=view, more=more)
        (self._folder / "app.sql").write_text(filled, encoding="utf-8")
        declared = load(self._folder / "app.sql")
        app = AppContext(declared, load_settings(), self._folder, lambda name: name)
        (job,) = jobs(declared)
        generation = Generation("copy", "generation", self._folder / "checkpoint", fresh=False)
        position = self.position._replace(epoch=self.store.committed("copy", "generation"))
        found = Outbox(app, job, generation, self.store, position)
        views = [Seen(member, "value string", "generation") for member in job.members]
        found.look_at(job.members, found.opened(app, views, position.epoch))
        return found

    def replaced(self) -> None:
        """Another driver takes over; what is opened from now on is its."""
        self.position = self.store.take_over("copy", "generation")

    def confirmed(self, sink: str, epoch: int) -> None:
        self.store.set_delivered(FenceToken("copy", "generation", self.position.fence), sink, epoch)

    def got(self) -> list[int]:
        return [epoch for epoch, _ in self.writer.got]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    found = Bench(tmp_path, monkeypatch)
    yield found
    found.store.close()


def test_at_least_once_confirms_after_and_at_most_once_before(bench: Bench) -> None:
    bench.logged(0, 1)
    bench.open("at-least-once").deliver()
    assert bench.writer.got == [(0, -1), (1, 0)]
    bench.logged(2)
    bench.open("at-most-once").deliver()
    assert bench.writer.got[2:] == [(2, 2)]


@pytest.mark.parametrize(("delivery", "wanted"), [("at-least-once", [0, 1, 1, 2]), ("at-most-once", [0, 1, 2])])
def test_an_epoch_that_failed_comes_again_or_never(bench: Bench, delivery: str, wanted: list[int]) -> None:
    bench.logged(0, 1, 2)
    bench.writer.fail_at = 1
    with pytest.raises(SinkError):
        bench.open(delivery).deliver()
    bench.open(delivery).deliver()
    assert bench.got() == wanted


def test_a_sink_that_failed_leaves_nobody_reading_the_store(bench: Bench, tmp_path: Path) -> None:
    """The error is kept until the next attempt ends; a reader kept with it would let the store's log grow all that time."""
    bench.logged(0, 1, 2)
    bench.writer.fail_at = 1
    with pytest.raises(SinkError) as kept:
        bench.open().deliver()
    bench.logged(3)
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert (busy, kept.value.message) == (0, "the sink is down")


def test_a_complete_view_gives_a_sink_that_was_away_its_newest_result_with_all_that_left_meanwhile(bench: Bench) -> None:
    """Only the newest is known: under the number of an earlier epoch it would seem to have been there before it was."""
    for number, rows in enumerate((["a", "b"], ["a", "c"], ["c"], ["c"])):
        with bench.store.open_epoch("copy", "generation", bench.position.fence, number) as writer:
            writer.replace("copy", [(None, row) for row in rows])
    bench.open(emit="EMIT COMPLETE").deliver()
    assert [(epoch, sorted(gone), rows) for epoch, gone, rows in bench.writer.whole] == [(3, ["a", "b"], ["c"])]
    bench.open(emit="EMIT COMPLETE").deliver()
    assert (len(bench.writer.whole), bench.store.delivered("out of copy", "generation")) == (1, 3)


def test_an_epoch_that_was_logged_just_now_is_not_read_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.logged(0)
    box = bench.open()
    box.deliver()
    bench.logged(1)

    def never(*_: object) -> Iterator[Epoch]:
        raise AssertionError("the log was read")

    monkeypatch.setattr(bench.store, "epochs", never)
    box.deliver(Epoch("copy", "generation", 1, [Change("+", None, "{}")]))
    assert bench.got() == [0, 1]


def test_a_sink_that_missed_epochs_gets_them_before_the_newest(bench: Bench) -> None:
    bench.logged(0)
    box = bench.open()
    bench.writer.fail_at = 0
    with pytest.raises(SinkError):
        box.deliver()
    bench.logged(1)
    box.deliver(Epoch("copy", "generation", 1, [Change("+", None, "{}")]))
    assert bench.got() == [0, 0, 1]


@pytest.mark.parametrize(("own", "words"), [(9, "has epoch 9 of view `copy`, but the results store only 1"), (0, "epochs up to 1 were delivered")])
def test_a_sink_that_disagrees_with_the_store_is_refused_by_its_ledger(bench: Bench, own: int, words: str) -> None:
    bench.logged(0, 1)
    bench.confirmed(f"out of copy, {bench.writer.ledger}", 1)
    bench.writer.own = own
    with pytest.raises(StateError, match=words) as caught:
        bench.open()
    assert "the ledger of the double" in caught.value.message


@pytest.mark.parametrize("delivery", ["at-least-once", "at-most-once"])
@pytest.mark.parametrize("behind", [True, False], ids=["the heir was quicker", "the heir has not started"])
def test_a_driver_that_was_replaced_delivers_nothing_where_the_sink_cannot_fence_it(bench: Bench, delivery: str, behind: bool) -> None:
    """It wakes with its place of long ago: what the sink has got since would come again, and take the place of newer rows."""
    bench.logged(0)
    zombie = bench.open(delivery)
    zombie.deliver()
    bench.logged(1)
    bench.replaced()
    if behind:
        bench.logged(2)
        bench.open(delivery).deliver()
    before = bench.got(), bench.store.delivered("out of copy", "generation")
    with pytest.raises(FencedError, match="another driver has taken over"):
        zombie.deliver()
    for late in (zombie.deliver, zombie.pass_on):
        with pytest.raises(FencedError, match="another driver has taken over"):
            late(Epoch("copy", "generation", 1, []))
    assert (bench.got(), bench.store.delivered("out of copy", "generation")) == before


def test_a_driver_that_was_replaced_while_it_started_takes_no_sink_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.store.take_over("copy", "generation")

    def never(*_: object, **__: object) -> Writer:
        raise AssertionError("the sink was opened")

    monkeypatch.setattr(outlet, "open_sink", never)
    with pytest.raises(FencedError, match="another driver has taken over"):
        bench.open()


def test_a_sink_that_is_asked_for_less_goes_on_where_it_was(bench: Bench) -> None:
    """Exactly-once is confirmed with the place of its ledger, the others without."""
    bench.logged(0, 1)
    bench.writer.own = -1
    bench.open("at-least-once").deliver()
    bench.logged(2)
    bench.writer.own = None
    bench.open("at-least-once").deliver()
    assert bench.got() == [0, 1, 2]


def test_a_sink_without_a_ledger_that_is_moved_gets_everything_there(bench: Bench) -> None:
    bench.logged(0, 1)
    bench.open(more=", topic = 'a'").deliver()
    bench.open(more=", topic = 'a', servers = 'elsewhere:9092'").deliver()
    bench.open(more=", topic = 'b'").deliver()
    assert bench.got() == [0, 1, 0, 1]


def test_a_sink_that_is_given_another_view_of_its_job_is_not_taken_to_have_delivered_it(bench: Bench) -> None:
    """They share their epochs, so the ledger says nothing of whose rows are there."""
    bench.logged(0, 1)
    bench.writer.own = -1
    bench.open("exactly-once", text=TWO_VIEWS, view="copy").deliver()
    with pytest.raises(RefusalError, match="has delivered view `copy` to the place where it is to deliver view `first` now"):
        bench.open("exactly-once", text=TWO_VIEWS, view="first")
    bench.open("exactly-once", text=TWO_VIEWS, view="copy").deliver()
    assert bench.got() == [0, 1]


@pytest.mark.parametrize("own", [-1, 0])
def test_a_sink_that_delivered_with_less_in_between_is_not_taken_for_the_place_in_its_ledger(bench: Bench, own: int) -> None:
    bench.logged(0, 1, 2)
    bench.confirmed("out of copy", 1)
    bench.writer.own = own
    with pytest.raises(StateError, match="epochs up to 1 were delivered") as caught:
        bench.open()
    assert "another guarantee" in str(caught.value.hint)


def test_a_view_without_a_store_may_be_one_epoch_ahead_in_its_sink(bench: Bench) -> None:
    """There the sink has an epoch before the ledger has it; but not two."""
    bench.logged(0, 1)
    bench.writer.own = 2
    bench.open(store="false").pass_on(Epoch("copy", "generation", 2, []))
    assert bench.got() == []
    bench.writer.own = 3
    with pytest.raises(StateError):
        bench.open(store="false")


@pytest.mark.parametrize("delivery", ["at-least-once", "at-most-once", "exactly-once"])
def test_a_sink_that_joins_or_rejoins_a_view_without_a_store_is_refused_by_the_epochs_it_would_miss(bench: Bench, delivery: str) -> None:
    """Nothing keeps what the view gave before: it would be missing there, in silence and for ever."""
    more = ""
    if delivery == "exactly-once":
        more, bench.writer.own = ", path = 'out'", -1
    bench.open(delivery, store="false", more=more).pass_on(Epoch("copy", "generation", 0, []))
    bench.logged(0)
    bench.open(delivery, store="false", more=more).pass_on(Epoch("copy", "generation", 1, []))
    bench.logged(1, 2, 3)
    with pytest.raises(StateError, match="sink `out` misses epochs 2 to 3 of view `copy`") as caught:
        bench.open(delivery, store="false", more=more)
    assert "a view of its own" in str(caught.value.hint)
    assert bench.got() == [0, 1]


def test_what_may_be_dropped_is_asked_once_for_a_tenth_of_what_is_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask is a transaction for each view; at a start it is asked at once."""
    asked: list[int] = []
    monkeypatch.setattr(bench.store, "trim", lambda view, keep, below: asked.append(keep))
    box = bench.open()
    box.deliver()
    assert len(asked) == 1
    for _ in range(asked[0] // 10 - 1):
        box.deliver()
    assert len(asked) == 1
    box.deliver()
    assert len(asked) == 2

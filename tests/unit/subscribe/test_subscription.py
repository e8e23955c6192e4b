"""A reader gets a snapshot, then every change once and in order, from wherever it left off."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock.errors import OptionFault
from penstock.store.sqlite import SqliteStore
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.subscribe.token import Place, decode, encode

VIEW = "sales"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "results.db")
    yield store
    store.close()


class Writer:
    """A job that writes one view, epoch by epoch."""

    def __init__(self, store: SqliteStore, generation: str = "g1") -> None:
        self.store, self.generation, self.epoch = store, generation, -1
        self.fence = store.take_over("job", generation).fence
        store.put_schema(VIEW, "k STRING, n BIGINT", ("k",))

    def put(self, rows: dict[str, int], gone: Sequence[str] = ()) -> None:
        self.epoch += 1
        with self.store.open_epoch("job", self.generation, self.fence, self.epoch) as writer:
            if self.epoch == 0:
                writer.reset(VIEW)
            pairs = [(key_text(key), row_text(key, n)) for key, n in rows.items()]
            writer.upsert(VIEW, pairs, [key_text(key) for key in gone])


def key_text(key: str) -> str:
    return f'{{"k":"{key}"}}'


def row_text(key: str, n: int) -> str:
    return f'{{"k":"{key}","n":{n}}}'


def snapshot(subscription: Subscription) -> Snapshot:
    found = subscription.next_changes()
    assert isinstance(found, Snapshot)
    return found


def changes(subscription: Subscription) -> list[tuple[str, str, str]]:
    """All that is there now: op, row and the token after it."""
    seen = []
    while (found := subscription.next_changes()) is not None:
        assert isinstance(found, Changes), found
        seen += [(change.op, change.row, found.token(place)) for place, change in enumerate(found.changes)]
    return seen


def test_first_the_snapshot_then_each_change_and_what_a_row_was(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 1, "b": 2})
    subscription = Subscription(store, VIEW)
    first = snapshot(subscription)
    assert (first.reason, first.epoch, [change.row for change in first.rows]) == ("start", 0, [row_text("a", 1), row_text("b", 2)])
    writer.put({"a": 5, "c": 3}, gone=["b"])
    assert [seen[:2] for seen in changes(subscription)] == [
        ("-", row_text("b", 2)),
        ("-", row_text("a", 1)),
        ("+", row_text("a", 5)),
        ("+", row_text("c", 3)),
    ]


def test_a_token_of_any_change_goes_on_with_the_very_next_one(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    whole = Subscription(store, VIEW)
    start = snapshot(whole).token
    for n in range(1, 5):
        writer.put({"a": n, f"k{n}": n})
    seen = changes(whole)
    assert len(seen) == 12
    assert [entry[:2] for entry in changes(Subscription(store, VIEW, start))] == [entry[:2] for entry in seen]
    for place, (_, _, token) in enumerate(seen):
        assert changes(Subscription(store, VIEW, token)) == seen[place + 1 :]


def test_a_resume_in_another_process_of_the_same_store(store: SqliteStore, tmp_path: Path) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    token = snapshot(Subscription(store, VIEW)).token
    writer.put({"b": 1})
    again = SqliteStore(tmp_path / "results.db")
    assert [seen[:2] for seen in changes(Subscription(again, VIEW, token))] == [("+", row_text("b", 1))]
    again.close()


def test_an_epoch_without_changes_is_passed(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    subscription = Subscription(store, VIEW)
    snapshot(subscription)
    writer.put({"a": 0})
    writer.put({"a": 1})
    assert [seen[:2] for seen in changes(subscription)] == [("-", row_text("a", 0)), ("+", row_text("a", 1))]


def test_a_place_that_the_log_no_longer_reaches_gets_a_new_snapshot(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    token = snapshot(Subscription(store, VIEW)).token
    for n in range(1, 30):
        writer.put({"a": n})
    store.trim(VIEW, keep_epochs=2, below=1000)
    subscription = Subscription(store, VIEW, token)
    found = snapshot(subscription)
    assert (found.reason, found.epoch, [change.row for change in found.rows]) == ("expired", 29, [row_text("a", 29)])
    writer.put({"a": 30})
    assert [seen[0] for seen in changes(subscription)] == ["-", "+"]


def test_a_reader_that_is_up_to_date_does_not_mind_a_trimmed_log(store: SqliteStore) -> None:
    writer = Writer(store)
    for n in range(30):
        writer.put({"a": n})
    subscription = Subscription(store, VIEW)
    snapshot(subscription)
    store.trim(VIEW, keep_epochs=0, below=1000)
    assert subscription.next_changes() is None
    writer.put({"a": 30})
    assert [seen[0] for seen in changes(subscription)] == ["-", "+"]


def test_a_view_that_was_built_again_gets_a_new_snapshot(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    subscription = Subscription(store, VIEW)
    snapshot(subscription)
    Writer(store, "g2").put({"z": 9})
    found = snapshot(subscription)
    assert (found.reason, [change.row for change in found.rows]) == ("replaced", [row_text("z", 9)])


def test_who_comes_before_the_first_epoch_gets_all_of_it_as_changes(store: SqliteStore) -> None:
    subscription = Subscription(store, VIEW)
    assert snapshot(subscription).rows == []
    assert subscription.next_changes() is None
    Writer(store).put({"a": 0})
    assert [seen[:2] for seen in changes(subscription)] == [("+", row_text("a", 0))]


def test_a_waiting_reader_is_woken_and_else_gives_up_in_time(store: SqliteStore) -> None:
    writer = Writer(store)
    writer.put({"a": 0})
    subscription = Subscription(store, VIEW, look_every_s=30)
    snapshot(subscription)
    began = time.monotonic()
    assert subscription.next_changes(0.1) is None
    assert time.monotonic() - began < 10

    def commit() -> None:
        writer.put({"a": 1})
        subscription.wake()

    threading.Timer(0.2, commit).start()
    assert isinstance(subscription.next_changes(20), Changes)
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("token", ["", "rubbish", "!!!", "ZmFsc2U", "MXx8fHw"])
def test_what_is_no_token_is_refused(store: SqliteStore, token: str) -> None:
    with pytest.raises(OptionFault, match="not a resume token"):
        Subscription(store, VIEW, token)


def test_a_token_of_another_view_is_refused(store: SqliteStore) -> None:
    with pytest.raises(OptionFault, match="other"):
        Subscription(store, VIEW, encode(Place("other", "g", 1)))


def test_a_token_holds_any_name_of_a_view() -> None:
    place = Place("a|b ü", "g1", 12, 3)
    assert decode(encode(place), "a|b ü") == place

"""Many readers of one view read the store about as often as one does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.store.sqlite import SqliteStore
from penstock.subscribe.shared import AtHand, NotAtHand, SharedReads
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.subscribe.token import Place, encode


class Counted:
    """A store that counts what it is asked."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self.asked = store, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._store, name)


def commit(store: SqliteStore, fence: int, epoch: int) -> None:
    with store.open_epoch("v", "g", fence, epoch) as writer:
        writer.upsert("v", [('{"k": 1}', f'{{"k": 1, "n": {epoch}}}')])


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    found = SqliteStore(tmp_path / "results.db")
    found.put_schema("v", "k INT, n INT", ("k",))
    return found


def test_a_hundred_readers_share_the_reads_and_see_every_change(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    counted = Counted(store)
    shared = SharedReads(counted)
    readers = [Subscription(shared, "v") for _ in range(100)]
    assert shared.look("v")
    assert all(isinstance(reader.next_changes(), Snapshot) for reader in readers)
    assert not shared.look("v")
    for epoch in (1, 2):
        commit(store, fence, epoch)
    assert shared.look("v")
    for epoch in (1, 2):
        for reader in readers:
            found = reader.next_changes()
            assert isinstance(found, Changes)
            assert [(change.op, change.row) for change in found.changes] == [
                ("-", f'{{"k": 1, "n": {epoch - 1}}}'),
                ("+", f'{{"k": 1, "n": {epoch}}}'),
            ]
    assert counted.asked["snapshot"] == 1
    assert counted.asked["epochs"] <= 4


def test_a_snapshot_newer_than_the_last_look_is_not_taken_for_expired(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    shared = SharedReads(store)
    shared.look("v")
    commit(store, fence, 1)
    reader = Subscription(shared, "v")
    first = reader.next_changes()
    assert isinstance(first, Snapshot)
    assert first.epoch == 1
    assert reader.next_changes() is None


def test_what_was_read_ahead_is_at_hand_and_nothing_else(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    counted = Counted(store)
    shared = SharedReads(counted)
    reader = Subscription(shared, "v")
    with pytest.raises(NotAtHand):
        reader.at_hand(AtHand(shared, 10))
    assert isinstance(reader.next_changes(), Snapshot)
    shared.look("v")
    assert reader.at_hand(AtHand(shared, 10)) is None
    for epoch in (1, 2):
        commit(store, fence, epoch)
    before = shared.reported("v")
    shared.look("v")
    with pytest.raises(NotAtHand):
        reader.at_hand(AtHand(shared, 10))
    shared.read_ahead("v", before)
    with pytest.raises(NotAtHand):
        reader.at_hand(AtHand(shared, 0))
    counted.asked.clear()
    found = [reader.at_hand(AtHand(shared, 10)) for _ in range(3)]
    assert [None if one is None else (one.epoch, len(one.changes)) for one in found if not isinstance(one, Snapshot)] == [(1, 2), (2, 2), None]
    assert not counted.asked


class Trimmed(Counted):
    """A store whose log is dropped between the reading of an epoch and of the rows that it replaced."""

    def __getattr__(self, name: str) -> Any:
        if name == "replaced":
            self._store.trim("v", 0, 10)
        return super().__getattr__(name)


def test_an_epoch_that_was_dropped_while_it_was_read_is_not_given_by_half(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    shared = SharedReads(Trimmed(store))
    reader = Subscription(shared, "v")
    assert isinstance(reader.next_changes(), Snapshot)
    for epoch in (1, 2):
        commit(store, fence, epoch)
    for _ in range(2):
        found = reader.next_changes()
        assert isinstance(found, Snapshot)
        assert (found.reason, found.epoch) == ("expired", 2)
        reader = Subscription(shared, "v", encode(Place("v", "g", 0)))


def test_what_was_read_before_anybody_looked_is_not_taken_for_expired(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    shared = SharedReads(store)
    shared.look("v")
    reader = Subscription(shared, "v")
    assert isinstance(reader.next_changes(), Snapshot)
    with store.open_epoch("v", "g", fence, 1) as writer:
        writer.upsert("v", [])
    shared.look("v")
    commit(store, fence, 2)
    found = reader.next_changes()  # the epoch after the one without changes
    assert isinstance(found, Changes)
    assert found.epoch == 2
    assert reader.at_hand(AtHand(shared, 10)) is None
    assert reader.next_changes() is None


def test_a_snapshot_that_is_shared_is_never_of_a_view_that_was_replaced_since(store: SqliteStore) -> None:
    fence = store.take_over("v", "g").fence
    commit(store, fence, 0)
    shared = SharedReads(store)
    shared.look("v")
    reader = Subscription(shared, "v")
    assert isinstance(reader.next_changes(), Snapshot)
    fence = store.take_over("v", "g2").fence
    with store.open_epoch("v", "g2", fence, 0) as writer:
        writer.reset("v")
        writer.upsert("v", [('{"k": 2}', '{"k": 2, "n": 7}')])
    shared.look("v")
    found = reader.next_changes()
    assert isinstance(found, Snapshot)
    assert (found.reason, [change.row for change in found.rows]) == ("replaced", ['{"k": 2, "n": 7}'])
    assert reader.next_changes() is None

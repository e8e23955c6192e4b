"""Many readers of one view read the store about as often as one does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.store.sqlite import SqliteStore
from penstock.subscribe.shared import SharedReads
from penstock.subscribe.subscription import Changes, Snapshot, Subscription


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
    assert all(reader.next_changes() is None for reader in readers)
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

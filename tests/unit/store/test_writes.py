"""What an epoch will write, read before it is written, is what the store holds afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.store.sqlite import SqliteStore
from penstock.store.writes import Append, Put, Replace, Reset, RowsAsOf, Write, apply


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "results.db")
    yield opened
    opened.close()


class Epochs:
    """Writes epochs, and compares what was announced of each before with what the store holds after it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store, self._fence, self._next = store, store.take_over("j", "g").fence, 0

    def write(self, *writes: Write, parts: list[str] | None = None) -> list[str]:
        epoch = RowsAsOf(self._store, self._next, first=self._next == 0)
        epoch.add(*writes)
        before = epoch.rows("v"), epoch.rows("v", parts)
        with self._store.open_epoch("j", "g", self._fence, self._next) as writer:
            apply(writer, epoch.writes)
        self._next += 1
        assert sorted(before[0]) == sorted(row.row for row in self._store.held("v"))
        assert sorted(before[1]) == sorted(row.row for row in self._store.held("v", parts))
        return before[1]


def test_rows_that_are_put_keep_their_place_and_those_that_are_gone_leave(store: SqliteStore) -> None:
    epochs = Epochs(store)
    epochs.write(Put("v", [("a", "1"), ("b", "2"), ("c", "3")]))
    assert epochs.write(Put("v", [("b", "4"), ("d", "5")], gone=["a", "d", "x"])) == ["4", "3", "5"]
    assert list(store.rows("v")) == ["4", "3", "5"]


def test_a_row_that_occurs_twice_stays_twice(store: SqliteStore) -> None:
    epochs = Epochs(store)
    epochs.write(Append("v", ["1", "1"]))
    assert epochs.write(Append("v", ["1"])) == ["1", "1", "1"]
    assert epochs.write(Replace("v", [(None, "1"), (None, "1")])) == ["1", "1"]


def test_only_the_parts_that_were_touched_are_replaced(store: SqliteStore) -> None:
    epochs = Epochs(store)
    epochs.write(Replace("v", [("a", "1"), ("b", "2"), ("c", "3")], part=["p", "q", "p"]))
    assert epochs.write(Replace("v", [("a", "9")], part=["p"], parts=["p"]), parts=["p"]) == ["9"]
    assert sorted(store.rows("v")) == ["2", "9"]


def test_the_first_epoch_of_a_generation_sees_nothing_of_the_one_before(store: SqliteStore) -> None:
    Epochs(store).write(Append("v", ["old"]))
    assert RowsAsOf(store, 0, first=True).rows("v") == []
    assert RowsAsOf(store, 1, first=False).rows("v") == ["old"]


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_any_writes_of_any_epochs_are_foreseen(store: SqliteStore, seed: int, keyed: bool) -> None:
    chance, epochs = random.Random(seed), Epochs(store)
    for _ in range(30):
        epochs.write(*(_any_write(chance, keyed) for _ in range(chance.randrange(4))), parts=["p0", "p2"])


def _any_write(chance: random.Random, keyed: bool) -> Write:
    """A key says its part, as kept rows' keys do."""
    some = sorted({str(chance.randrange(12)) for _ in range(chance.randrange(6))})
    parts = [f"p{int(name) % 3}" for name in some]
    rows = [f"{name} {chance.randrange(3)}" for name in some]
    if chance.random() < 0.05:
        return Reset("v")
    if chance.random() < 0.3:
        touched = None if chance.random() < 0.5 else sorted(set(parts))
        return Replace("v", [(name if keyed else None, row) for name, row in zip(some, rows, strict=True)], parts, touched)
    if not keyed:
        return Append("v", rows, parts)
    return Put("v", list(zip(some, rows, strict=True)), [str(chance.randrange(12))], parts, keyed=chance.random() < 0.5)

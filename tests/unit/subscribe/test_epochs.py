from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.store.protocol import Store
from penstock.store.sqlite import SqliteStore
from penstock.subscribe.epochs import PublicEpochs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "results.db")
    yield opened
    opened.close()


def epoch_of(store: Store, generation: str, number: int) -> None:
    """One epoch of the view; the first of a generation replaces what was there, as a run does it."""
    fence = store.take_over("v", generation).fence
    with store.open_epoch("v", generation, fence, number) as writer:
        if number == 0:
            writer.reset("v")
        writer.append("v", [f'{{"n":{number}}}'])


def seen(store: Store, epochs: PublicEpochs | None = None) -> int:
    found = store.snapshot("v")
    return (epochs or PublicEpochs(store)).public("v", found.generation, found.epoch)


def test_epochs_never_go_back_over_replacements_and_are_the_same_for_every_reader(store: Store) -> None:
    stays, numbers = PublicEpochs(store), []
    assert seen(store, stays) == -1
    for generation, number in (("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)):
        epoch_of(store, generation, number)
        numbers.append(seen(store, stays))
        assert seen(store) == numbers[-1]
    assert numbers == [0, 1, 2, 3, 4, 5]
    assert PublicEpochs(store).public("v", "b", 2) == stays.public("v", "b", 2) == 4  # a reader that is late


def test_a_view_that_is_dropped_and_made_again_goes_on(store: Store) -> None:
    epoch_of(store, "a", 0)
    epoch_of(store, "a", 1)
    store.drop_view("v")
    assert seen(store) == 1
    epoch_of(store, "b", 0)
    assert seen(store) == 2

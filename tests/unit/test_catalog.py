from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.catalog import Catalog, drop_earlier
from penstock.errors import StateError


def begin(checkpoint: Path) -> None:
    """As if the first epoch had been planned."""
    (checkpoint / "offsets").mkdir()
    (checkpoint / "offsets" / "0").write_text("v1")


def commit(checkpoint: Path) -> None:
    """As if it had been committed."""
    (checkpoint / "commits").mkdir()
    (checkpoint / "commits" / "0").write_text("v1")


def test_a_life_goes_on_until_the_plan_changes_or_its_checkpoint_is_gone(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    first = catalog.open_generation("job", "a")
    begin(first.checkpoint)
    assert (first.fresh, first.former) == (True, None)
    assert Catalog(tmp_path).open_generation("job", "a").name == first.name
    changed = catalog.open_generation("job", "b")
    assert (changed.fresh, changed.former) == (True, first.checkpoint)
    assert catalog.open_generation("job", "b").former == first.checkpoint, "also when it is asked again"
    begin(changed.checkpoint)
    changed.checkpoint.rename(tmp_path / "gone")
    assert catalog.open_generation("job", "b").name not in (first.name, changed.name)


def test_a_change_that_is_undone_before_the_first_epoch_costs_nothing(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    first = catalog.open_generation("job", "a")
    begin(first.checkpoint)
    catalog.open_generation("job", "b")
    third = catalog.open_generation("job", "c")
    assert third.former == first.checkpoint, "the one between has never read anything"
    generation = catalog.present_generation("job")
    assert generation is not None
    assert (generation.generation, generation.fingerprint) == (first.name, "a")
    assert catalog.open_generation("job", "a").name == first.name
    begin(catalog.open_generation("job", "b").checkpoint)
    assert catalog.open_generation("job", "a").name != first.name, "an epoch was taken: what was before is replaced"


def test_the_state_of_the_first_release_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection, connection:
        connection.execute("CREATE TABLE jobs (job TEXT PRIMARY KEY, fingerprint TEXT, incarnation TEXT, since TEXT)")
    with pytest.raises(StateError, match=r"written by Penstock 0\.1"):
        Catalog(tmp_path)


def test_what_earlier_lives_left_goes_when_there_is_no_way_back(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    first = catalog.open_generation("job", "a")
    begin(first.checkpoint)
    second = catalog.open_generation("job", "b")
    begin(second.checkpoint)
    assert catalog.open_generation("job", "b").former == first.checkpoint
    assert first.checkpoint.is_dir(), "the first epoch is not committed yet"
    commit(second.checkpoint)
    assert catalog.open_generation("job", "b").former is None
    assert [path.name for path in second.checkpoint.parent.iterdir()] == [second.name]


def test_a_change_upon_a_change_leaves_nothing_behind(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    for plan in ("a", "b"):
        begin(catalog.open_generation("job", plan).checkpoint)
    third = catalog.open_generation("job", "c")
    drop_earlier(third)
    assert [path.name for path in third.checkpoint.parent.iterdir()] == [third.name]


def test_a_driver_that_was_replaced_never_takes_its_successors_life(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    first = catalog.open_generation("job", "a")
    begin(first.checkpoint)
    commit(first.checkpoint)
    second = catalog.open_generation("job", "b")
    drop_earlier(first)
    assert second.checkpoint.is_dir(), "frozen after its commit, it wakes and removes what went before it"
    assert catalog.open_generation("job", "a").name == first.name
    assert second.checkpoint.is_dir(), "frozen before it asked, it wakes and goes back to its own plan"


def test_the_app_keeps_the_name_it_first_ran_under(tmp_path: Path) -> None:
    """Sinks know it by that: with another name they would get everything once more."""
    assert Catalog(tmp_path).app("shop") == "shop"
    assert Catalog(tmp_path).app("app") == "shop"

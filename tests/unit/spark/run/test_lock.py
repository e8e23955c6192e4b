"""One driver at a time holds a state folder, and one that is replaced finds out by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import FencedError, StateError
from penstock.spark.run.lock import StateLock


def test_a_second_driver_is_refused_and_sees_the_first(tmp_path: Path) -> None:
    with StateLock(tmp_path), pytest.raises(StateError, match=r"in use by process \d+ on"), StateLock(tmp_path):
        pass


def test_a_folder_is_free_again_when_its_driver_ends(tmp_path: Path) -> None:
    with StateLock(tmp_path) as first:
        assert not first.lost
    with StateLock(tmp_path) as second:
        assert not second.lost


def test_a_driver_that_is_replaced_loses_its_hold_and_the_new_one_has_it(tmp_path: Path) -> None:
    with StateLock(tmp_path) as first, StateLock(tmp_path, take_over=True) as second:
        assert first.lost
        assert not second.lost
        assert isinstance(first.fenced(), FencedError)
        with pytest.raises(StateError), StateLock(tmp_path):
            pass


def test_the_end_of_a_replaced_driver_does_not_free_the_folder(tmp_path: Path) -> None:
    first = StateLock(tmp_path).__enter__()
    with StateLock(tmp_path, take_over=True):
        first.__exit__()
        with pytest.raises(StateError), StateLock(tmp_path):
            pass


def test_taking_over_a_free_folder_is_just_a_start(tmp_path: Path) -> None:
    with StateLock(tmp_path, take_over=True) as only:
        assert not only.lost

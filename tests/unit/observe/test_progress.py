"""A trigger interval that cannot be kept, and the one that could."""

from __future__ import annotations

import pytest

from penstock.eventtime import interval
from penstock.observe.progress import Pace, spoken, unsustained


def test_an_interval_that_most_batches_outlast_is_reported_with_one_that_all_would_keep() -> None:
    assert unsustained(1.0, (3.0, 3.2, 2.9, 3.1)) == Pace(1.0, 3.1, 3.9)
    assert str(Pace(1.0, 3.1, 3.9)) == "batches take 3.1 seconds: a trigger of 1 second cannot be kept, '3.9 seconds' could"
    assert unsustained(10.0, (14.2,) * 5) == Pace(10.0, 14.2, 18.0)


@pytest.mark.parametrize("batches", [(), (5.0, 5.0), (0.5, 0.4, 5.0), (0.5, 5.0, 0.5, 5.0), (1.0, 1.0, 1.0)])
def test_a_slow_batch_or_two_are_no_trend(batches: tuple[float, ...]) -> None:
    assert unsustained(1.0, batches) is None


def test_without_an_interval_nothing_can_be_too_slow() -> None:
    assert unsustained(None, (5.0,) * 9) is None


@pytest.mark.parametrize("seconds", [0.2, 1.0, 1.5, 12.0, 90.0])
def test_what_is_proposed_can_be_written_as_a_trigger(seconds: float) -> None:
    assert interval(spoken(seconds)) == round(seconds * 1e6)

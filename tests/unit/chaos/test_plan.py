"""A seed's list of faults is the same every time, and an app only gets the faults that it can have."""

from __future__ import annotations

import pytest

from penstock.chaos.faults import FAULTS, NEEDS, chosen, fitting
from penstock.chaos.inject import injection
from penstock.chaos.plan import plan
from penstock.crash_points import POINTS
from penstock.errors import NameFault


def test_the_same_seed_gives_the_same_faults_and_choices() -> None:
    assert plan(7, FAULTS) == plan(7, FAULTS)
    assert plan(7, FAULTS) != plan(8, FAULTS)


def test_every_fault_comes_once_without_a_time() -> None:
    assert sorted(step.fault.name for step in plan(3, FAULTS)) == sorted(fault.name for fault in FAULTS)


def test_a_longer_run_begins_as_a_short_one_and_repeats_faults() -> None:
    short, long = plan(3, FAULTS[:4]), plan(3, FAULTS[:4], minutes=10)
    assert len(long) == 30
    assert [step.fault for step in long[:4]] == [step.fault for step in short]


def test_every_fault_can_be_done_and_every_need_is_explained() -> None:
    for step in plan(1, FAULTS):
        assert callable(injection(step))
        assert all(need in NEEDS for need in step.fault.needs)


def test_every_named_point_is_a_fault() -> None:
    assert [fault.point for fault in chosen(["kill-at"])] == [name for name, _ in POINTS]


def test_an_unknown_fault_is_named_with_the_nearest() -> None:
    with pytest.raises(NameFault) as raised:
        chosen(["kill-drivr"])
    assert raised.value.hint == "did you mean `kill-driver`?"


def test_what_an_app_cannot_have_is_left_out_with_a_reason() -> None:
    fit, left = fitting(chosen(["kill-driver", "kill-broker", "duplicates"]), {"feeder"})
    assert [fault.name for fault in fit] == ["kill-driver", "duplicates"]
    assert left == {"kill-broker": NEEDS["broker"]}

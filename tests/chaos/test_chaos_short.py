"""The short form of `make chaos`: one app with state, from topics to Postgres, through the faults that hurt most.

Of the kill points those between two commits: before them a replay finds nothing, after them everything. `make chaos` has all nine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.chaos.report import Outcome
from penstock.chaos.storm import storm

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.postgres]
KILLED_AT = ("store.before-commit", "store.after-commit", "sink.before-commit", "sink.after-commit")
FAULTS = [*(f"kill-at:{point}" for point in KILLED_AT), "kill-driver", "kill-broker", "kill-postgres", "zombie", "corrupt-checkpoint"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder: Path = tmp_path_factory.mktemp("chaos") / "run"
    return storm("kafka-postgres", 3, FAULTS, keep=folder, views=("windowed",))


@pytest.mark.timeout(900)
def test_an_app_in_a_storm_loses_and_doubles_nothing(outcome: Outcome) -> None:
    """The reader looked all the way, plain Python knows the results, and `verify` compared them with a batch run."""
    assert outcome.failures == []
    assert (outcome.seen.lost, outcome.seen.duplicated, outcome.seen.partial, outcome.seen.retracted) == (0, 0, 0, 0)
    assert outcome.verified == "equal"
    assert outcome.looks > 20
    assert outcome.rows > 0


def test_every_fault_was_done_and_the_app_went_on_after_each(outcome: Outcome) -> None:
    done = [one.fault for one in outcome.injected]
    assert sorted(done) == sorted(FAULTS)
    assert all(one.done and one.recovery_s is not None for one in outcome.injected)
    assert outcome.left_out == {}

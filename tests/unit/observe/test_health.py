"""When a run is well, and what is reported when it is not."""

from __future__ import annotations

from dataclasses import replace

from penstock.observe.health import Health, health
from penstock.observe.progress import Progress

NOW = 1000.0
WELL = Progress("spend", ("spend",), "running", epoch=3, moved_at=NOW)


def test_jobs_that_run_are_well_also_when_they_have_nothing_to_do() -> None:
    assert health([WELL, replace(WELL, job="idle", moved_at=0.0), replace(WELL, status="done")], NOW, 120) == Health("ok", ())


def test_a_run_that_has_not_started_is_starting() -> None:
    assert health([], NOW, 120) == Health("starting", ("Spark is starting",))
    assert health([WELL, replace(WELL, job="new", status="starting")], NOW, 120) == Health("starting", ("job new is starting",))


def test_every_job_that_fails_is_named_with_its_reason() -> None:
    failed = replace(WELL, job="a", status="failed", detail="no broker")
    again = replace(WELL, job="b", status="restarting", detail="no server")
    found = health([WELL, failed, again], NOW, 120)
    assert found.status == "failing"
    assert found.reasons == ("job a has failed: no broker", "job b failed and waits to be started again: no server")


def test_a_batch_that_does_not_end_and_a_start_that_does_not_are_reported() -> None:
    hung = replace(WELL, busy_since=NOW - 121)
    assert health([hung], NOW, 120).reasons == ("job spend has been working on epoch 4 for 121 s",)
    assert health([replace(WELL, busy_since=NOW - 119)], NOW, 120).ok
    assert health([replace(WELL, status="starting", moved_at=NOW - 300)], NOW, 120).reasons == ("job spend has been starting for 300 s",)


def test_a_job_of_which_spark_says_nothing_any_more_is_not_taken_for_well() -> None:
    assert health([replace(WELL, looked_at=NOW - 121)], NOW, 120).reasons == ("job spend is not known to run: Spark has not answered for 121 s",)
    assert health([replace(WELL, looked_at=NOW - 119)], NOW, 120).ok
    assert health([replace(WELL, status="done", looked_at=NOW - 300)], NOW, 120).ok

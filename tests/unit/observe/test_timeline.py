"""What happened to the jobs, fed by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock.observe.progress import Progress
from penstock.observe.timeline import Event, TimeLine

NEW = Progress("spend", ("spend",), "starting")


def kinds(line: TimeLine) -> list[str]:
    return [event.kind for event in line.events]


def test_a_job_starts_fails_restarts_and_recovers() -> None:
    line = TimeLine()
    line.take([NEW], 1.0)
    running = replace(NEW, status="running", epoch=0, batches=1, rows=5, recovery_s=1.5)
    line.take([running], 2.0)
    line.take([running], 2.5)
    down = replace(running, status="restarting", restarts=1, detail="no server\nat line 3")
    line.take([down], 3.0)
    line.take([replace(down, status="running", epoch=2, batches=3, rows=9, recovery_s=0.7)], 4.0)
    assert kinds(line) == ["start", "restart", "recovery"]
    assert [event.detail for event in line.events[1:]] == ["no server", "first new epoch 0.7 s after the failure"]
    assert [(done.at, done.epoch, done.rows) for done in line.epochs] == [(2.0, 0, 5), (4.0, 2, 4)]


def test_an_outage_and_a_failure_are_noted_once() -> None:
    line = TimeLine()
    running = replace(NEW, status="running")
    away = replace(running, status="outage", detail="the broker is away")
    for at, job in enumerate((running, away, away, replace(running, status="failed", detail="given up"))):
        line.take([job], float(at))
    assert kinds(line) == ["start", "outage", "failure"]


def test_what_is_rare_is_kept_over_a_restart_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "timeline.jsonl"
    line = TimeLine(file)
    line.add(Event(1.0, "", "start"))
    line.take([NEW], 2.0)
    with file.open("a") as cut:
        cut.write('{"at": 3.0, "jo')
    again = TimeLine(file)
    assert [(event.at, event.kind) for event in again.events] == [(1.0, "start"), (2.0, "start")]
    again.add(Event(4.0, "", "stop"))
    assert kinds(TimeLine(file)) == ["start", "start", "stop"]


def test_the_first_epoch_of_a_job_that_ran_before_is_a_recovery() -> None:
    line = TimeLine()
    line.take([replace(NEW, epoch=7)], 1.0)
    line.take([replace(NEW, status="running", epoch=8, batches=1, recovery_s=2.5)], 2.0)
    assert [(event.kind, event.detail) for event in line.events] == [("start", "from epoch 8"), ("recovery", "first new epoch 2.5 s after the start")]

"""Jobs start, end and are waited for while a run goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import cast

import pytest

from penstock.errors import EngineError, PenstockError, SinkError
from penstock.observe.progress import Progress
from penstock.plan.load import load
from penstock.share.jobs import Job, jobs
from penstock.spark.run.members.fleet import Fleet
from penstock.spark.run.supervisor import Guard

APP = """
CREATE STREAM lines (value STRING) WITH (connector = 'files', path = 'input', format = 'text');
CREATE MATERIALIZED VIEW one AS SELECT value FROM lines;
CREATE MATERIALIZED VIEW two AS SELECT value FROM lines;
"""


class Double:
    """A guard whose job catches up at once, and then runs until it is stopped; `fails` makes it fail instead."""

    def __init__(self, job: Job, fails: bool = False) -> None:
        self.job, self.stop, self.fails = job, threading.Event(), fails
        self.error: PenstockError | None = None
        self.progress = Progress(job.name, (job.name,))
        self.ran: list[bool] = []

    def run(self, *, drain: bool) -> None:
        self.ran.append(drain)
        if self.fails:
            self.error = SinkError("it is away")
        elif not drain:
            self.stop.wait()


class Bench:
    def __init__(self, folder: Path) -> None:
        (folder / "app.sql").write_text(APP, encoding="utf-8")
        self.jobs = {job.name: job for job in jobs(load(folder / "app.sql"))}
        self.guards: dict[str, Double] = {}
        self.fails = self.drain = False
        self.stop = threading.Event()
        self.reports: list[list[Progress]] = []
        self.fleet = Fleet(self._guard, drain=False, stop=self.stop, report=self.reports.append)

    def _guard(self, job: Job) -> Guard:
        self.guards[job.name] = Double(job, self.fails)
        return cast(Guard, self.guards[job.name])

    def running(self, *, stay: bool = False) -> threading.Thread:
        thread = threading.Thread(target=self.fleet.run, kwargs={"stay": stay, "every_s": 0.01})
        thread.start()
        return thread


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_jobs_come_and_go_and_the_run_ends_with_the_last(bench: Bench) -> None:
    bench.fleet.start(bench.jobs["one"])
    run = bench.running()
    bench.fleet.start(bench.jobs["two"], catch_up=True)
    bench.fleet.wait(bench.jobs["two"])
    assert bench.guards["two"].ran[0] is True, "the history first"
    bench.fleet.end("one")
    assert not bench.fleet.is_at_work("one")
    assert [guard.job.name for guard in bench.fleet.guards] == ["two"]
    bench.stop.set()
    run.join(10)
    assert not run.is_alive()
    assert [progress.job for progress in bench.reports[-1]] == ["two"]


def test_a_run_that_stays_outlives_its_jobs(bench: Bench) -> None:
    run = bench.running(stay=True)
    bench.fleet.start(bench.jobs["one"])
    bench.fleet.end("one")
    run.join(0.2)
    assert run.is_alive()
    bench.stop.set()
    run.join(10)
    assert not run.is_alive()


def test_what_a_new_job_fails_of_is_raised_to_who_waits_for_it(bench: Bench) -> None:
    bench.fails = True
    bench.fleet.start(bench.jobs["one"], catch_up=True)
    with pytest.raises(SinkError, match="it is away"):
        bench.fleet.wait(bench.jobs["one"])


def test_a_stop_of_the_run_reaches_who_waits_for_a_job(bench: Bench) -> None:
    bench.stop.set()
    bench.fleet.start(bench.jobs["one"], catch_up=True)
    with pytest.raises(EngineError, match="was stopped before"):
        bench.fleet.wait(bench.jobs["one"])

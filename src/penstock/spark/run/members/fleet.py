"""The jobs of a run, one thread each: started together, and while it goes on added, changed, opened again and taken away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from penstock.errors import EngineError
from penstock.observe.progress import Progress
from penstock.share.jobs import Job
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.supervisor import Guard

_LOOK_EVERY_S = 0.05
_OPENS_WITHIN_S = 60.0


@dataclass
class _Crew:
    """A job at work. `caught_up` is set when it has taken all that was there when it started."""

    guard: Guard
    thread: threading.Thread
    caught_up: threading.Event

    @property
    def is_over(self) -> bool:
        return not self.thread.is_alive()


class Fleet:
    """`make_guard` gives a guard with an event of its own, by which that job alone is stopped; `stop` stops them all."""

    def __init__(self, make_guard: Callable[[Job], Guard], *, drain: bool, stop: threading.Event, report: Callable[[list[Progress]], None]) -> None:
        self._make_guard, self._drain, self._stop, self._report = make_guard, drain, stop, report
        self._crews: dict[str, _Crew] = {}
        self._changing = False

    @property
    def guards(self) -> list[Guard]:
        return [crew.guard for crew in list(self._crews.values())]

    @property
    def progress(self) -> list[Progress]:
        return [replace(guard.progress, views=tuple(member.name for member in guard.job.members)) for guard in self.guards]

    @contextmanager
    def changing(self) -> Iterator[None]:
        """The run does not end inside, though for a moment no job may be at work."""
        self._changing = True
        try:
            yield
        finally:
            self._changing = False

    def start(self, job: Job, *, catch_up: bool = False) -> None:
        """Start a job; `catch_up`: it takes what is there now first, which `wait` waits for, and then goes on."""
        guard = self._make_guard(job)
        if self._stop.is_set():
            guard.stop.set()
        caught_up = threading.Event()
        thread = threading.Thread(target=self._work, args=(guard, caught_up, catch_up), name=f"job {job.name}", daemon=True)
        self._crews[job.name] = _Crew(guard, thread, caught_up)
        thread.start()

    def _work(self, guard: Guard, caught_up: threading.Event, catch_up: bool) -> None:
        if catch_up:
            guard.run(drain=True)
            if guard.error is not None or guard.stop.is_set():
                return
            caught_up.set()
        if not catch_up or not self._drain:
            guard.run(drain=self._drain)

    def wait(self, job: Job) -> None:
        """Until a job that was started to catch up has done so; raises what it failed of."""
        crew = self._crews[job.name]
        while not crew.caught_up.wait(_LOOK_EVERY_S):
            if crew.guard.error is not None:
                raise crew.guard.error
            if crew.is_over and not crew.caught_up.is_set():
                raise EngineError("the run was stopped before this took effect", hint="run the app again: it takes effect then")

    def is_at_work(self, name: str) -> bool:
        """Whether a job runs, or is about to be started again."""
        crew = self._crews.get(name)
        return crew is not None and not crew.is_over

    def runs(self, job: Job) -> bool:
        """Whether it is that very job, by what it means."""
        crew = self._crews.get(job.name)
        return crew is not None and crew.guard.job.fingerprint == job.fingerprint

    def wait_until_open(self, job: Job) -> None:
        """Until a job is at work as it is declared now; raises what it failed of. One that waits for an outside system is not waited for."""
        guard, deadline = self._crews[job.name].guard, time.monotonic() + _OPENS_WITHIN_S
        while self.is_at_work(job.name) and time.monotonic() < deadline:
            if guard.opened is not None and guard.opened.job is job:
                return
            time.sleep(_LOOK_EVERY_S)
        if guard.error is not None:
            raise guard.error

    def end(self, name: str) -> None:
        """Let a job finish its epoch and take it out."""
        crew = self._crews.get(name)
        if crew is not None:
            crew.guard.stop.set()
            crew.thread.join()
            del self._crews[name]

    def regroup(self, app: AppContext, job: Job) -> None:
        """Give a job other followers or sinks between two epochs of it; its streaming query goes on."""
        crew = self._crews.get(job.name)
        if crew is None or crew.is_over:  # done, or given up: as it is now it may fare better
            self.start(job)
            return
        self._renamed(crew.guard, job)
        deadline = time.monotonic() + _OPENS_WITHIN_S
        while not crew.is_over and crew.guard.error is None and time.monotonic() < deadline:
            run = crew.guard.opened
            if run is not None and run.job is not job:
                run.change(app, job)
            if run is not None and run.job is job:
                return
            time.sleep(_LOOK_EVERY_S)

    def reopen(self, job: Job) -> None:
        """Open a job again as it is declared now, from the same checkpoint; returns when it is at work."""
        crew = self._crews.get(job.name)
        if crew is None or crew.is_over:
            self.start(job)
            return
        self._renamed(crew.guard, job)
        crew.guard.reopen()
        self.wait_until_open(job)

    def _renamed(self, guard: Guard, job: Job) -> None:
        fresh = self._make_guard(job)
        guard.job, guard.open_run, guard.backlog = job, fresh.open_run, fresh.backlog

    def run(self, *, stay: bool, every_s: float = 0.5) -> None:
        """Report until each job is done, stopped or given up; `stay`: until the run is stopped, whatever becomes of its jobs."""
        while self._is_at_work() or (stay and not self._stop.is_set()):
            self._report(self.progress)
            deadline = time.monotonic() + every_s
            while time.monotonic() < deadline and (stay or self._is_at_work()):
                if self._stop.is_set():
                    for guard in self.guards:
                        guard.stop.set()
                    time.sleep(_LOOK_EVERY_S)
                else:
                    self._stop.wait(_LOOK_EVERY_S)
        self._report(self.progress)

    def _is_at_work(self) -> bool:
        return self._changing or any(not crew.is_over for crew in list(self._crews.values()))

"""One seed against one app: start it, feed it, hurt it fault by fault, and judge what came out."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.chaos import damage
from penstock.chaos.apps import Subject
from penstock.chaos.driver import Driver, nobody_runs
from penstock.chaos.feeder import Feeder
from penstock.chaos.inject import NotDone, NotSurvived, arming, injection
from penstock.chaos.judge import await_results, catch_up, verify
from penstock.chaos.logs import AtWork, Logs
from penstock.chaos.parts import Parts
from penstock.chaos.plan import Step
from penstock.chaos.report import Injected, Outcome
from penstock.chaos.sinks import Reader

RECOVERY_S = 240.0
_NUDGE_S = 120.0
_QUIET_S = 5.0


@dataclass
class Run:
    """The app under attack. Injections use `driver`, `start`, `healed` and what else is public."""

    subject: Subject
    parts: Parts
    reader: Reader
    folder: Path
    feeder: Feeder | None
    say: Callable[[str], None]
    jobs: frozenset[str]
    transaction_s: float = 120.0
    armed: Step | None = None
    next_point: Step | None = None
    newest_worker: int = 1
    own_pid: int = field(default_factory=os.getpid)
    _drivers: list[Driver] = field(default_factory=list)
    _at_work: list[AtWork] = field(default_factory=list)
    _healed: tuple[float, Mapping[str, int]] = (0.0, {})
    _still: tuple[float, Mapping[str, int]] | None = None

    driver: Driver = field(init=False)

    def start(
        self,
        armed: Step | None = None,
        *,
        take_over: bool = False,
        environment: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Driver:
        """A new driver, from now on the one; `armed` dies at the point of that step. StateError when a driver runs that is not ours."""
        if all(driver.code is not None for driver in self._drivers):
            with nobody_runs(self.subject.state):
                pass
        more = [word for name, value in (settings or {}).items() for word in ("--set", f"{name}={value}")]
        command = self.subject.command("run", *more, *(["--take-over"] if take_over else []))
        extra = {**(environment or {}), **({"PENSTOCK_KILL_AT": arming(armed)} if armed else {})}
        log = self.folder / "drivers" / f"{len(self._drivers):03}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        self.driver, self.armed, self._still = Driver(command, {**os.environ, **extra}, log), armed, None
        self._drivers.append(self.driver)
        return self.driver

    def fed(self) -> Feeder:
        assert self.feeder is not None
        return self.feeder

    def healed(self) -> None:
        """From this moment on nothing keeps the app from going on: recovery is counted from here, and from what is there by now."""
        now = time.monotonic()
        self.reader.look()
        self._healed, self._still = (now, self.mark()), None

    def mark(self) -> dict[str, int]:
        """How far every job is."""
        return {job: self.reader.store.epochs.get(job, -1) for job in self.jobs}

    def all_past(self, mark: Mapping[str, int]) -> bool:
        """Whether every job has a new epoch; where nobody can say whether there is anything new to do, whether the app says that it runs."""
        return self.past(mark) or self.quiet_s() > _QUIET_S

    def past(self, mark: Mapping[str, int]) -> bool:
        return all(self.reader.store.epochs.get(job, -1) > epoch for job, epoch in mark.items())

    def unfed(self) -> bool:
        """Whether nobody can say what there is for the app to do, and by its own word it runs."""
        return self.feeder is None and self.driver.code is None and all(map(self._says_running, self.jobs))

    def quiet_s(self) -> float:
        """How long the app has reported that it runs while no job had a new epoch; 0 where it is fed, for then there is always something to do."""
        if not self.unfed():
            self._still = None
            return 0.0
        now, mark = time.monotonic(), self.mark()
        if self._still is None or self._still[1] != mark:
            self._still = (now, mark)
        return now - self._still[0]

    def _says_running(self, job: str) -> bool:
        statuses = re.findall(rf"^\S+ (?:.*, )?{re.escape(job)}(?:, [^:]*)?: (\w+)", self.driver.words, re.MULTILINE)
        return bool(statuses) and statuses[-1] in ("running", "idle", "waiting")

    def await_progress(self, seconds: float, otherwise: str) -> None:
        """Until every job has a new epoch; NotSurvived, in these words, when that does not come."""
        self.reader.look()
        mark, deadline = self.mark(), time.monotonic() + seconds
        while not self.all_past(mark):
            if self.driver.code is not None:
                raise NotSurvived(f"{otherwise}: it ended with code {self.driver.code}: {self.driver.words[-300:]}")
            if time.monotonic() > deadline:
                raise NotSurvived(f"{otherwise} within {seconds:.0f} s: {self.driver.words[-300:]}")
            time.sleep(0.05)

    def go(self, steps: Sequence[Step], outcome: Outcome) -> None:
        """All steps, one after the other; the app runs, whole and caught up with none of them, when this returns."""
        self.reader.start()
        if self.feeder is not None:
            self.feeder.start()
        try:
            self.start(steps[0] if steps and steps[0].fault.point else None)
            if not (steps and steps[0].fault.point):
                self.await_progress(RECOVERY_S, "the app did not start")
            for step, following in zip(steps, [*steps[1:], None], strict=True):
                outcome.injected.append(self._step(step, following))
                self.say(_step_line(step, outcome.injected[-1]))
                if self.reader.broken is not None:
                    raise self.reader.broken
        except NotSurvived as error:
            outcome.trouble.append(str(error))

    def _step(self, step: Step, following: Step | None) -> Injected:
        if not step.fault.point:
            time.sleep(step.calm_s)
        self.next_point = following if following is not None and following.fault.point else None
        note = failure = ""
        since = self.driver.started if self.armed == step else time.time()  # one that is armed may be dead by now
        self.healed()
        try:
            note = injection(step)(self, step)
        except NotSurvived as error:
            failure = str(error)
        recovered = self._recovery()
        self._at_work.append(AtWork(step.fault, since, time.time()))
        for driver in self._drivers[:-1]:
            if driver is not self.driver and driver.code is not None:
                driver.sweep()
        if recovered is None:
            failure = failure or f"the app did not go on within {RECOVERY_S:.0f} s: {self.driver.words[-300:]}"
        return Injected(step.fault.name, recovered, note, failure, done=not isinstance(note, NotDone))

    def _recovery(self) -> float | None:
        """Seconds from healing until every job went on; a driver that ended is started again, one that stays behind once."""
        began, mark = self._healed
        starts, nudged = 0, False
        while time.monotonic() < began + RECOVERY_S:
            if self.all_past(mark) or (self.armed is not None and self._moved(mark)):
                return round(time.monotonic() - self.quiet_s() - began, 2)
            if self.driver.code is not None and self.armed is None and starts < 5:
                starts += 1
                self.start()
            elif not nudged and time.monotonic() > began + _NUDGE_S and time.monotonic() > self.driver.began + _NUDGE_S:
                nudged = True
                self.driver.kill()
            time.sleep(0.05)
        return None

    def _moved(self, mark: Mapping[str, int]) -> bool:
        """Whether a driver that is to die soon has done anything, or has died where it was to."""
        return self.driver.code == -signal.SIGKILL or any(self.reader.store.epochs.get(job, -1) > epoch for job, epoch in mark.items())

    def conclude(self, outcome: Outcome, logs: Logs) -> None:
        """Let it catch up, stop it, and judge: the known results, the reader, `verify`, the logs."""
        if self.feeder is not None:
            self.feeder.close()
            outcome.rows = len(self.feeder.fed.orders) + len(self.feeder.fed.payments)
            await_results(self.subject, self.feeder, self.reader, outcome)
        code = self.driver.stop()
        if code != 0:
            outcome.trouble.append(f"the last driver ended with code {code}: {self.driver.words[-300:]}")
        for driver in self._drivers:
            driver.sweep()
        if self.feeder is None:
            catch_up(self.subject, self.folder / "drivers" / "drain.log", self._drivers, outcome)
        self.reader.finish()
        if self.reader.broken is not None:
            raise self.reader.broken
        outcome.trouble += self.reader.unread
        outcome.looks = self.reader.looks
        verify(self.subject, outcome)
        killed = {driver.pid: at for driver in self._drivers if (at := driver.killed_at) is not None}
        outcome.unknown = logs.unknown([self._with_drivers(fault) for fault in self._at_work], killed)

    def _with_drivers(self, fault: AtWork) -> AtWork:
        """Until the last driver ended that ran while the fault was at work."""
        hit = [driver.ended for driver in self._drivers if driver.started <= fault.until and driver.ended >= fault.since]
        return replace(fault, until=max([fault.until, *hit]))

    def close(self) -> None:
        """End whatever this run started and still runs, and leave nothing corrupted."""
        for driver in self._drivers:
            if driver.code is None:
                driver.tree()
                driver.kill()
            driver.sweep(5.0)
        damage.restore_last(self.subject.state)


def _step_line(step: Step, one: Injected) -> str:
    went_on = f"on again after {one.recovery_s:.1f} s" if one.recovery_s is not None else "NOT on again"
    return (
        f"{step.number:>3}  {step.fault.name:<26} {went_on}{'; ' + one.note if one.note else ''}{'; FAILED: ' + one.failure if one.failure else ''}"
    )

"""How each fault is done: what is killed, stopped or corrupted, and how it is made good again."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.chaos import damage
from penstock.chaos.driver import Driver, command_line, nobody_runs, send_signal
from penstock.chaos.faults import KILL_AT
from penstock.chaos.parts import Server, fill, free, is_locked, wake
from penstock.chaos.plan import Step
from penstock.cli.run.stopping import descendants
from penstock.crash_points import POINTS

if TYPE_CHECKING:
    from penstock.chaos.run import Run

_START_S = 120.0
_END_S = 60.0
_IDLE_S = 20.0
_NOTHING_TO_DO = "the app had nothing new to do there"
_FREEZE_AT = ("", *(name for name, _ in POINTS))
# A driver frozen inside a transaction of SQLite holds the file's lock: nobody can take over until it is killed.
_IN_SQLITE = ("store.mid-rows", "store.before-commit")


class NotSurvived(Exception):
    """The app did not behave as promised; the text says how."""


class NotDone(str):
    """A note that says why a fault could not be done, or nobody noticed it: what did not happen was not survived."""


Injection = Callable[["Run", Step], str]


def kill_driver(run: Run, step: Step) -> str:
    run.driver.kill()
    run.healed()
    run.start()
    return ""


def kill_jvm(run: Run, step: Step) -> str:
    """The driver cannot go on without it: it must end by itself, with a word, and not hang."""
    jvm = run.driver.jvm()
    if jvm is None:
        raise NotSurvived("the driver has no JVM")
    send_signal(jvm, signal.SIGKILL)
    run.healed()
    code = run.driver.wait(_END_S)
    if code is None:
        run.driver.kill()
        run.start()
        raise NotSurvived(f"the driver did not notice within {_END_S:.0f} s that its JVM is gone")
    words = run.driver.words
    run.start()
    if "Traceback" in words or "JVM has ended" not in words:
        raise NotSurvived(f"the driver did not say in plain words that its JVM is gone: {words[-300:]}")
    return f"exit code {code}"


def kill_python_worker(run: Run, step: Step) -> str:
    deadline = time.monotonic() + _END_S
    while not (workers := run.driver.python_workers()):
        if time.monotonic() > deadline:
            raise NotSurvived("no Python worker ran")
        time.sleep(0.05)
    send_signal(random.Random(step.choice).choice(workers), signal.SIGKILL)
    run.healed()
    return f"one of {len(workers)}"


def kill_executor(run: Run, step: Step) -> str:
    executors = [pid for pid in descendants(run.own_pid) if b"CoarseGrainedExecutorBackend" in command_line(pid)]
    if not executors:
        raise NotSurvived("the cluster runs no executor")
    send_signal(random.Random(step.choice).choice(executors), signal.SIGKILL)
    run.healed()
    return f"one of {len(executors)}"


def kill_worker(run: Run, step: Step) -> str:
    assert run.parts.cluster is not None
    run.parts.cluster.kill_worker(run.newest_worker)
    run.newest_worker = run.parts.cluster.add_worker()
    run.healed()
    return ""


def kill_server(server: Server, step: Step, run: Run) -> str:
    away_s = 1 + step.choice % 5
    server.kill()
    time.sleep(away_s)
    server.start()
    run.healed()
    return f"{server.name} away for {away_s} s"


def kill_broker(run: Run, step: Step) -> str:
    assert run.parts.broker is not None
    return kill_server(run.parts.broker, step, run)


def kill_postgres(run: Run, step: Step) -> str:
    assert run.parts.postgres is not None
    return kill_server(run.parts.postgres, step, run)


def kill_at(run: Run, step: Step) -> str:
    """The driver that runs may be armed for it already; the one that follows may be armed for the next."""
    if run.armed != step:
        run.driver.kill()
        run.start(step)
    hit = _await(run, lambda: run.driver.code is not None)
    idle = not hit and run.unfed()
    if not hit:
        run.driver.kill()
    code, words = run.driver.code, run.driver.words
    run.healed()
    run.start(run.next_point)
    if idle:
        return NotDone(f"not reached: {_NOTHING_TO_DO}")
    if not hit:
        raise NotSurvived(f"the driver never came to {step.fault.point}")
    if code != -signal.SIGKILL:
        raise NotSurvived(f"the driver ended with code {code} before it came to {step.fault.point}: {words[-300:]}")
    return f"at {arming(step)}"


def _await(run: Run, there: Callable[[], bool]) -> bool:
    """Whether it comes to that in time; an app that nobody feeds may have nothing to do, and is not waited for as long."""
    deadline = time.monotonic() + _START_S
    while not (found := there()) and time.monotonic() < deadline and run.quiet_s() < _IDLE_S:
        time.sleep(0.05)
    return found


def arming(step: Step) -> str:
    """The point, and at which hit the driver dies."""
    return f"{step.fault.name.removeprefix(KILL_AT)}:{1 + step.choice % 3}"


def zombie(run: Run, step: Step) -> str:
    points = [point for point in _FREEZE_AT if not point.startswith("sink.") or "sink" in run.subject.offered]
    if "store" not in run.subject.settings:
        points = [point for point in points if point not in _IN_SQLITE]
    point = points[step.choice % len(points)]
    where = _frozen_at(run, point, 1 + step.choice % 3) if point else "any moment"
    first = run.driver
    _stop_outside_sqlite(run, first)
    run.healed()
    try:
        run.start(take_over=True)
        run.await_progress(_START_S, "the second driver did not take over")
    finally:
        first.send(signal.SIGCONT)
    code = first.wait(_END_S)
    if code is None:
        first.kill()
        raise NotSurvived("the driver that was replaced went on when it woke up")
    if code != 4 or not any(word in first.words for word in ("taken over", "took over")):
        raise NotSurvived(f"the driver that was replaced ended with code {code} and did not say that it was: {first.words[-300:]}")
    return f"stopped at {where}; fenced"


def _stop_outside_sqlite(run: Run, driver: Driver) -> None:
    """Stop it in its tracks; if that is in a transaction of SQLite, whose lock would last as long as it does, it may go on for a moment."""
    driver.send(signal.SIGSTOP)
    deadline = time.monotonic() + _END_S
    while "store" not in run.subject.settings and is_locked(run.subject.state / "results.db") and time.monotonic() < deadline:
        driver.send(signal.SIGCONT)
        time.sleep(0.1)
        driver.send(signal.SIGSTOP)


def _frozen_at(run: Run, point: str, times: int) -> str:
    """Run a driver that freezes at `point`, and say where it is: one whose app has nothing to do there is left running."""
    run.driver.kill()
    first = run.start(environment={"PENSTOCK_STOP_AT": f"{point}:{times}"})
    if _await(run, lambda: first.code is not None or _is_stopped(first)) and first.code is None:
        return point
    if not run.unfed():
        raise NotSurvived(f"the driver never came to {point}")
    first.kill()  # woken later, it could still come there
    run.start()
    run.await_progress(_START_S, "the app did not start again")
    return f"any moment, {point} not reached: {_NOTHING_TO_DO}"


def _is_stopped(driver: Driver) -> bool:
    return Path(f"/proc/{driver.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def two_drivers(run: Run, step: Step) -> str:
    run.driver.kill()
    run.driver.sweep()
    run.healed()
    both = [run.start(), run.start()]
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and all(driver.code is None for driver in both):
        time.sleep(0.05)
    ended = [driver for driver in both if driver.code is not None]
    if not ended:
        both[1].kill()
        raise NotSurvived("two drivers run from one state folder")
    run.driver = next((driver for driver in both if driver.code is None), both[1])
    if len(ended) == 2 or ended[0].code != 4 or "is in use by" not in ended[0].words:
        raise NotSurvived(f"of two drivers one must say that the folder is in use; exit codes {[driver.code for driver in both]}")
    return "one went on, one was refused"


def disk_full(run: Run, step: Step) -> str:
    assert run.parts.disk is not None
    full_s = 3 + step.choice % 8
    fill(run.parts.disk)
    try:
        time.sleep(full_s)
    finally:
        free(run.parts.disk)
    run.healed()
    return f"full for {full_s} s"


def corrupt_checkpoint(run: Run, step: Step) -> str:
    """The run must refuse and name the file, or have no use for it; whatever comes, the file comes back."""
    run.driver.kill()
    run.driver.sweep()
    with nobody_runs(run.subject.state):
        corrupted = damage.corrupt(run.subject.state, run.jobs, step.choice)
    if corrupted is None:
        run.start()
        return NotDone("there was no checkpoint yet")
    try:
        note, failure = _answer(run, corrupted)
    finally:
        if run.driver.code is None:
            run.driver.kill()
        run.driver.sweep()
        corrupted.restore()
    run.healed()
    run.start()
    if failure:
        raise NotSurvived(f"{corrupted}: {failure}")
    return type(note)(f"{corrupted}: {note}")


def _answer(run: Run, corrupted: damage.Corrupted) -> tuple[str, str]:
    """What a driver makes of the damage: a note, or how it failed."""
    run.reader.look()
    mark = run.mark()
    driver = run.start(settings={"restarts_max": "1", "restart_backoff_s": "0.5"})
    _await(run, lambda: driver.code is not None or run.past(mark) or corrupted.named_in(driver.words))
    if corrupted.named_in(driver.words):
        return "refused and named", ""
    if run.unfed() and corrupted.of_state and run.mark()[corrupted.job] == mark[corrupted.job]:
        return NotDone(f"not read: {_NOTHING_TO_DO}"), ""
    if run.past(mark) or run.unfed():
        return "", "the run went on as if nothing had happened"
    return "", f"exit code {driver.code}, the file is not named: {driver.words[-300:]}"


def duplicates(run: Run, step: Step) -> str:
    run.fed().duplicate(8)
    return _while_fed(run)


def disorder(run: Run, step: Step) -> str:
    run.fed().shuffle(8)
    return _while_fed(run)


def poison_rows(run: Run, step: Step) -> str:
    run.fed().poison(8)
    return _while_fed(run)


def _while_fed(run: Run) -> str:
    time.sleep(3)
    run.healed()
    return ""


def slow_sink(run: Run, step: Step) -> str:
    server, slow_s = _server(run, step), 5 + step.choice % 6
    server.slow(slow_s)
    run.healed()
    return f"{server.name} slow for {slow_s} s"


def hung_sink(run: Run, step: Step) -> str:
    return _hang(_server(run, step), 8 + step.choice % 10, run)


def broker_pause(run: Run, step: Step) -> str:
    assert run.parts.broker is not None
    return _hang(run.parts.broker, run.transaction_s + 10, run)


def _server(run: Run, step: Step) -> Server:
    return run.parts.servers[step.choice % len(run.parts.servers)]


def _hang(server: Server, seconds: float, run: Run) -> str:
    stopped = server.freeze()
    try:
        time.sleep(seconds)
    finally:
        wake(stopped)
    run.healed()
    return f"{server.name} hung for {seconds:.0f} s"


INJECTIONS: Mapping[str, Injection] = {
    "kill-driver": kill_driver,
    "kill-jvm": kill_jvm,
    "kill-python-worker": kill_python_worker,
    "kill-executor": kill_executor,
    "kill-worker": kill_worker,
    "kill-broker": kill_broker,
    "kill-postgres": kill_postgres,
    "zombie": zombie,
    "two-drivers": two_drivers,
    "disk-full": disk_full,
    "corrupt-checkpoint": corrupt_checkpoint,
    "duplicates": duplicates,
    "disorder": disorder,
    "poison-rows": poison_rows,
    "slow-sink": slow_sink,
    "hung-sink": hung_sink,
    "broker-pause": broker_pause,
}


def injection(step: Step) -> Injection:
    """What does the fault of a step."""
    return kill_at if step.fault.point else INJECTIONS[step.fault.name]

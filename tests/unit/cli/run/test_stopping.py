"""The first signal asks, the second does not wait; nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from penstock.cli.run.stopping import Stopping, descendants

# Runs until stopped, with a grandchild; says so when it is ready; ends in order only when asked to.
PROGRAM = """
import subprocess, sys, time
from penstock.cli.run.stopping import Stopping
parent = "import subprocess, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, start_new_session=True)
grandchild = child.stdout.readline().strip()
with Stopping(lambda message: print(message, file=sys.stderr, flush=True), within_s=WITHIN).listening() as stopping:
    print(child.pid, grandchild, flush=True)
    stopping.event.wait()
    print("asked", flush=True)
    time.sleep(0.2 if ORDERLY else 60)
child.kill()
subprocess.run(["kill", "-9", grandchild])
"""


def started(orderly: bool, within_s: float = 30.0) -> tuple[subprocess.Popen[str], list[int]]:
    program = PROGRAM.replace("ORDERLY", str(orderly)).replace("WITHIN", str(within_s))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, [int(pid) for pid in process.stdout.readline().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


def asked(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"


def test_the_first_signal_lets_the_run_end_in_order() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process, _ = started(orderly=True)
        process.send_signal(number)
        _, printed = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "finishing the current batch" in printed


def test_the_second_signal_ends_everything_at_once_with_130() -> None:
    process, children = started(orderly=False)
    process.send_signal(signal.SIGINT)
    asked(process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    assert gone(children)


def test_a_batch_that_takes_too_long_is_cut_off() -> None:
    process, children = started(orderly=False, within_s=0.5)
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=10)
    assert process.returncode == 0
    assert "the next run repeats it" in printed
    assert gone(children)


def test_the_handlers_of_before_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stopping(lambda _message: None).listening():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_all_processes_below_are_found() -> None:
    process, children = started(orderly=True)
    assert descendants(process.pid) == children
    assert process.pid in descendants(os.getpid())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)


def test_a_hang_up_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stopping(lambda message: None).listening():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)

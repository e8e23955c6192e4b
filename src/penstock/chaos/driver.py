"""The driver under attack: `penstock run` as a process of its own, and the processes below it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from penstock.cli.run.stopping import descendants
from penstock.errors import StateError
from penstock.spark.run.lock import StateLock

_STOP_S = 30.0


@contextmanager
def nobody_runs(state: Path) -> Iterator[None]:
    """Keep every driver out of a state folder; StateError while one runs there, for chaos would hurt it."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    with ExitStack() as stack:
        try:
            stack.enter_context(StateLock(state))
        except StateError as error:
            raise StateError(error.message, hint="stop the run first: chaos hurts only drivers of its own") from None
        yield


class Driver:
    """One `penstock run`; what it prints goes to `log`."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        self.began = time.monotonic()
        self.started = time.time()
        self._below: list[int] = []
        self._ended: float | None = None
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *command], env=dict(environment), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )

    @property
    def code(self) -> int | None:
        """Its exit code, -9 after kill -9; None while it runs."""
        code = self._process.poll()
        if code is not None and self._ended is None:
            self._ended = time.time()
        return code

    @property
    def ended(self) -> float:
        """When it was seen to have ended, in seconds since 1970; now, while it runs."""
        return time.time() if self.code is None or self._ended is None else self._ended

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def killed_at(self) -> float | None:
        """When kill -9 ended it, as far as was seen; None while it runs and for one that ended by itself."""
        return self._ended if self.code == -signal.SIGKILL else None

    @property
    def words(self) -> str:
        """All that it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def tree(self) -> list[int]:
        """The driver and everything below it: the JVM, its Python workers."""
        if self.code is None:
            self._below = descendants(self._process.pid)
        return [self._process.pid, *self._below]

    def jvm(self) -> int | None:
        """The JVM's process."""
        return next((pid for pid in self.tree()[1:] if program(pid) == "java"), None)

    def python_workers(self) -> list[int]:
        """The Python processes that the JVM started."""
        jvm = self.jvm()
        return [] if jvm is None else [pid for pid in descendants(jvm) if b"pyspark" in command_line(pid)]

    def send(self, number: signal.Signals) -> None:
        """To the whole tree: as a machine is stopped or woken."""
        for pid in self.tree():
            send_signal(pid, number)

    def kill(self) -> None:
        """kill -9 of the Python process alone; its JVM ends by itself."""
        self.tree()
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """In order; at once if that takes too long."""
        if self.code is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(_STOP_S)
            self.kill()
        return self._process.wait()

    def wait(self, seconds: float) -> int | None:
        """Its exit code when it ends within that time."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def sweep(self, seconds: float = 20.0) -> list[int]:
        """Wait until its JVM is gone too; what is left after that time is killed, and reported."""
        deadline = time.monotonic() + seconds
        while (left := [pid for pid in self._below if alive(pid)]) and time.monotonic() < deadline:
            time.sleep(0.05)
        for pid in left:
            send_signal(pid, signal.SIGKILL)
        self._below = []
        return left


def send_signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def alive(pid: int) -> bool:
    """Whether it runs; one that is dead but not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""

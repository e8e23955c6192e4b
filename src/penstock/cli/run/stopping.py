"""How a long run is stopped: the first Ctrl-C or SIGTERM asks for it, the second does not wait.

PySpark puts its own Ctrl-C handler in place when a session starts on the main thread; long runs therefore work on another thread and
leave the main one to this module.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

STOPS_WITHIN_S = 10.0
# Where a run ends because its time is over nobody waits at the keyboard: better to end in order than at once.
ENDS_WITHIN_S = 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopping:
    """The wish to stop: `event` is what the engine watches."""

    def __init__(self, say: Callable[[str], None], within_s: float = STOPS_WITHIN_S) -> None:
        self.event = threading.Event()
        self._say = say
        self._within_s = within_s
        self._limit: threading.Timer | None = None

    def ask(self, why: str, within_s: float | None = None) -> None:
        """Finish the current batch and stop; what takes longer than allowed is cut off and repeated by the next run."""
        if self.event.is_set():
            return
        self.event.set()
        self._say(f"{why}: finishing the current batch")
        self._limit = threading.Timer(
            self._within_s if within_s is None else within_s, lambda: self._leave(0, "the batch took too long; the next run repeats it")
        )
        self._limit.daemon = True
        self._limit.start()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.event.is_set():
            self._leave(130, "stopped at once; the next run repeats what was not finished")
        self.ask("stopping (once more to stop at once)" if number == signal.SIGINT else "stopping")

    def _leave(self, code: int, why: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h")  # a live display hides the cursor
        self._say(why)
        kill_children(os.getpid())
        sys.stdout.flush()
        os._exit(code)

    @contextmanager
    def listening(self) -> Iterator[Stopping]:
        """Takes the signals for as long as the block runs; the time limit of a stop ends with it.

        A hang-up that is to be ignored (`nohup`) stays ignored.
        """
        taken = [number for number in _SIGNALS if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN)]
        before = {number: signal.signal(number, self._on_signal) for number in taken}
        try:
            yield self
        finally:
            if self._limit is not None:
                self._limit.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)


def kill_children(parent: int) -> None:
    """Ends every process below `parent`: the JVM, and the Python workers that it started."""
    for pid in reversed(descendants(parent)):
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def descendants(parent: int) -> list[int]:
    """All processes below `parent`, parents before their children."""
    below: dict[int, list[int]] = {}
    for pid, above in _parents():
        below.setdefault(above, []).append(pid)
    found: list[int] = []
    waiting = [parent]
    while waiting:
        children = below.get(waiting.pop(0), [])
        found += children
        waiting += children
    return found


def _parents() -> Iterator[tuple[int, int]]:
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        yield from ((int(pid), int(above)) for pid, above in (line.split() for line in listing.splitlines()))
        return
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The second field is the program's name in brackets and may hold anything, brackets too.
            after_name = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(stat.parent.name), int(after_name[1])

"""Who runs from a state folder: one process at a time, and how another takes its place.

The lock is the kernel's, on the file `lock`, so it goes with a process that dies. A driver that hangs, or whose machine cannot be
reached, keeps it; `take_over` then puts another file in its place. The driver before finds by itself that it holds the folder no
longer, at the latest when it moves again; until then the fences of the store and of the sinks keep it from writing. A sink without
a fence of its own is written only while the store's still holds; a delivery that had started when the driver froze goes on.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from itertools import count
from pathlib import Path
from typing import TextIO

from penstock.errors import FencedError, StateError
from penstock.settings import make_state

_TRIES = 3
_TRY_AGAIN_S = 0.1


def is_held(state: Path) -> bool:
    """Whether a process runs from the state folder now."""
    try:
        with (state / "lock").open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


class StateLock:
    """`with StateLock(state) as hold:` runs alone; StateError names the process that does already."""

    def __init__(self, state: Path, *, take_over: bool = False) -> None:
        self._state = state
        self._path = state / "lock"
        self._take_over = take_over
        self._file: TextIO | None = None

    def __enter__(self) -> StateLock:
        make_state(self._state)
        if self._take_over:
            self._replace()
        else:
            self._acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def lost(self) -> bool:
        """Whether another driver has taken over."""
        return self._file is not None and not self._is_named(self._file)

    def fenced(self) -> FencedError:
        """What to tell when the hold is lost."""
        holder = self._path.read_text(encoding="utf-8").strip() if self._path.exists() else "another driver"
        return FencedError(
            f"{self._state} was taken over by {holder or 'another driver'}; this driver has stopped, and no epoch of it was taken since",
            hint="only one `penstock run` may use a state folder at a time; a delivery that it had started may arrive late,"
            " in sinks that are not exactly-once",
        )

    def _acquire(self) -> None:
        for patience in count(start=_TRIES, step=-1):
            file = self._path.open("a+", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if patience > 0:  # `status` has it for an instant, to see whether it can
                    file.close()
                    time.sleep(_TRY_AGAIN_S)
                    continue
                file.seek(0)
                holder = file.read().strip() or "another process"
                file.close()
                raise StateError(
                    f"{self._state} is in use by {holder}",
                    hint="stop it, or choose another state folder with --state; if it hangs and cannot be stopped, `run --take-over` replaces it",
                ) from None
            if self._is_named(file):  # else somebody took over between opening and locking
                self._keep(file)
                return
            file.close()

    def _replace(self) -> None:
        fresh = self._state / f".lock-{socket.gethostname()}-{os.getpid()}"
        file = fresh.open("a+", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        self._keep(file)
        fresh.replace(self._path)

    def _keep(self, file: TextIO) -> None:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        self._file = file

    def _is_named(self, file: TextIO) -> bool:
        """Whether the name `lock` still means this file."""
        try:
            named = self._path.stat()
        except FileNotFoundError:
            return False
        held = os.fstat(file.fileno())
        return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)

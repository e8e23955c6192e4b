"""Changes of a folder that a reader sees whole or not at all, and that survive a loss of power."""

from __future__ import annotations

import ctypes
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = -100  # AT_FDCWD: paths as they are
_EXCHANGE = 2  # RENAME_EXCHANGE
_PATIENCE_S = 10.0


def write_through(path: Path, *contents: bytes) -> None:
    """Write a file, piece by piece, and force it to disk."""
    with path.open("wb") as file:
        for content in contents:
            file.write(content)
            file.flush()
        os.fsync(file.fileno())


def force(folder: Path) -> None:
    """Force the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; False where the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    if not one.exists() or not other.exists():
        raise FileNotFoundError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))
    return False


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Alone with a folder among all processes that ask so; TimeoutError when another does not let go. Ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another process is at work in it for more than {_PATIENCE_S:.0f} s") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(handle)

"""One thing that `doctor` looks at, and what it finds; and the two questions that many of them ask: does a server answer, is there room."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OK, WARN, MISSING = "ok", "warn", "missing"
_CONNECT_S = 1.5
_ROOM_GB, _ROOM_LEAST_GB = 2.0, 0.2


@dataclass(frozen=True)
class Finding:
    """`status` is ok, warn (it runs, but mind this) or missing (it does not run); `remedy` says how to get it."""

    what: str
    status: str
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Check:
    """`ask` is given the name of the thing. `without`: what it means when there is no answer."""

    what: str
    ask: Callable[[str], Finding]
    without: str = MISSING
    remedy: str = ""


def answers(host: str, port: int) -> str | None:
    """None when something listens there, else why not."""
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_S):
            return None
    except TimeoutError:
        return f"no answer within {_CONNECT_S} s"
    except OSError as error:
        return error.strerror or str(error)


def nearest(folder: Path) -> Path:
    """The folder itself, or the one above it that is there."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())


def room(what: str, folder: Path, remedy: str) -> Finding:
    """Whether a folder can be written, or made, and its disk has room."""
    place = nearest(folder)
    if not place.is_dir():
        return Finding(what, MISSING, f"{place} is a file", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding(what, MISSING, f"{place} may not be written", remedy)
    free = shutil.disk_usage(place).free / 1e9
    status = OK if free >= _ROOM_GB else WARN if free >= _ROOM_LEAST_GB else MISSING
    return Finding(what, status, f"{folder}, {free:,.1f} GB free", "" if status == OK else f"make room; {remedy}")

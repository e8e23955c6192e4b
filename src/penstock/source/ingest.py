"""Lands what is sent to a stream: one file per request, whole and on the disk before the answer.

A request's key is part of its file's name, with the answer that it got; so the rows, the key and the answer are kept in one step, and a
request that is sent again within a day, also after a restart, gets the same answer and adds nothing.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from penstock.source.landing import land

_DAY_S = 24 * 3600


class Taken(NamedTuple):
    """What became of the lines of a request."""

    rows: int
    dead: int


def landed_in(state: Path, stream: str) -> Path:
    """The folder of a stream's landed files."""
    return (state / "recorded" / stream).absolute()


class Ingest:
    """Lands for one stream; any thread may ask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._known: dict[str, tuple[float, Taken]] | None = None
        self._next = 0

    def take(self, body: bytes, key: str | None, dead_in: Callable[[list[bytes]], int]) -> Taken:
        """Land the lines of a body, blank ones left out; `dead_in` counts those that do not decode."""
        lines = [line for line in body.replace(b"\r\n", b"\n").split(b"\n") if line.strip()]
        name = None if key is None else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:32]
        if name is None:
            taken = self._counted(lines, dead_in)
            with self._guard:
                self._land(lines, taken, None)
            return taken
        with self._guard:  # the same key at the same moment waits for the first
            found = self._keys().get(name)
            if found is not None and time.time() - found[0] < _DAY_S:
                return found[1]
            taken = self._counted(lines, dead_in)
            self._land(lines, taken, name)
            self._known_now(name, taken)
            return taken

    @staticmethod
    def _counted(lines: list[bytes], dead_in: Callable[[list[bytes]], int]) -> Taken:
        dead = dead_in(lines) if lines else 0
        return Taken(len(lines) - dead, dead)

    def _land(self, lines: list[bytes], taken: Taken, name: str | None) -> None:
        if not lines and name is None:
            return
        self._keys()
        tail = "" if name is None else f"-{name}-{taken.rows}-{taken.dead}"
        content = b"".join(line + b"\n" for line in lines)
        while not land(self._folder / f"{self._next:012d}{tail}.txt", content, synced=True):
            self._next += 1
        self._next += 1

    def _known_now(self, name: str, taken: Taken) -> None:
        """The newest is last; what is older than a day is forgotten, but for the files."""
        keys, now = self._keys(), time.time()
        keys.pop(name, None)
        keys[name] = (now, taken)
        for oldest in list(takewhile(lambda known: now - keys[known][0] >= _DAY_S, keys)):
            del keys[oldest]

    def _keys(self) -> dict[str, tuple[float, Taken]]:
        """Those of the last day, read from the names of the files once."""
        if self._known is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._known = {}
            for file in sorted(self._folder.glob("*.txt")):
                number, *rest = file.stem.split("-")
                if number.isdigit():
                    self._next = max(self._next, int(number) + 1)
                if len(rest) == 3:
                    self._known[rest[0]] = (file.stat().st_mtime, Taken(int(rest[1]), int(rest[2])))
        return self._known

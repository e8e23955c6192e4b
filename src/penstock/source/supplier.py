"""How many rows of a generated stream there are: ranges of row numbers, landed as small files that every job reads.

One thread per stream lands `first end` lines at the stream's rate; a bounded stream without a rate is landed at once. So all
views see the same rows, a restart goes on where the last run ended, and history is what was landed. Spark makes the rows.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from penstock.source.landing import land

_LOG = logging.getLogger("penstock.source")
_STEP_S = 0.25
_WAIT_S_MAX = 5.0
_CHUNK_ROWS = 100_000
_ENDLESS_RATE = 1_000_000.0  # an endless stream without a rate: more than one machine can take in


@dataclass(frozen=True)
class Supply:
    """`rows` in all (None: no end), at `rate` a second (None: as fast as possible)."""

    rows: int | None
    rate: float | None

    @property
    def per_second(self) -> float | None:
        """The rate at which ranges are landed; None: all at once."""
        return self.rate if self.rate is not None else (None if self.rows is not None else _ENDLESS_RATE)


class Supplier:
    """Lands the ranges of one stream in `folder`; started and stopped by hand."""

    def __init__(self, supply: Supply, folder: Path) -> None:
        self.supply = supply
        self._folder = folder
        self._stopping = threading.Event()
        self._landing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"generate {folder.name}", daemon=True)
        folder.mkdir(parents=True, exist_ok=True)
        self._next_file, self._next_row = landed(folder)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def finish(self, at_least: int) -> None:
        """Land all that is left of a bounded stream, or `at_least` rows more of an endless one: for a run that ends."""
        rest = at_least if self.supply.rows is None else self.supply.rows - self._next_row
        self._land(rest)

    def _run(self) -> None:
        rate = self.supply.per_second
        began, first, wait = time.monotonic(), self._next_row, 0.0 if rate is None else _STEP_S
        while not self._stopping.wait(wait):
            try:
                if rate is None:
                    self.finish(0)
                    return
                self._land(first + int((time.monotonic() - began) * rate) - self._next_row)
                wait = _STEP_S
            except OSError as error:  # a full disk: what is due is landed when there is room
                wait = min(2 * max(wait, _STEP_S), _WAIT_S_MAX)
                _LOG.warning("cannot record the rows of %s: %s; next try in %.1f s", self._folder.name, error, wait)

    def _land(self, rows: int) -> None:
        """Land the next `rows` row numbers, as many files as keep all cores busy."""
        with self._landing:
            end = self._next_row + max(0, rows)
            end = end if self.supply.rows is None else min(end, self.supply.rows)
            while self._next_row < end:
                upto = min(self._next_row + _CHUNK_ROWS, end)
                if land(self._folder / f"{self._next_file:012d}.txt", f"{self._next_row} {upto}\n".encode("ascii")):
                    self._next_file, self._next_row = self._next_file + 1, upto
                else:  # another driver supplies too, for one of the two was frozen: go on behind it, so that no row is landed twice
                    self._next_file, self._next_row = landed(self._folder)


def landed(folder: Path) -> tuple[int, int]:
    """How many files, and how many rows, a stream has landed so far."""
    files = sorted(path for path in folder.glob("*.txt") if path.stem.isdigit()) if folder.is_dir() else []
    if not files:
        return 0, 0
    return int(files[-1].stem) + 1, range_of(files[-1])[1]


def range_of(file: Path) -> tuple[int, int]:
    """The first row number in a landed file, and the one after its last."""
    first, end = file.read_text(encoding="ascii").split()
    return int(first), int(end)


def files_for(rows: int, supply: Supply) -> int:
    """How many files hold about `rows` rows: the bound of a micro-batch."""
    each = _CHUNK_ROWS if supply.rate is None else max(1.0, min(float(_CHUNK_ROWS), supply.rate * _STEP_S))
    return max(1, int(rows / each))

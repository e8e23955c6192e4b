"""Named points on the way of an epoch at which a test can end the process: nowhere else do crashes hurt.

`PENSTOCK_KILL_AT="sink.before-commit:2"` kills this process with SIGKILL the second time it comes to that point (the first, without
a number); `PENSTOCK_STOP_AT` freezes it with SIGSTOP instead, which makes a zombie of it. Spark's JVM ends when its driver does.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import OptionFault

POINTS: tuple[tuple[str, str], ...] = (
    ("store.before-begin", "the epoch is computed; its transaction in the results store has not started"),
    ("store.mid-rows", "some rows of the epoch are in the store's open transaction"),
    ("store.before-commit", "rows, change log and ledger are in the store's open transaction"),
    ("store.after-commit", "the store has the epoch, no sink has it"),
    ("sink.before-begin", "the sink is about to be given the epoch; at-most-once has confirmed it already"),
    ("sink.mid-rows", "the sink has taken some rows of the epoch"),
    ("sink.before-commit", "the sink has taken all rows and has not committed them"),
    ("sink.after-commit", "the sink has the epoch; neither its place in the store nor Spark's commit log says so"),
    ("epoch.after-both", "Spark's commit log has the epoch, and the next one begins"),
)
_UNTIL_IT_COMES_S = 0.5
_SIGNALS = {"PENSTOCK_KILL_AT": signal.SIGKILL, "PENSTOCK_STOP_AT": signal.SIGSTOP}


@dataclass
class Trap:
    """Sends `signal` to this process the `left`-th time that the process passes `point`."""

    point: str
    left: int
    signal: signal.Signals
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def hit(self) -> None:
        with self._lock:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.signal)
                time.sleep(_UNTIL_IT_COMES_S)  # it may come by another thread, and meanwhile this one would go on, into a transaction


def traps(environment: Mapping[str, str]) -> dict[str, list[Trap]]:
    """The traps that an environment asks for, by point."""
    found: dict[str, list[Trap]] = {}
    for variable, sent in _SIGNALS.items():
        if asked := environment.get(variable):
            point, _, times = asked.partition(":")
            if point not in dict(POINTS) or not (times or "1").isdecimal() or times == "0":
                listed = ", ".join(name for name, _ in POINTS)
                raise OptionFault(f"{variable} wants POINT or POINT:N (the N-th time), not '{asked}'", hint=f"the points are: {listed}")
            found.setdefault(point, []).append(Trap(point, int(times or 1), sent))
    return found


_set: dict[str, list[Trap]] | None = None


def crash_point(point: str) -> None:
    """Say that this process is at `point`. Costs a look into an empty dictionary where no trap is set."""
    global _set
    if _set is None:
        _set = traps(os.environ)
    if _set:
        for trap in _set.get(point, ()):
            trap.hit()

"""How an outage is waited out: since when, for how long at most, how long until the next try, and when it is over."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field

from penstock.errors import OutageError
from penstock.spark.run.faults.parts import Parts

log = logging.getLogger("penstock.spark")
_LONGEST_PAUSE_S = 15.0
_SAY_EVERY_S = 60.0
_POLL_S = 0.25


@dataclass
class Wait:
    """One outage of one job, from the first sign of it until the job works again."""

    job: str
    error: OutageError
    limit_s: float | None
    """None: for as long as it takes."""
    since: float = field(default_factory=time.time)
    _began: float = field(default_factory=time.monotonic)
    _reported_at: float = field(default_factory=time.monotonic)
    _tries: int = 0

    def __post_init__(self) -> None:
        how_long = "as long as it takes" if self.limit_s is None else f"up to {self.limit_s:g} s"
        log.warning("%s; the job waits, and tries again for %s", self.words, how_long, extra={"job": self.job})

    @property
    def words(self) -> str:
        return str(self.error).splitlines()[0]

    @property
    def lasts_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def over(self) -> bool:
        """Whether it has lasted longer than it may."""
        return self.limit_s is not None and self.lasts_s >= self.limit_s

    def seen(self, error: OutageError) -> None:
        """It is still so, or another part is away by now; reported once a minute."""
        self.error = error
        if time.monotonic() - self._reported_at >= _SAY_EVERY_S:
            self._reported_at = time.monotonic()
            log.warning("%s, for %.0f s by now", self.words, self.lasts_s, extra={"job": self.job})

    def pause_s(self, first_s: float) -> float:
        """How long to wait before the next try: longer each time, and not beyond the end of all patience."""
        self._tries += 1
        pause = min(first_s * 2.0 ** min(self._tries - 1, 20), _LONGEST_PAUSE_S)
        return pause if self.limit_s is None else max(0.0, min(pause, self.limit_s - self.lasts_s))

    def ended(self) -> None:
        log.warning("the job goes on after an outage of %.0f s (%s)", self.lasts_s, self.words, extra={"job": self.job})


class Patience:
    """The outages of one job. `wait` is the one that it is in; `limit_s` how long one may last, None: as long as it takes."""

    def __init__(self, job: str, parts: Parts) -> None:
        self._job, self._parts = job, parts
        self.limit_s: float | None = None
        self.wait: Wait | None = None

    def look(self) -> OutageError | None:
        """The part that is away, if there is one; Spark may wait for it in silence."""
        trouble = self._parts.trouble(self._job)
        if trouble is not None:
            self.away(trouble)
        return trouble

    def away(self, error: OutageError) -> Wait:
        if self.wait is None:
            self.wait = Wait(self._job, error, self.limit_s)
        else:
            self.wait.seen(error)
        return self.wait

    def pause(self, wait: Wait, first_s: float, stop: threading.Event) -> None:
        """Until the next try, which comes at once when the part that was found away is found back."""
        known = self._parts.trouble(self._job) is not None
        until = time.monotonic() + wait.pause_s(first_s)
        while time.monotonic() < until and not stop.wait(min(_POLL_S, max(0.0, until - time.monotonic()))):
            found = self._parts.trouble(self._job)
            if known and found is None:
                return
            known = known or found is not None

    def check(self, *, works: bool) -> None:
        """An outage is over when nothing is found away any more, and the job works."""
        if self.look() is None and works and self.wait is not None:
            self.wait.ended()
            self.wait = None

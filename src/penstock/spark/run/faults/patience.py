"""How an outage is waited out: since when, for how long at most, and how long until the next try."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from penstock.errors import OutageError

log = logging.getLogger("penstock.spark")
_LONGEST_PAUSE_S = 15.0
_SAY_EVERY_S = 60.0


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

"""What a job reports of itself while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Intake:
    """What a job has taken from one stream. `lag` counts what is known to wait there; None: the source does not know."""

    stream: str
    rows: int = 0
    dead: int = 0
    lag: int | None = None
    lag_unit: str = "rows"


@dataclass(frozen=True)
class Pace:
    """A trigger interval that the last batches did not keep, what they took, and an interval that they would keep."""

    asked_s: float
    taken_s: float
    could_s: float

    def __str__(self) -> str:
        return f"batches take {spoken(self.taken_s)}: a trigger of {spoken(self.asked_s)} cannot be kept, '{spoken(self.could_s)}' could"


@dataclass(frozen=True)
class Progress:
    """The state of one job at one moment; figures count from the start of the run.

    `epoch` is the newest one that is done, which is what Spark's commit log says; it is known from the start on where the job ran before.
    `rows` are rows read in this run. `lag` sums up what waits at the streams. `late` counts what stateful operators dropped, as Spark does: of
    an aggregate the groups that a batch made of late rows, not the rows. `phases_s` says where the time of all batches went, by Spark's names.
    `recovery_s` is the time from the last failure, or from the start, to the first new epoch. `outage_since` is since when an outside system is
    away. `moved_at` is when the status or the epoch last changed, `busy_since` since when one and the same batch is at work, `looked_at` when
    Spark last answered; all in seconds since 1970.
    """

    job: str
    views: tuple[str, ...]
    status: str = "starting"
    epoch: int = -1
    rows: int = 0
    rows_per_s: float = 0.0
    lag: int | None = None
    lag_unit: str = "rows"
    watermark: str | None = None
    state_rows: int = 0
    state_bytes: int = 0
    late: int = 0
    dead: int = 0
    restarts: int = 0
    detail: str = ""
    streams: tuple[Intake, ...] = ()
    batches: int = 0
    batch_s: float = 0.0
    phases_s: Mapping[str, float] = field(default_factory=dict)
    recovery_s: float | None = None
    behind: Pace | None = None
    outage_since: float | None = None
    moved_at: float = field(default=0.0, compare=False)
    busy_since: float | None = field(default=None, compare=False)
    looked_at: float | None = field(default=None, compare=False)


def unsustained(asked_s: float | None, batches_s: tuple[float, ...]) -> Pace | None:
    """Whether the newest batches took longer than the trigger interval, and the interval that would have been enough for all of them.

    One slow batch is no trend, and the first ones of a run are slow: at least three, more than half of them too long.
    """
    too_long = [taken for taken in batches_s if asked_s is not None and taken > asked_s]
    if not asked_s or len(batches_s) < 3 or 2 * len(too_long) <= len(batches_s):
        return None
    return Pace(asked_s, sorted(batches_s)[len(batches_s) // 2], _rounded_up(1.2 * max(batches_s)))


def _rounded_up(seconds: float) -> float:
    """Two figures at most, and no fraction from ten seconds on: an interval that somebody would write."""
    step = 0.1 if seconds < 10 else 1 if seconds < 60 else 10
    return round((int(seconds / step - 1e-9) + 1) * step, 1)


def spoken(seconds: float) -> str:
    """`1 second`, `1.5 seconds`, `200 milliseconds`: as a trigger is written."""
    if seconds < 1:
        return f"{round(seconds * 1000)} milliseconds"
    figure = f"{seconds:.1f}".rstrip("0").rstrip(".")
    return f"{figure} second{'s' * (figure != '1')}"

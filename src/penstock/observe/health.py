"""Whether a run is well: every job runs and gets on, or the reasons why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.observe.progress import Progress

_WELL = ("running", "done", "stopped")


@dataclass(frozen=True)
class Health:
    """`status` is ok, starting or failing; anything but ok has its reasons."""

    status: str
    reasons: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def health(progress: Sequence[Progress], now: float, stalled_after_s: float) -> Health:
    """The health of a run; `now` is in seconds since 1970.

    A job fails when it was given up, waits for an outside system that is unavailable or to be started again, works on one batch for longer than
    `stalled_after_s`, or when Spark has not answered for that long. A job that has nothing to do is well.
    """
    if not progress:
        return Health("starting", ("Spark is starting",))
    failing = tuple(reason for job in progress if (reason := _reason(job, now, stalled_after_s)))
    if failing:
        return Health("failing", failing)
    starting = tuple(f"job {job.job} is starting" for job in progress if job.status not in _WELL)
    return Health("starting", starting) if starting else Health("ok", ())


def _reason(job: Progress, now: float, stalled_after_s: float) -> str | None:
    if job.status in ("failed", "restarting"):
        return f"job {job.job} {'has failed' if job.status == 'failed' else 'failed and waits to be started again'}: {job.detail}"
    if job.status == "outage":
        lasts = f" for {now - job.outage_since:.0f} s" if job.outage_since is not None else ""
        return f"job {job.job} waits{lasts}: {job.detail}"
    if job.status == "starting" and now - job.moved_at > stalled_after_s:
        return f"job {job.job} has been starting for {now - job.moved_at:.0f} s"
    if job.busy_since is not None and now - job.busy_since > stalled_after_s:
        return f"job {job.job} has been working on epoch {job.epoch + 1} for {now - job.busy_since:.0f} s"
    if job.status == "running" and job.looked_at is not None and now - job.looked_at > stalled_after_s:
        return f"job {job.job} is not known to run: Spark has not answered for {now - job.looked_at:.0f} s"
    return None


def jobs_as_json(progress: Sequence[Progress]) -> list[dict[str, object]]:
    """What `/health` says of each job."""
    return [
        {
            "job": job.job,
            "views": list(job.views),
            "status": job.status,
            "detail": job.detail,
            "epoch": job.epoch,
            "rows": job.rows,
            "rows_per_s": round(job.rows_per_s, 1),
            "lag": job.lag,
            "lag_unit": job.lag_unit,
            "watermark": job.watermark,
            "late": job.late,
            "dead": job.dead,
            "restarts": job.restarts,
            "outage_since": None if job.outage_since is None else datetime.fromtimestamp(job.outage_since, UTC).isoformat(timespec="seconds"),
            "recovery_s": None if job.recovery_s is None else round(job.recovery_s, 3),
        }
        for job in progress
    ]

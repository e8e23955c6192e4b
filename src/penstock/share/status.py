"""How a view stands after its last run: what is known without running it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewStatus:
    """`status` is the job's last known one: `not run`, running, done, stopped, failed or killed; `at` when that was (ISO 8601, UTC).

    A run that was killed could not say so itself: it was `running` at that time, and no process holds the state folder any more.
    `epoch` is the newest epoch that Spark has finished, `rows` the number of rows kept. `gaps` are records that went unread with the
    user's word, as one sentence each.
    """

    view: str
    job: str
    status: str
    detail: str = ""
    at: str | None = None
    epoch: int = -1
    rows: int = 0
    gaps: tuple[str, ...] = ()

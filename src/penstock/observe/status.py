"""How a view stands after its last run: what is known without running it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewStatus:
    """`status` is the job's last known one: `not run`, running, outage, restarting, done, stopped, failed or killed; `at` when that was.

    A run that was killed could not say so itself: it was `running` at that time, and no process holds the state folder any more.
    `epoch` is the newest epoch that is done, as everywhere else; `rows` is the number of rows that the view keeps. `gaps` are records that
    went unread with the user's word, as one sentence each. `lag`, `watermark` and `state_rows` are as the run last noted them. `tables` says
    which tables have changed since the view began, one sentence each.
    `dead` is the number of records of its streams that are kept as dead letters.
    """

    view: str
    job: str
    status: str
    detail: str = ""
    at: str | None = None
    epoch: int = -1
    rows: int = 0
    gaps: tuple[str, ...] = ()
    lag: int | None = None
    lag_unit: str = "rows"
    watermark: str | None = None
    state_rows: int = 0
    tables: tuple[str, ...] = ()
    dead: int = 0

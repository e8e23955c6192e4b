"""What a job reports of itself while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The state of one job at one moment. `lag` counts what is known to wait at the source; its unit is in `lag_unit`."""

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
    late: int = 0
    dead: int = 0
    restarts: int = 0
    detail: str = ""

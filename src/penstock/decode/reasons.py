"""Why a record is a dead letter, in words."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.eventtime import interval

NO_VALUE = "no value"
INVALID_UTF8 = "not valid UTF-8"
NOT_JSON = "not valid JSON"
MISFIT = "does not fit the declared types"
NO_COLUMNS = "none of the declared columns"
MAX_AHEAD = "1 day"


@dataclass(frozen=True)
class FutureGuard:
    """Finds rows dated beyond `max_ahead` (None: 1 day) from `now`; `event_time` and `now` are Spark expressions.

    A stream without event time has none.
    """

    event_time: str | None
    max_ahead: str | None
    now: str

    def faults(self) -> list[tuple[str, str]]:
        """The condition of being dated too far ahead, and its words, in Spark SQL; none without event time."""
        if self.event_time is None:
            return []
        span = self.max_ahead or MAX_AHEAD
        time = f"CAST({self.event_time} AS TIMESTAMP)"
        seconds = f"timestampdiff(SECOND, {self.now}, {time})"
        distance = (
            f"CASE WHEN {seconds} >= 172800 THEN concat({seconds} DIV 86400, ' days') "
            f"WHEN {seconds} >= 3600 THEN concat({seconds} DIV 3600, ' h') ELSE concat({seconds} DIV 60, ' min') END"
        )
        words = span.replace("\\", "\\\\").replace("'", "\\'")
        # A stream's current_timestamp is put in after Spark has folded constants, so this is computed for every row: in plain numbers.
        return [
            (
                f"unix_micros({time}) > unix_micros({self.now}) + {interval(span)}L",
                f"concat('dated ', {distance}, ' in the future: beyond max_ahead {words}')",
            )
        ]

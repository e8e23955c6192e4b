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
CLOCK = "current_timestamp()"
_DAY_US = 24 * 60 * 60 * 1_000_000


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
        # Spark writes the clock of an epoch into the code of its stage, after it has folded constants, and so would compile the stage for every
        # epoch. The code has only the day, as a number that costs nothing to look at; rows dated beyond that are judged by a function that
        # Spark leaves as it is, not compiled.
        day = "current_date()" if self.now == CLOCK else f"CAST({self.now} AS DATE)"
        since = f"unix_date({day}) * {_DAY_US}L"
        return [
            (
                f"unix_micros({time}) > {since} + {interval(span)}L"
                f" AND zip_with(array({time}), array(true), (_t, _) -> unix_micros(_t) > unix_micros({self.now}) + {interval(span)}L)[0]",
                f"concat('dated ', {distance}, ' in the future: beyond max_ahead {words}')",
            )
        ]

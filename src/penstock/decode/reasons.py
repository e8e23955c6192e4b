"""Why a record is a dead letter, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.eventtime import interval

# The condition of having it, and its words, which are made only for those who want them: each part of an expression is a question to the JVM.
Fault = tuple[Column, Callable[[], Column]]

NO_VALUE = "no value"
INVALID_UTF8 = "not valid UTF-8"
NOT_JSON = "not valid JSON"
MORE_FOLLOWS = "more follows the JSON record"
MISFIT = "does not fit the declared types"
NO_COLUMNS = "none of the declared columns"
MAX_AHEAD = "1 day"
CLOCK = "current_timestamp()"
_DAY_US = 24 * 60 * 60 * 1_000_000


@dataclass(frozen=True)
class FutureGuard:
    """Finds rows dated beyond `max_ahead` (None: 1 day) from `now`, a Spark expression. A stream without event time has none."""

    event_time: Column | None
    max_ahead: str | None
    now: str

    def faults(self) -> list[Fault]:
        """The condition of being dated too far ahead, and its words; none without event time."""
        if self.event_time is None:
            return []
        span = self.max_ahead or MAX_AHEAD
        time, ahead = self.event_time.cast("timestamp"), F.lit(interval(span))
        # Spark writes the clock of an epoch into the code of its stage, after it has folded constants, and so would compile the stage for every
        # epoch. The code has only the day, as a number that costs nothing to look at; rows dated beyond that are judged by a function that
        # Spark leaves as it is, not compiled.
        day = F.current_date() if self.now == CLOCK else F.expr(self.now).cast("date")
        beyond_day = F.unix_micros(time) > F.unix_date(day) * F.lit(_DAY_US) + ahead
        beyond = F.zip_with(F.array(time), F.array(F.lit(True)), lambda each, _: F.unix_micros(each) > F.unix_micros(F.expr(self.now)) + ahead)
        return [(beyond_day & beyond[0], lambda: self._words(time, span))]

    def _words(self, time: Column, span: str) -> Column:
        seconds = F.timestamp_diff("SECOND", F.expr(self.now), time)

        def in_units(length_s: int, name: str) -> Column:
            return F.concat((seconds / length_s).cast("bigint").cast("string"), F.lit(name))

        distance = F.when(seconds >= 172800, in_units(86400, " days")).when(seconds >= 3600, in_units(3600, " h")).otherwise(in_units(60, " min"))
        return F.concat(F.lit("dated "), distance, F.lit(f" in the future: beyond max_ahead {span}"))

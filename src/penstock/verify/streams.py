"""The streams of a view as its epochs took them: for a batch run, with or without the origin of every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.decode import CLOCK
from penstock.plan.cut.origin import column_of
from penstock.plan.model.declare import Stream
from penstock.schema import quote
from penstock.spark.checkpoint.offset_log import LoggedEpoch
from penstock.spark.checkpoint.positions import clock_at, of_each, place_of
from penstock.spark.compile.frames import AppContext, traced
from penstock.verify.consumed import Consumed


@dataclass(frozen=True)
class Taken:
    """What a generation of a job took up to the last of the `logged` epochs, as frames of one session."""

    spark: SparkSession
    app: AppContext
    consumed: Consumed
    logged: list[LoggedEpoch]
    more: Callable[[str], Mapping[str, str]] = lambda epoch: {}
    """Columns beside those of the stream, as SQL by name, given the epoch of a row as SQL."""

    def rows(self, stream: Stream) -> DataFrame:
        """The good rows; a record dated ahead is judged by the clock of the epoch that took it."""
        return self._traced(stream).selectExpr(*(quote(name) for name in stream.schema.names), *self._more(stream))

    def _more(self, stream: Stream) -> list[str]:
        if not self.more("0"):
            return []
        epoch = of_each([epoch.epoch for epoch in self.logged], place_of(stream.options, *self._source(stream), self.logged))
        return [f"{column} AS {quote(name)}" for name, column in self.more(f"({epoch})").items()]

    def with_origins(self, stream: Stream) -> DataFrame:
        """The good rows, each with its origin."""
        place = place_of(stream.options, *self._source(stream), self.logged)
        mark, epoch = of_each(self._late_marks(), place), of_each([epoch.epoch for epoch in self.logged], place)
        position = "named_struct('at', __position, 'record', __raw)"
        origin = f"named_struct('mark', timestamp_millis({mark}), 'epoch', CAST({epoch} AS BIGINT), 'positions', array({position}))"
        columns = (quote(name) for name in stream.schema.names)
        return self._traced(stream).selectExpr(*columns, *self._more(stream), f"{origin} AS {quote(column_of(stream.name))}")

    def _traced(self, stream: Stream) -> DataFrame:
        now = clock_at(stream.options, *self._source(stream), self.logged) if stream.event_time else CLOCK
        return traced(self.spark, self.app, stream, self.consumed.span(stream.name, self.logged[-1]), now=now)

    def _source(self, stream: Stream) -> tuple[Path, int]:
        """The folder of a stream's source in the checkpoint, and its place in the offset log."""
        end = self.logged[-1]
        return self.consumed.folder(stream.name, end), self.consumed.source(stream.name, len(end.ends))

    def _late_marks(self) -> list[int]:
        """By which watermark each epoch judged its rows: that of the one before."""
        return [0, *(epoch.watermark_ms for epoch in self.logged[:-1])]

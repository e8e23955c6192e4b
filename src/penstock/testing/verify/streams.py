"""The streams of a view as its epochs took them: for a batch run, with or without the origin of every row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.decode import CLOCK
from penstock.plan.declare import Stream
from penstock.schema import quote
from penstock.spark.checkpoint import LoggedEpoch
from penstock.spark.frames import App, traced
from penstock.spark.places import clock_at, of_each, place_of
from penstock.testing.verify.consumed import Life
from penstock.testing.verify.origin import column_of


@dataclass(frozen=True)
class Taken:
    """What a life of a job took up to the last of the `logged` epochs, as frames of one session."""

    spark: SparkSession
    app: App
    life: Life
    logged: list[LoggedEpoch]

    def rows(self, stream: Stream) -> DataFrame:
        """The good rows; a record dated ahead is judged by the clock of the epoch that took it."""
        return self._traced(stream).drop("__position", "__raw")

    def with_origins(self, stream: Stream) -> DataFrame:
        """The good rows, each with its origin."""
        place = place_of(stream.options, *self._source(stream), self.logged)
        mark, epoch = of_each(self._late_marks(), place), of_each([epoch.epoch for epoch in self.logged], place)
        position = "named_struct('at', __position, 'record', __raw)"
        origin = f"named_struct('mark', timestamp_millis({mark}), 'epoch', CAST({epoch} AS BIGINT), 'positions', array({position}))"
        columns = (quote(name) for name in stream.schema.names)
        return self._traced(stream).selectExpr(*columns, f"{origin} AS {quote(column_of(stream.name))}")

    def _traced(self, stream: Stream) -> DataFrame:
        now = clock_at(stream.options, *self._source(stream), self.logged) if stream.event_time else CLOCK
        return traced(self.spark, self.app, stream, self.life.span(stream.name, self.logged[-1]), now=now)

    def _source(self, stream: Stream) -> tuple[Path, int]:
        """The folder of a stream's source in the checkpoint, and its place in the offset log."""
        end = self.logged[-1]
        return self.life.folder(stream.name, end), self.life.source(stream.name, len(end.ends))

    def _late_marks(self) -> list[int]:
        """By which watermark each epoch judged its rows: that of the one before."""
        return [0, *(epoch.watermark_ms for epoch in self.logged[:-1])]

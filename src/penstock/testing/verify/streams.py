"""The streams of a view as its epochs took them: for a batch run, with or without the origin of every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.plan.declare import Stream
from penstock.schema import quote
from penstock.spark.checkpoint import LoggedEpoch
from penstock.spark.frames import App, traced
from penstock.testing.verify.consumed import Life
from penstock.testing.verify.epochs import file_places, of_each, place_of
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
        return self._whole(stream, self._place(stream) if stream.event_time else None).drop("__position", "__raw")

    def with_origins(self, stream: Stream) -> DataFrame:
        """The good rows, each with its origin."""
        place = self._place(stream)
        frame = self._whole(stream, place)
        if place is None and _kind(stream) == "files":
            frame, place = self._by_file(frame, stream), "__place"
        if place is None:
            return reduce(DataFrame.unionAll, [self._by_itself(stream, number) for number in range(len(self.logged))])
        mark, epoch = of_each(self._late_marks(), place), of_each([epoch.epoch for epoch in self.logged], place)
        return _with_origin(frame, stream, mark, epoch)

    def _place(self, stream: Stream) -> str | None:
        return place_of(_kind(stream), self.life, stream.name, self.logged)

    def _by_file(self, frame: DataFrame, stream: Stream) -> DataFrame:
        """With `__place`, for folders of so many files that they are joined rather than searched."""
        places = file_places(self.life, stream.name, self.logged)
        files = self.spark.createDataFrame(pa.table({"__file": list(places), "__place": list(places.values())}))
        return frame.withColumn("__file", F.get_json_object("__position", "$.file")).join(F.broadcast(files), "__file", "left")

    def _whole(self, stream: Stream, place: str | None) -> DataFrame:
        clocks = [epoch.time_ms for epoch in self.logged]
        clock = str(clocks[-1]) if place is None else of_each(clocks, place)
        span = self.life.span(stream.name, self.logged[-1])
        return traced(self.spark, self.app, stream, span, now=f"timestamp_millis({clock})")

    def _by_itself(self, stream: Stream, number: int) -> DataFrame:
        """One epoch's rows, for a source whose positions do not tell the epoch; the first told has all that went before."""
        epoch = self.logged[number]
        span = self.life.span(stream.name, epoch, after=self.logged[number - 1] if number else None)
        frame = traced(self.spark, self.app, stream, span, now=f"timestamp_millis({epoch.time_ms})")
        return _with_origin(frame, stream, str(self._late_marks()[number]), str(epoch.epoch))

    def _late_marks(self) -> list[int]:
        """By which watermark each epoch judged its rows: that of the one before."""
        return [0, *(epoch.watermark_ms for epoch in self.logged[:-1])]


def _kind(stream: Stream) -> str:
    followed = str(stream.options.get("tail", "false")).lower() == "true"
    return "tail" if followed else str(stream.options.get("connector"))


def _with_origin(frame: DataFrame, stream: Stream, mark: str, epoch: str) -> DataFrame:
    position = "named_struct('at', __position, 'record', __raw)"
    origin = f"named_struct('mark', timestamp_millis({mark}), 'epoch', CAST({epoch} AS BIGINT), 'positions', array({position}))"
    return frame.selectExpr(*(quote(name) for name in stream.schema.names), f"{origin} AS {quote(column_of(stream.name))}")

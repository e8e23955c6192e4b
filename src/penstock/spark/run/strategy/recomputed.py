"""recompute: the whole plan runs over the history in every epoch that brings something."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.plan.model.nodes import Order
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import Lower
from penstock.spark.compile.upper import recompute, recompute_columns
from penstock.spark.run.epoch_input import EpochInput
from penstock.spark.run.strategy.protocol import has_news
from penstock.store.writes import Replace, RowsAsOf


class Recomputed:
    """The streaming query only takes note that rows have come; the result is made from exactly what all epochs up to this one read."""

    reads_history = True

    def __init__(self, batch_session: SparkSession, app: AppContext, lower: Lower, history: EpochInput) -> None:
        self._batch_session, self._app, self._lower, self._history = batch_session, app, lower, history
        self.occurrences = lower.occurrences
        self.columns = rows.ddl(recompute_columns(batch_session, app, lower.member))

    def frame(self) -> DataFrame:
        return self._lower.frame

    def take(self, frame: DataFrame) -> pa.Table:
        return frame.groupBy().count().where("count > 0").toArrow()

    def added(self, table: pa.Table) -> None:
        return None

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        if not has_news(table, epoch):
            return
        member = self._lower.member
        spans, clocks = self._history.spans(epoch.number, from_start=True), self._history.clocks(epoch.number)
        found = recompute(self._batch_session, self._app, member, spans, clocks)
        ordered = isinstance(member.cut.lower, Order) and bool(member.cut.lower.keys)
        epoch.add(Replace(member.name, list(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True)), ordered=ordered))

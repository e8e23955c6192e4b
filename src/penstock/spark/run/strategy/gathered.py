"""gathered: the streaming query gives out the groups that an epoch touched, and the plan is evaluated over those alone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.gathered import columns_above, evaluated
from penstock.spark.compile.lower import Lower
from penstock.store.writes import Replace, RowsAsOf


class Gathered:
    """The result of every touched group takes the place of what the group had given before."""

    reads_history = False

    def __init__(self, batch_session: SparkSession, app: AppContext, lower: Lower) -> None:
        self._app, self._lower = app, lower
        above = columns_above(batch_session, app, lower)
        self.occurrences = lower.occurrences
        self.columns = rows.ddl(above, rows.visible(above.names))

    def frame(self) -> DataFrame:
        return self._lower.frame

    def take(self, frame: DataFrame) -> pa.Table:
        return evaluated(frame, self._app, self._lower.member)

    def added(self, table: pa.Table) -> None:
        return None

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        if not table.num_rows and not epoch.first:
            return
        is_group = pc.is_null(table["row"])
        touched, found = table.filter(is_group), table.filter(pc.invert(is_group))
        new = list(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True))
        epoch.add(Replace(self._lower.member.name, new, found["part"].to_pylist(), list(dict.fromkeys(touched["part"].to_pylist()))))

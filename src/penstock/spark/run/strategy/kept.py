"""kept: the streaming query's rows are kept, and the plan above the cut follows them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.plan.cut.divide import KEPT
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import Lower, collected, encoded
from penstock.spark.compile.upper import Above, open_upper
from penstock.spark.run.strategy.direct import as_write
from penstock.spark.run.strategy.followers import Follower
from penstock.spark.run.strategy.protocol import has_news
from penstock.store.forgetting import kept_name
from penstock.store.protocol import Store
from penstock.store.writes import RowsAsOf


class Kept:
    """The kept rows are written like those of a view that nobody reads; the view itself follows them."""

    reads_history = False

    def __init__(self, batch_session: SparkSession, app: AppContext, lower: Lower, store: Store) -> None:
        cut = lower.member.cut
        assert cut.upper is not None
        self._lower, self._name = lower, kept_name(lower.member.name)
        above = Above(cut.upper, {KEPT: rows.ddl(lower.columns)}, key=cut.stable, moves=cut.moves)
        self._follower = Follower(batch_session, open_upper(batch_session, app, lower.member, above), {KEPT: self._name}, store)
        self.occurrences = lower.occurrences
        self.columns = self._follower.columns

    def frame(self) -> DataFrame:
        return encoded(self._lower)

    def take(self, frame: DataFrame) -> pa.Table:
        return collected(frame)

    def added(self, table: pa.Table) -> None:
        return None

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        epoch.add(as_write(self._name, table, by_key=self._lower.member.cut.keys is not None, log=False))
        if has_news(table, epoch):
            self._follower.evaluate(epoch)

    def renew(self, epoch: RowsAsOf) -> None:
        self._follower.renew(epoch)

"""staged: the rows that the plan needs are kept as they come, and every step of it follows the rows of the steps below."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from penstock.plan.cut.partials import Moves
from penstock.plan.cut.steps import ROW, TAG
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import Lower, collected_as, tagged, tagged_columns
from penstock.spark.compile.upper import Above, open_upper
from penstock.spark.run.strategy.followers import Follower
from penstock.spark.run.strategy.protocol import has_news
from penstock.store.forgetting import kept_name
from penstock.store.protocol import Store
from penstock.store.writes import Append, RowsAsOf


class Staged:
    """The streaming query's rows are added to those of their inputs; the last of the steps gives the view."""

    reads_history = False

    def __init__(self, batch_session: SparkSession, app: AppContext, lower: Lower, store: Store) -> None:
        self._lower, self.occurrences = lower, lower.occurrences
        member, cut = lower.member, lower.member.cut
        self._inputs = {name: kept_name(member.name, name) for name in cut.inputs}
        columns = {name: tagged_columns(lower, at) for at, name in enumerate(cut.inputs)}
        tables, self._followers = dict(self._inputs), list[Follower]()
        for step in cut.steps:
            is_view = step == cut.steps[-1]
            given = {name: columns[table] for name, table in step.inputs}
            moves = Moves(adds_only=all(table in self._inputs for _, table in step.inputs))
            above = Above(step.plan, given, is_view, single=step.single, moves=moves)
            sources = {name: tables[table] for name, table in step.inputs}
            follower = Follower(batch_session, open_upper(batch_session, app, member, above), sources, store, "" if is_view else step.name)
            columns[step.name], tables[step.name] = follower.columns, follower.name
            self._followers.append(follower)
        self.columns = self._followers[-1].columns

    def frame(self) -> DataFrame:
        return tagged(self._lower)

    def take(self, frame: DataFrame) -> pa.Table:
        return collected_as(frame, pa.schema([(TAG, pa.int32()), (ROW, pa.string())]))

    def added(self, table: pa.Table) -> None:
        return None

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        for at, name in enumerate(self._inputs.values()):
            lines: Sequence[str] = table.filter(pc.equal(table[TAG], at))[ROW].to_pylist()
            epoch.add(Append(name, lines, log=False))
        if has_news(table, epoch):
            for follower in self._followers:
                follower.evaluate(epoch)

    def renew(self, epoch: RowsAsOf) -> None:
        for follower in self._followers:
            follower.renew(epoch)

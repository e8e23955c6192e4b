"""What a strategy is asked: what streams, what an epoch took, and what that makes of the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.change import Change
from penstock.store.writes import RowsAsOf


class Strategy(Protocol):
    """The upkeep of the view that owns a job's streaming query."""

    @property
    def occurrences(self) -> tuple[str, ...]:
        """The streams as the streaming query reads them, one that is read twice twice."""

    @property
    def columns(self) -> str:
        """The view's columns, as DDL."""

    @property
    def reads_history(self) -> bool:
        """Whether an epoch reads its streams from their start."""

    def frame(self) -> DataFrame:
        """What the streaming query runs."""

    def take(self, frame: DataFrame) -> pa.Table:
        """Run the epoch's plan, so that Spark's state commits; no rows: nothing has come."""

    def added(self, table: pa.Table) -> Sequence[Change] | None:
        """The epoch's change of the view, where what was taken is just that; None: only the store can tell."""

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        """Decide what the epoch writes and add it to `epoch`. No transaction is open: this may take its time."""


@runtime_checkable
class FromStored(Protocol):
    """A strategy whose plan above the cut reads rows that are stored, so that it can change while the job goes on."""

    def renew(self, epoch: RowsAsOf) -> None:
        """Decide the whole result once more."""


def has_news(table: pa.Table, epoch: RowsAsOf) -> bool:
    """Whether a result may be another than before: something came, or there is none yet."""
    return epoch.first or table.num_rows > 0

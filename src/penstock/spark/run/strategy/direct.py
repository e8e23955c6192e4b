"""stateless and incremental: the streaming query's rows are the view's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.change import Additions, Change
from penstock.spark.compile import rows
from penstock.spark.compile.lower import Lower, collected, encoded
from penstock.store.writes import Append, Put, RowsAsOf


class Direct:
    """Rows are added, or put and removed by key, as they come."""

    reads_history = False

    def __init__(self, lower: Lower) -> None:
        self._lower = lower
        self.occurrences = lower.occurrences
        self.columns = rows.ddl(lower.columns, lower.visible)

    def frame(self) -> DataFrame:
        return encoded(self._lower)

    def take(self, frame: DataFrame) -> pa.Table:
        return collected(frame)

    def added(self, table: pa.Table) -> Sequence[Change] | None:
        return Additions(table["__row"].to_pylist()) if self._lower.member.cut.keys is None else None

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        member = self._lower.member
        epoch.add(as_write(member.name, table, by_key=member.cut.keys is not None, keyed=member.key is not None))


class Unstored(Direct):
    """A view that keeps no rows: what comes goes straight to its sinks."""

    def added(self, table: pa.Table) -> Sequence[Change]:
        lines: Sequence[str] = table["__row"].to_pylist()
        if self._lower.member.cut.keys is None:
            return Additions(lines)
        return [Change("+", key, line) for key, line in zip(table["__key"].to_pylist(), lines, strict=True)]

    def evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        return None


def as_write(name: str, table: pa.Table, *, by_key: bool, keyed: bool = True, log: bool = True) -> Append | Put:
    """The streaming query's rows of an epoch: added, or put and removed by key."""
    lines: Sequence[str] = table["__row"].to_pylist()
    if not by_key:
        return Append(name, lines, log=log)
    keys, keeps = table["__key"].to_pylist(), table["__keep"].to_pylist()
    pairs = [(key, row) for key, row, keep in zip(keys, lines, keeps, strict=True) if keep]
    return Put(name, pairs, [key for key, keep in zip(keys, keeps, strict=True) if not keep], keyed=keyed, log=log)

"""Row numbers, counted from 0, as a Spark data source: the only part of the generator that is not a Spark expression."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy
import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

NUMBERS = "penstock_numbers"
_ROWS_PER_BATCH = 65_536
_ROWS_PER_PARTITION_MIN = 10_000


@dataclass(frozen=True)
class Supply:
    """How many rows there are to have: `rows` in all (None: no end), at `rate` a second since `origin` (None: at once)."""

    rows: int | None
    rate: float | None
    origin: float

    @property
    def endless(self) -> bool:
        return self.rows is None and self.rate is None

    def due(self, now: float) -> int | None:
        """How many rows may exist at `now`, in seconds since 1970; None where there is no bound at all."""
        if self.rate is None:
            return self.rows
        counted = max(0, int((now - self.origin) * self.rate))
        return counted if self.rows is None else min(counted, self.rows)


class Numbers(DataSource):
    """The rows `n` of a supply. Options: rows, rate, origin, chunk (most rows of a micro-batch), partitions."""

    @classmethod
    def name(cls) -> str:
        return NUMBERS

    def schema(self) -> str:
        return "n BIGINT"

    def streamReader(self, schema: StructType) -> NumberReader:
        rows, rate = self.options.get("rows"), self.options.get("rate")
        supply = Supply(int(rows) if rows else None, float(rate) if rate else None, float(self.options["origin"]))
        return NumberReader(supply, int(self.options["chunk"]), int(self.options["partitions"]))


class _Range(InputPartition):
    def __init__(self, first: int, end: int) -> None:
        self.first = first
        self.end = end


class NumberReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is `{"row": n}`: the first row that was not read."""

    def __init__(self, supply: Supply, chunk: int, partitions: int) -> None:
        self._supply = supply
        self._chunk = chunk
        self._partitions = partitions
        self._draining = False
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._chunk)

    def prepareForTriggerAvailableNow(self) -> None:
        self._draining = True
        self._target = self._supply.due(time.time())

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        first = start["row"]
        if self._draining and self._target is None:
            self._target = first + self._chunk  # there is no end to drain to: one chunk of an endless stream
        due = self._target if self._draining else self._supply.due(time.time())
        most = None if isinstance(limit, ReadAllAvailable) and due is not None else first + self._chunk
        ends = [end for end in (due, most) if end is not None]
        return {"row": max(first, min(ends))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        first, last = start["row"], end["row"]
        count = max(1, min(self._partitions, (last - first) // _ROWS_PER_PARTITION_MIN))
        cuts = [first + (last - first) * part // count for part in range(count + 1)]
        return [_Range(left, right) for left, right in pairwise(cuts) if left < right]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        assert isinstance(partition, _Range)
        for first in range(partition.first, partition.end, _ROWS_PER_BATCH):
            rows = numpy.arange(first, min(first + _ROWS_PER_BATCH, partition.end), dtype=numpy.int64)
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array(rows)], names=["n"])

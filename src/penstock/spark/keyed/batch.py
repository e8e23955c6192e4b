"""The keyed operator over history: every bucket in one step, up to the watermark that a live run would have come to."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.spark.keyed.advance import KeyedOperator, empty
from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.live import BUCKET, Code, stepped

WATERMARK = "__watermark"


def on_history(below: DataFrame, operator: KeyedOperator, code: Code, columns: StructType) -> DataFrame:
    """The operator's rows over a frame that has its bucket in BUCKET and, where rows have an event time, the watermark in WATERMARK."""
    return below.groupBy(BUCKET).applyInArrow(_whole(operator, code, 1000 * time.time_ns() // 1_000_000), columns)


def _whole(operator: KeyedOperator, code: Code, now: int) -> Callable[[pa.Table], pa.Table]:
    def run(rows: pa.Table) -> pa.Table:
        code.prepare()
        watermark = None if operator.time is None else rows.column(WATERMARK)[0].cast(pa.int64()).as_py()
        return stepped(operator, code, empty(operator), rows.select(operator.rows.names).cast(operator.rows), Clock(watermark, now)).output

    return run

"""The keyed operator on a stream: buckets of rows as Arrow bytes, their state in Spark's state store.

Before the shuffle the rows of a task are put into one value per bucket, so that what travels is few values and not many rows. Every task gives
a value to every bucket, be it empty: so every bucket is there from the first epoch on, and all are called whenever the watermark moves, as each
sets its time-out to the very next one. That is why a bucket knows the watermark of the epoch before, by which rows are late.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import Accumulator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructType

from penstock.spark.keyed.advance import Advanced, Bucket, KeyedOperator, advance, empty
from penstock.spark.keyed.bucket import Clock
from penstock.spark.keyed.ipc import from_bytes, joined, to_bytes
from penstock.spark.keyed.pythonic import Unfit

BUCKET = "__bucket"
_AT, _ROWS = "__at", "__rows"
_ROWS_MAX = 100_000
_PACKED = pa.schema([(BUCKET, pa.int32()), (_AT, pa.timestamp("us", "UTC")), (_ROWS, pa.binary())])
_STATE = "layout STRING, mark BIGINT, timer BIGINT, wake BIGINT, waiting BINARY, state BINARY"


class Code(Protocol):
    """The user's function behind an operator: what becomes of rows for which it raises, and how its mistakes are reported."""

    def prepare(self) -> None: ...
    def set_aside(self, error: Exception, row: str, number: int) -> str: ...
    def broke(self, message: str) -> Exception: ...


def on_stream(below: DataFrame, operator: KeyedOperator, code: Code, columns: StructType, buckets: int, late: Accumulator[int]) -> DataFrame:
    """The operator's rows over a streaming frame that has its bucket in the column BUCKET."""
    marked = {} if operator.time is None else below.schema[operator.time].metadata
    packed = below.mapInArrow(pack(operator.rows, buckets), "__bucket INT, __at TIMESTAMP, __rows BINARY")
    packed = packed.select(BUCKET, F.col(_AT).alias(_AT, metadata=marked), _ROWS)
    timeout = GroupStateTimeout.NoTimeout if operator.time is None else GroupStateTimeout.EventTimeTimeout
    made = packed.groupBy(BUCKET).applyInPandasWithState(_stepper(operator, code, late), "__made BINARY", _STATE, "append", timeout)
    return made.mapInArrow(unpack, columns)


def pack(schema: pa.Schema, buckets: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The rows of a task as one value per bucket, or several where they are many."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nothing = to_bytes(schema.empty_table())
        given, gathered, count = set[int](), list[pa.RecordBatch](), 0
        for batch in batches:
            gathered.append(batch)
            count += batch.num_rows
            if count >= _ROWS_MAX:
                found = dict(_by_bucket(gathered, schema))
                given |= found.keys()
                yield _packed(found)
                gathered, count = [], 0
        found = dict(_by_bucket(gathered, schema))
        yield _packed({**dict.fromkeys(set(range(buckets)) - given, nothing), **found})

    return run


def _by_bucket(batches: list[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[int, bytes]]:
    if not batches:
        return
    rows = pa.Table.from_batches(batches)
    buckets = rows.column(BUCKET).to_numpy()
    places = np.argsort(buckets, kind="stable")
    ordered = rows.drop_columns([BUCKET]).take(pa.array(places)).cast(schema).combine_chunks()
    found, starts = np.unique(buckets[places], return_index=True)
    for bucket, start, end in zip(found.tolist(), starts.tolist(), [*starts.tolist()[1:], len(buckets)], strict=True):
        yield bucket, to_bytes(ordered.slice(start, end - start))


def _packed(values: dict[int, bytes]) -> pa.RecordBatch:
    arrays = [pa.array(values.keys(), pa.int32()), pa.nulls(len(values), _PACKED.field(_AT).type), pa.array(values.values(), pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_PACKED)


def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The operator's rows, of values that hold many."""
    for batch in batches:
        for value in batch.column(0).to_pylist():
            yield from from_bytes(value).to_batches()


def _stepper(operator: KeyedOperator, code: Code, late: Accumulator[int]) -> Callable[..., Iterator[pd.DataFrame]]:
    layout = operator.layout

    def run(key: tuple[Any, ...], frames: Iterator[pd.DataFrame], group: GroupState) -> Iterator[pd.DataFrame]:
        code.prepare()
        bucket = _read(operator, code, layout, group)
        fresh = joined((bytes(value) for frame in frames for value in frame[_ROWS]), None)
        watermark = None if operator.time is None else 1000 * group.getCurrentWatermarkMs()
        found = stepped(operator, code, bucket, fresh, Clock(watermark, 1000 * group.getCurrentProcessingTimeMs()))
        if found.late:
            late.add(found.late)
        now = found.bucket
        group.update((layout, now.mark, now.timer, now.wake, to_bytes(now.waiting), to_bytes(now.state)))
        if watermark is not None:
            group.setTimeoutTimestamp(max(1, watermark // 1000))
        if found.output.num_rows:
            yield pd.DataFrame({"__made": [to_bytes(found.output)]})

    return run


def _read(operator: KeyedOperator, code: Code, layout: str, group: GroupState) -> Bucket:
    if not group.exists:
        return empty(operator)
    written, mark, timer, wake, waiting, state = group.get
    if written != layout:
        raise code.broke("was another function, or had another state, when the state of this view was written: rebuild the view")
    return Bucket(from_bytes(bytes(waiting)), from_bytes(bytes(state)), mark, timer, wake)


def stepped(operator: KeyedOperator, code: Code, bucket: Bucket, fresh: pa.Table | None, clock: Clock) -> Advanced:
    """One step of a bucket; rows for which the function raised are set aside, or the first of them stops the task."""
    try:
        found = advance(operator, bucket, fresh, clock)
    except Unfit as unfit:
        raise code.broke(str(unfit)) from None
    for number, dead in enumerate(found.dead):
        code.set_aside(dead.error, as_json(dead.row), number)
    return found


def as_json(row: Any) -> str:
    """A row as it stands in a dead letter."""
    return json.dumps(dict(row), ensure_ascii=False, default=str)


def rows_of(columns: StructType, hidden: tuple[str, ...]) -> pa.Schema:
    """What a frame's rows are in Arrow, without some columns."""
    found = to_arrow_schema(columns, timezone="UTC")
    return pa.schema([entry for entry in found if entry.name not in hidden])

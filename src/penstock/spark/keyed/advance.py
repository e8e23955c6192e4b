"""One step of a bucket: which rows are ready, which wait for the watermark, which are late; then the function is called."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from penstock.spark.keyed.bucket import BucketFunction, Clock, Dead, Step
from penstock.spark.keyed.order import in_order, micros


@dataclass(frozen=True)
class KeyedOperator:
    """A function with the columns that its rows are kept together and in order by.

    `time` is the event time by which rows wait for the watermark; None: rows are taken in the epoch in which they come. `output` is the name
    of the side output that is asked for, instead of the function's own rows.
    """

    function: BucketFunction
    rows: pa.Schema
    keys: tuple[str, ...]
    order: tuple[str, ...] = ()
    time: str | None = None
    output: str | None = None
    version: str = ""

    @property
    def layout(self) -> str:
        """Changes where kept bytes would mean something else."""
        parts = [str(self.rows.remove_metadata()), str(self.function.state.remove_metadata()), str((self.keys, self.order, self.time)), self.version]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Bucket:
    """What is kept of a bucket between two steps. `mark` is the watermark of its last step: a row up to it is late."""

    waiting: pa.Table
    state: pa.Table
    mark: int = 0
    timer: int | None = None
    wake: int | None = None


@dataclass(frozen=True)
class Advanced:
    """What one step made: the bucket as it is now, rows, those for which the function raised, and how many came late."""

    bucket: Bucket
    output: pa.Table
    dead: tuple[Dead, ...] = ()
    late: int = 0


def empty(operator: KeyedOperator) -> Bucket:
    """A bucket to which no row has come."""
    return Bucket(operator.rows.empty_table(), operator.function.state.empty_table())


def advance(operator: KeyedOperator, bucket: Bucket, fresh: pa.Table | None, clock: Clock) -> Advanced:
    """Take the rows that have come and the time that has passed."""
    fresh = operator.rows.empty_table() if fresh is None else fresh
    late, waiting, ready = _split(operator, bucket, fresh, clock)
    mark = bucket.mark if clock.watermark is None else max(bucket.mark, clock.watermark)
    if not ready.num_rows and not _is_due(bucket, clock):
        return Advanced(Bucket(waiting, bucket.state, mark, bucket.timer, bucket.wake), operator.function.output.empty_table(), late=late)
    step = operator.function.step(in_order(ready, operator.keys, operator.order), bucket.state, clock)
    return Advanced(Bucket(waiting, step.state, mark, step.next_timer, step.wake), _asked(operator, step), step.dead, late)


def _split(operator: KeyedOperator, bucket: Bucket, fresh: pa.Table, clock: Clock) -> tuple[int, pa.Table, pa.Table]:
    """How many rows are late; the rows that wait on; those that are ready."""
    if operator.time is None:
        return 0, bucket.waiting, fresh
    in_time = fresh.filter(pa.array(micros(fresh.column(operator.time)) > bucket.mark)) if fresh.num_rows else fresh
    pool = pa.concat_tables([bucket.waiting, in_time]) if bucket.waiting.num_rows else in_time
    late = fresh.num_rows - in_time.num_rows
    if clock.final or not pool.num_rows:
        return late, operator.rows.empty_table(), pool
    passed = pa.array(micros(pool.column(operator.time)) <= (clock.watermark or 0))
    return late, pool.filter(pc.invert(passed)).combine_chunks(), pool.filter(passed)


def _is_due(bucket: Bucket, clock: Clock) -> bool:
    if bucket.wake is not None and bucket.wake <= clock.processing_time:
        return True
    return bucket.timer is not None and (clock.final or (clock.watermark is not None and bucket.timer <= clock.watermark))


def _asked(operator: KeyedOperator, step: Step) -> pa.Table:
    if operator.output is None:
        return step.output
    return step.sides.get(operator.output, operator.function.output.empty_table())

"""What a keyed operator calls: one function for all the keys of a bucket, Arrow tables in, Arrow tables out.

Nothing here knows Spark. The operator hashes keys into buckets, holds rows back until the watermark has passed them, keeps each bucket's
state, and calls `step` with what is ready. A function keeps nothing in itself between two calls: what must last is in the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa


@dataclass(frozen=True)
class Clock:
    """The times of a step, all in microseconds since 1970 (UTC).

    Every row up to `watermark` has come; None: the rows have no event time, or none has come yet. `processing_time` is the clock of the
    epoch: it is the same when an epoch is run again. `final` says that the input ends here, so that nothing is to be waited for.
    """

    watermark: int | None
    processing_time: int
    final: bool = False


@dataclass(frozen=True)
class Dead:
    """A row for which the function raised, as a dict, and what was raised."""

    row: Mapping[str, Any]
    error: Exception


@dataclass(frozen=True)
class Step:
    """What a function gives for one step of a bucket.

    `state` is the whole state of the bucket after the step, and takes the place of what there was. `next_timer` is an event time
    (microseconds): the bucket is called again when the watermark has passed it, even if no row comes. `wake` is the same in processing time, at
    the first epoch after it. `sides` are rows of other outputs by name.
    """

    output: pa.Table
    state: pa.Table
    next_timer: int | None = None
    sides: Mapping[str, pa.Table] = field(default_factory=dict)
    dead: tuple[Dead, ...] = ()
    wake: int | None = None


class BucketFunction(Protocol):
    """One function of a keyed operator; it is pickled and runs on executors.

    `output` are the columns of its rows. `state` are the columns of a row of state, the key columns first: a bucket has one table of them, with
    any number of rows for a key (none in the beginning).
    """

    @property
    def output(self) -> pa.Schema: ...

    @property
    def state(self) -> pa.Schema: ...

    def step(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        """Take the rows that are ready, the rows of a key together and in order; there may be none, when only time has passed."""
        ...

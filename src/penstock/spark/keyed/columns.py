"""`map_with_state(vectorized=True)`: a function of the app that is given the rows of all keys of a bucket at once, as columns.

`fn(rows, state) -> (outputs, state)`, all of them Arrow tables, or pandas frames where its arguments are annotated so. `state` has the key
columns and those declared, one row for each key of `rows` that has a state; what the function returns takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.spark.keyed.bucket import Clock, Dead, Step
from penstock.spark.keyed.loop import Kept, parted
from penstock.spark.keyed.order import groups, key_codes
from penstock.spark.keyed.pythonic import Unfit, dicts


@dataclass(frozen=True)
class Columns:
    """The bucket function of a vectorised function; `pandas`: it takes and gives frames of pandas."""

    call: Callable[[Any, Any], Any]
    output: pa.Schema
    kept: Kept
    pandas: bool = False

    @property
    def state(self) -> pa.Schema:
        return self.kept.schema

    def step(self, rows: pa.Table, state: pa.Table, clock: Clock) -> Step:
        parts = parted(rows, state, self.kept.keys.names)
        visible = rows.select([name for name in rows.column_names if not name.startswith("__")])
        answers = list(self._answers(visible, parts.known, parts.spans))
        output = pa.concat_tables([self.output.empty_table(), *(answer.output for answer in answers)])
        new = pa.concat_tables([parts.others, *(answer.state for answer in answers)])
        return Step(output, new, dead=tuple(dead for answer in answers for dead in answer.dead))

    def _answers(self, rows: pa.Table, state: pa.Table, spans: list[tuple[int, int]]) -> Iterator[Step]:
        """What the function gives for all keys at once; where it raises, for half of them, and for each row of a single key."""
        if not spans:
            return
        try:
            yield self._called(rows, state)
            return
        except Unfit:
            raise
        except Exception as error:
            if rows.num_rows == 1:
                yield Step(self.output.empty_table(), state, dead=(Dead(dicts(rows)[0], error),))
                return
        if len(spans) == 1:
            yield self._row_by_row(rows, state)
            return
        middle = spans[len(spans) // 2][0]
        for part in (rows.slice(0, middle), rows.slice(middle)):
            of_rows, of_state = key_codes([part, state], self.kept.keys.names)
            yield from self._answers(part, state.filter(pa.array(np.isin(of_state, of_rows))), groups(of_rows))

    def _row_by_row(self, rows: pa.Table, state: pa.Table) -> Step:
        outputs, dead = [self.output.empty_table()], list[Dead]()
        for index in range(rows.num_rows):
            for answer in self._answers(rows.slice(index, 1), state, [(0, 1)]):
                outputs.append(answer.output)
                dead.extend(answer.dead)
                state = answer.state
        return Step(pa.concat_tables(outputs), state, dead=tuple(dead))

    def _called(self, rows: pa.Table, state: pa.Table) -> Step:
        answer = self.call(rows.to_pandas(), state.to_pandas()) if self.pandas else self.call(rows, state)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise Unfit(f"returned {type(answer).__name__}, and not (outputs, state)")
        return Step(_as_table(answer[0], self.output, "outputs"), _as_table(answer[1], self.kept.schema, "state"))


def _as_table(found: Any, schema: pa.Schema, what: str) -> pa.Table:
    """What a function returned, with its columns in the declared order and of the declared types."""
    if found is None:
        return schema.empty_table()
    if isinstance(found, pa.RecordBatch):
        found = pa.Table.from_batches([found])
    elif not isinstance(found, pa.Table):
        if type(found).__name__ != "DataFrame":
            raise Unfit(f"returned {type(found).__name__} as {what}, and not a table")
        try:
            found = pa.Table.from_pandas(found, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise Unfit(f"returned {what} that are no columns: {str(error).splitlines()[0]}") from None
    if set(found.column_names) != set(schema.names) or len(found.column_names) != len(schema.names):
        raise Unfit(f"returned {what} with the columns {', '.join(found.column_names) or '(none)'}, but declares {', '.join(schema.names)}")
    try:
        return found.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise Unfit(f"returned {what} that do not fit {', '.join(map(str, schema.types))}: {str(error).splitlines()[0]}") from None

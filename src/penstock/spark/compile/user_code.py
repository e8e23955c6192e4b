"""A Python function of the app at work on an executor: called with Arrow columns, its answer held to what it declares.

Nothing here needs the driver. A row for which the function raises is found by halving the batch. It stops the task with the user's file
and line; or it is set aside, counted by an accumulator, and the other rows go on.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Accumulator, TaskContext

STOPPED = "penstock-user-code "
_REASON_MAX = 500


@dataclass(frozen=True)
class UserCode:
    """A function with its name, the folder of its app, and what becomes of rows for which it raises.

    `place` tells one use of it in a plan from another. `failed` takes the rows that are set aside; None: the first one stops the task.
    """

    call: Callable[..., Any]
    target: str
    folder: str
    place: str
    failed: Accumulator[list[dict[str, Any]]] | None

    def prepare(self) -> None:
        """The app's other files can be imported where they lie on this machine too."""
        if os.path.isdir(self.folder) and self.folder not in sys.path:
            sys.path.insert(0, self.folder)

    def set_aside(self, error: Exception, row: str, number: int) -> str:
        """Take note of a row; the reason in words."""
        file, line = self._where(error)
        reason = f"{self.target} raised {type(error).__name__}: {error}"[:_REASON_MAX]
        report = {"file": file, "line": line, "reason": reason, "row": row}
        if self.failed is None:
            raise RuntimeError(STOPPED + json.dumps(report)) from None
        context = TaskContext.get()
        partition = -1 if context is None else context.partitionId()
        self.failed.add([{**report, "target": self.target, "place": self.place, "partition": partition, "number": number}])
        return reason

    def broke(self, message: str) -> Exception:
        """The error for an answer that is not what was declared: no row is to blame."""
        file, line = self._own()
        return RuntimeError(STOPPED + json.dumps({"file": file, "line": line, "reason": f"{self.target} {message}", "row": None}))

    def arguments(self, count: int) -> list[str]:
        """What the function calls its arguments."""
        code = getattr(self.call, "__code__", None)
        named = [] if code is None else list(code.co_varnames[: code.co_argcount])
        return [named[index] if index < len(named) else f"argument_{index + 1}" for index in range(count)]

    def _own(self) -> tuple[str, int]:
        code = getattr(self.call, "__code__", None)
        return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)

    def _where(self, error: Exception) -> tuple[str, int]:
        """The innermost line of the user's own code."""
        own = self._own()
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own[0] or _is_in(frame.filename, self.folder)]
        return (frames[-1].filename, frames[-1].lineno or 1) if frames else own


def _is_in(file: str, folder: str) -> bool:
    return bool(folder) and file.startswith(folder.rstrip(os.sep) + os.sep) and "site-packages" not in file


def operator(code: UserCode, returns: pa.Schema, times: tuple[str, ...]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for `mapInArrow`; in the columns `times` it may only give back times that it was given."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        code.prepare()
        done = 0
        for batch in batches:
            for answer in _pieces(code, batch, done, code.call):
                if answer.failed is not None:
                    continue
                found = _declared(code, answer.given, returns)
                _check_times(code, answer.rows, found, times)
                yield from found.to_batches()
            done += batch.num_rows

    return run


@dataclass(frozen=True)
class _Answer:
    """What a function gave for some rows; `failed` is why it gave nothing for the one row."""

    rows: pa.RecordBatch
    given: Any
    failed: str | None = None


def _pieces(code: UserCode, batch: pa.RecordBatch, first: int, call: Callable[[pa.RecordBatch], Any]) -> Iterator[_Answer]:
    """What `call` gives for the batch, or for its largest parts for which it does not raise."""
    if batch.num_rows == 0:
        return
    try:
        answer = _Answer(batch, call(batch))
    except Exception as error:
        if batch.num_rows > 1:
            middle = batch.num_rows // 2
            yield from _pieces(code, batch.slice(0, middle), first, call)
            yield from _pieces(code, batch.slice(middle), first + middle, call)
            return
        answer = _Answer(batch, None, code.set_aside(error, _as_json(batch), first))
    yield answer


def _as_json(row: pa.RecordBatch) -> str:
    """The first row of a batch."""
    return json.dumps(row.slice(0, 1).to_pylist()[0], ensure_ascii=False, default=str)


def _declared(code: UserCode, answer: Any, returns: pa.Schema) -> pa.Table:
    """The answer with its columns in the declared order and of the declared types."""
    if isinstance(answer, pa.RecordBatch):
        answer = pa.Table.from_batches([answer])
    if not isinstance(answer, pa.Table):
        raise code.broke(f"returned {type(answer).__name__}, and not a pyarrow.RecordBatch or Table")
    given, wanted = answer.column_names, returns.names
    missing = [name for name in wanted if name not in given]
    strange = [name for name in given if name not in wanted]
    if missing or strange or len(given) != len(wanted):
        raise code.broke(f"returned the columns {', '.join(given) or '(none)'}, but declares {', '.join(wanted)}")
    columns = [column_as(code, answer.column(entry.name), entry.type, f"in `{entry.name}` ") for entry in returns]
    return pa.Table.from_arrays(columns, schema=returns)


def column_as(code: UserCode, column: Any, wanted: pa.DataType, where: str) -> Any:
    """A column in the declared type, where that keeps every value."""
    if column.type == wanted:
        return column
    if _family(column.type) != _family(wanted) and not pa.types.is_null(column.type):
        raise code.broke(f"returned {where}{column.type}, but declares {wanted}")
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid as error:
        raise code.broke(f"returned {where}{column.type}, which does not fit into {wanted}: {str(error).splitlines()[0]}") from None


def _family(kind: pa.DataType) -> str:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = {
        "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        "bytes": (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
        "time": (pa.types.is_timestamp,),
        "date": (pa.types.is_date,),
        "list": (pa.types.is_list, pa.types.is_large_list),
        "struct": (pa.types.is_struct,),
        "map": (pa.types.is_map,),
    }
    return next((name for name, asked in tests.items() if any(test(kind) for test in asked)), str(kind))


def _check_times(code: UserCode, rows: pa.RecordBatch, found: pa.Table, times: tuple[str, ...]) -> None:
    for name in times:
        given = rows.column(name)
        same = pc.all(pc.is_in(found.column(name), value_set=given.cast(found.schema.field(name).type)), min_count=0)
        if found.num_rows and not same.as_py():
            raise code.broke(f"returned a time in `{name}` that none of its rows has: an event time can only be passed on")


def function(code: UserCode, returns: pa.DataType, style: str) -> Callable[..., pa.Array]:
    """The function for an Arrow UDF; `style` is `value`, `pandas` or `arrow`. Where rows are set aside it gives (value, error) structs."""

    def run(*columns: pa.Array) -> pa.Array:
        code.prepare()
        batch = pa.RecordBatch.from_arrays([_whole(column) for column in columns], names=code.arguments(len(columns)))
        parts = _by_value(code, batch, returns) if style == "value" else _by_column(code, batch, returns, style)
        values, errors = zip(*parts, strict=True) if batch.num_rows else ((pa.nulls(0, returns),), (pa.nulls(0, pa.string()),))
        value = pa.concat_arrays(list(values))
        return value if code.failed is None else pa.StructArray.from_arrays([value, pa.concat_arrays(list(errors))], names=["value", "error"])

    return run


def _whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _by_value(code: UserCode, batch: pa.RecordBatch, returns: pa.DataType) -> Iterator[tuple[pa.Array, pa.Array]]:
    values: list[Any] = []
    errors: list[str | None] = []
    for number, row in enumerate(zip(*(column.to_pylist() for column in batch.columns), strict=True)):
        try:
            values.append(code.call(*row))
            errors.append(None)
        except Exception as error:
            values.append(None)
            errors.append(code.set_aside(error, _as_json(batch.slice(number)), number))
    yield _array(code, values, returns), pa.array(errors, pa.string())


def _array(code: UserCode, values: Sequence[Any], returns: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, returns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise code.broke(f"returned a value that is not {returns}: {str(error).splitlines()[0]}") from None


def _by_column(code: UserCode, batch: pa.RecordBatch, returns: pa.DataType, style: str) -> Iterator[tuple[pa.Array, pa.Array]]:
    def call(piece: pa.RecordBatch) -> Any:
        return code.call(*(column.to_pandas() if style == "pandas" else column for column in piece.columns))

    for answer in _pieces(code, batch, 0, call):
        if answer.failed is not None:
            yield pa.nulls(1, returns), pa.array([answer.failed], pa.string())
        else:
            yield _column(code, answer.given, answer.rows.num_rows, returns), pa.nulls(answer.rows.num_rows, pa.string())


def _column(code: UserCode, answer: Any, rows: int, returns: pa.DataType) -> pa.Array:
    if not isinstance(answer, pa.Array | pa.ChunkedArray):
        try:
            answer = pa.Array.from_pandas(answer)
        except (TypeError, pa.ArrowInvalid, pa.ArrowTypeError):
            raise code.broke(f"returned {type(answer).__name__}, and not a column") from None
    if len(answer) != rows:
        raise code.broke(f"returned {len(answer)} values for {rows} rows")
    return _whole(column_as(code, answer, returns, ""))

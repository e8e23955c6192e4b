"""Data of the running program as a table or a stream: pandas, Arrow, Polars, or a list of dicts.

Each step becomes one parquet file behind the `files` connector, taken in order and one per epoch; so everything that holds for files (batch
and live, restarts, `verify`) holds for it. Times without a zone are taken for UTC.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import OptionFault, TypeFault
from penstock.plan.python.connectors import Connector

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.schema import Schema

_HINT = "give a pandas, Arrow or Polars table, a list of dicts, or for a stream a list of such steps"
_FIRST_FILE_AT = 1_000_000_000  # files are taken by their time: step by step, the same in every process


class Memory(Connector):
    """Rows of the program itself: all at once, or for a stream a list of steps, each of which is one epoch."""

    def __init__(self, data: object) -> None:
        super().__init__({})
        object.__setattr__(self, "_steps", [as_table(step) for step in _steps(data)])
        object.__setattr__(self, "_place", None)

    if TYPE_CHECKING:
        _steps: list[pa.Table]
        _place: tuple[Path, Schema] | None

    def columns(self) -> str:
        """The columns of the data, in Spark's DDL."""
        import pyarrow as pa

        from penstock.interactive.arrow import spark_type
        from penstock.schema import quote

        try:
            found = pa.unify_schemas([step.schema for step in self._steps], promote_options="permissive")
        except (pa.ArrowException, TypeError) as error:
            raise TypeFault(f"the steps are not of one type: {str(error).splitlines()[0]}", hint="name the types: the third argument") from None
        if not len(found):
            raise OptionFault("the data has no columns", hint='name them: app.table("cards", ps.Memory([]), "card STRING")')
        return ", ".join(f"{quote(field.name)} {spark_type(field.type, field.name)}" for field in found)

    def written(self, folder: Path, schema: Schema) -> Connector:
        """The steps as files of `folder`, with the declared columns; what a connector reads from there."""
        known = {name.lower() for step in self._steps for name in step.column_names}
        missing = next((name for name in schema.given.names if known and name.lower() not in known), None)
        if missing is not None:
            raise TypeFault(f"the data has no column `{missing}`", hint=f"it has {', '.join(sorted(known))}")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        object.__setattr__(self, "_place", (folder, schema))
        for number, step in enumerate(self._steps):
            _write(folder, number, fitted(step, schema))
        for file in folder.glob("*.parquet"):
            if int(file.stem) >= len(self._steps):
                file.unlink()
        return Connector({"connector": "files", "path": str(folder), "format": "parquet"})

    def append(self, step: object) -> None:
        """One more step, which a running app takes as its next epoch."""
        table = as_table(step)
        self._steps.append(table)
        if self._place is not None:
            folder, schema = self._place
            _write(folder, len(self._steps) - 1, fitted(table, schema))


def _steps(data: object) -> Sequence[object]:
    """A list of rows is one step; a list of tables, or of lists of rows, is several."""
    if isinstance(data, list | tuple) and data and not all(isinstance(entry, Mapping) for entry in data):
        if any(isinstance(entry, Mapping) for entry in data):
            raise OptionFault("the data mixes rows and tables", hint=_HINT)
        return data
    return [data]


def as_table(data: Any) -> pa.Table:
    """One step as an Arrow table; times without a zone are UTC."""
    import pyarrow as pa

    table = _as_given(data)
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            times = table[place].cast(pa.timestamp("us", tz=field.type.tz), safe=False)
            table = table.set_column(place, field.name, times.cast(pa.timestamp("us", tz="UTC")))
    return table


def _as_given(data: Any) -> pa.Table:
    import pyarrow as pa

    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if type(data).__module__.startswith("pandas.") and hasattr(data, "columns"):
            named = [name for name in data.index.names if name is not None and name not in data.columns]
            return pa.Table.from_pandas(data.reset_index(level=named) if named else data, preserve_index=False)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
        if isinstance(data, list | tuple) and all(isinstance(row, Mapping) for row in data):
            names = dict.fromkeys(name for row in data for name in row)
            return pa.table({str(name): _roomy(pa.array([row.get(name) for row in data])) for name in names})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TypeFault(f"the data is no table: {str(error).splitlines()[0]}", hint="each column needs one type") from None
    raise OptionFault(f"a table cannot be made of {type(data).__name__}", hint=_HINT)


def _roomy(values: pa.Array) -> pa.Array:
    """Decimals of Python are as wide as the widest that was seen; the next ones may be wider."""
    import pyarrow as pa

    if not pa.types.is_decimal(values.type):
        return values
    return values.cast(pa.decimal128(18 if values.type.precision <= 18 else 38, max(0, values.type.scale)))


def fitted(table: pa.Table, schema: Schema) -> pa.Table:
    """The table with the declared columns and their types; TypeFault where a value does not fit. A column that is not there is NULL."""
    import pyarrow as pa

    from penstock.sink.arrow_rows import arrow_schema

    by_name = {name.lower(): name for name in table.column_names}
    made = []
    for field in arrow_schema(schema.given):
        found = by_name.get(field.name.lower())
        made.append(pa.nulls(table.num_rows, field.type) if found is None else _cast(table[found], field))
    return pa.table(made, schema=arrow_schema(schema.given))


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    import pyarrow as pa

    kind = column.type
    try:
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_timestamp(kind) and pa.types.is_timestamp(field.type):
            return column.cast(pa.timestamp("us", tz=kind.tz), safe=False).cast(field.type)
        return column if kind == field.type else column.cast(field.type)
    except (pa.ArrowException, TypeError) as error:
        raise TypeFault(
            f"column `{field.name}` does not fit {field.type}: {str(error).splitlines()[0]}", hint="change the data or the type"
        ) from None


def _write(folder: Path, number: int, table: pa.Table) -> None:
    """The file of one step, there as a whole or not at all; one that holds the same already stays as it is."""
    import pyarrow.parquet as pq

    target, staged = folder / f"{number:08}.parquet", folder / f".{number:08}.parquet"
    pq.write_table(table, staged)
    moment = _FIRST_FILE_AT + number
    os.utime(staged, (moment, moment))
    if target.exists() and target.read_bytes() == staged.read_bytes():
        staged.unlink()
    else:
        staged.rename(target)

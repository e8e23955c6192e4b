"""An answer as a value: rows that iterate as dicts, print themselves, and turn into pandas, Arrow or Polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from penstock.change import Rows
from penstock.cli.rows import cells, plain, report_set_aside
from penstock.errors import NameFault, ToolError, TypeFault
from penstock.interactive.dead import Dead
from penstock.interactive.html import table_html
from penstock.schema import Schema
from penstock.values import Row, reader

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from penstock.interactive.chart import Chart

_SHOWN_ROWS = 20


class Result(Sequence[Row]):
    """Rows of one answer. `epoch` is the epoch that they are as of, None where they were computed over the history.

    `dead` is what was set aside on the way because it did not decode.
    """

    def __init__(self, schema: Schema, lines: Sequence[str], *, epoch: int | None = None, dead: Dead | None = None) -> None:
        self.schema = schema
        self.epoch = epoch
        self.dead = dead if dead is not None else Dead(())
        self._lines = lines
        self._read = reader(schema)

    @classmethod
    def of(cls, rows: Rows, *, epoch: int | None = None) -> Result:
        """All rows of an answer, read to their end."""
        lines = list(rows.lines)
        report_set_aside(rows)
        return cls(rows.schema, lines, epoch=epoch, dead=Dead(tuple(rows.dead())))

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Row]:
        return map(self._read, self._lines)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Result: ...

    @overload
    def __getitem__(self, index: str) -> list[Any]: ...

    def __getitem__(self, index: int | slice | str) -> Row | Result | list[Any]:
        """A row by its number, some rows, or the values of a column by its name."""
        if isinstance(index, str):
            return [row[self._column(index)] for row in self]
        if isinstance(index, slice):
            return Result(self.schema, self._lines[index], epoch=self.epoch, dead=self.dead)
        return self._read(self._lines[index])

    def head(self, count: int = 5) -> Result:
        """The first rows."""
        return self[:count]

    def to_dicts(self) -> list[Row]:
        return list(self)

    def to_arrow(self) -> pa.Table:
        """An Arrow table with the view's own types."""
        import pyarrow as pa

        from penstock.sink.arrow_rows import arrow_table

        try:
            return arrow_table(self.schema, self._lines)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise TypeFault(
                f"these rows do not fit into an Arrow table: {str(error).splitlines()[0]}", hint="to_dicts() gives them as they are"
            ) from None

    def to_pandas(self) -> pd.DataFrame:
        """A pandas DataFrame: times with their zone, decimals as Decimal; whole numbers stay whole where some are missing."""
        import pandas as pd
        import pyarrow as pa

        table = self.to_arrow()
        frame: pd.DataFrame = table.to_pandas()
        for field in table.schema:
            if pa.types.is_integer(field.type) and table[field.name].null_count:
                frame[field.name] = pd.array(table[field.name].to_pylist(), dtype=f"Int{field.type.bit_width}")
        return frame

    def to_polars(self) -> Any:
        """A Polars DataFrame, where Polars is installed."""
        try:
            import polars
        except ImportError:
            raise ToolError("Polars is not installed", hint="pip install polars") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """So that Polars, DuckDB, pandas and others take a Result as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def show(self, count: int = _SHOWN_ROWS) -> None:
        """Print the first rows as a table."""
        print(self._text(count))  # noqa: T201

    def plot(self, x: str | None = None, y: str | Sequence[str] | None = None, *, kind: str = "line") -> Chart:
        """A chart that draws itself in a notebook: `y` over `x`, as lines or bars. Without names: the numbers, over the first other column."""
        from penstock.interactive.chart import chart

        wanted = [y] if isinstance(y, str) else list(y) if y is not None else None
        return chart(self, None if x is None else self._column(x), wanted and [self._column(name) for name in wanted], kind)

    @cached_property
    def _cells(self) -> list[list[str]]:
        return [cells(line, self.schema) for line in self._lines[:_SHOWN_ROWS]]

    def _text(self, count: int) -> str:
        first = self._cells[:count] if count <= _SHOWN_ROWS else [cells(line, self.schema) for line in self._lines[:count]]
        more = f"\n... {len(self) - count:,} more rows" if len(self) > count else ""
        return "\n".join(plain(self.schema, first)) + more

    def __repr__(self) -> str:
        as_of = "" if self.epoch is None else f" as of epoch {self.epoch}"
        aside = f"; {self.dead}" if self.dead.count else ""
        return f"{self._text(_SHOWN_ROWS)}\n({len(self):,} row{'s' * (len(self) != 1)}{as_of}{aside})"

    def _repr_html_(self) -> str:
        as_of = "" if self.epoch is None else f" as of epoch {self.epoch}"
        shown = f", the first {_SHOWN_ROWS} shown" if len(self) > _SHOWN_ROWS else ""
        foot = f"{len(self):,} row{'s' * (len(self) != 1)}{as_of}{shown}" + (f"; {self.dead}" if self.dead.count else "")
        return table_html(self.columns, self._cells, foot, [column.family == "number" for column in self.schema])

    def _column(self, name: str) -> str:
        found = self.schema.find(name)
        if found is None:
            raise NameFault(f"the result has no column `{name}`", hint=f"it has {', '.join(self.columns)}")
        return found.name

"""Which kind of chart fits a view, by its columns."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.schema import Schema

KINDS = ("line", "bars", "numbers", "table")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_SERIES_TEXTS_MAX = 1
_LABEL_TEXTS_MAX = 2


@dataclass(frozen=True)
class Shape:
    """The columns of a view by what can be drawn of them; `kind` is what fits best."""

    kind: str
    times: tuple[str, ...]
    texts: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that can be chosen."""
        fits = {"line": bool(self.times and self.numbers), "bars": bool(self.texts and self.numbers), "numbers": bool(self.numbers), "table": True}
        return tuple(kind for kind in KINDS if fits[kind])


def shape_of(schema: Schema, key: tuple[str, ...] | None) -> Shape:
    """Times and numbers are a line, names and numbers are bars, one row of numbers is itself; else a table."""
    kinds = {column.name: column.type.lower() for column in schema}
    times = tuple(name for name, kind in kinds.items() if _is_time(kind))
    texts = tuple(name for name, kind in kinds.items() if kind in ("string", "boolean"))
    whole = tuple(name for name, kind in kinds.items() if kind in _WHOLE)
    parts = tuple(name for name, kind in kinds.items() if kind in ("float", "double") or kind.startswith("decimal"))
    numbers = parts + whole
    if not numbers:
        kind = "table"
    elif key == () or not (times or texts):
        kind = "numbers" if key == () else "table"
    elif times:
        kind = "line" if len(times) == 1 and len(texts) <= _SERIES_TEXTS_MAX else "table"
    else:
        kind = "bars" if len(texts) <= _LABEL_TEXTS_MAX else "table"
    return Shape(kind, times, texts, numbers)


def _is_time(kind: str) -> bool:
    return kind in ("timestamp", "timestamp_ntz", "date") or (kind.startswith("struct<start:timestamp") and kind.count(":") == 2)

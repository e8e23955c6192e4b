"""Columns and their types as values; a type is Spark's own DDL text, e.g. `decimal(12,2)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FAMILIES: dict[str, str] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "number"),
    **dict.fromkeys(("string", "varchar", "char"), "text"),
    **dict.fromkeys(("timestamp", "timestamp_ntz", "date"), "time"),
    **dict.fromkeys(("array", "map", "struct", "variant"), "nested"),
    "boolean": "boolean",
    "binary": "binary",
    "interval": "interval",
}
_SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "numeric": "decimal",
    "dec": "decimal",
    "bool": "boolean",
    "timestamp_ltz": "timestamp",
}
_LENGTH = re.compile(r"\A(?:varchar|char|character)(?:\(\d+\))?(?=\s|\Z)")
_FRACTION = re.compile(r"\A(timestamp(?:_ntz)?)\([0-6]\)")


@dataclass(frozen=True)
class Column:
    """A name, which keeps its case, a type in Spark's DDL, and what it is computed from if a record does not hold it."""

    name: str
    type: str
    computed: str | None = None

    @property
    def family(self) -> str:
        """One of number, text, time, boolean, binary, interval, nested; `other` when unknown."""
        return family(self.type)


@dataclass(frozen=True)
class Schema:
    """An ordered list of columns; names are found as Spark finds them, without regard to case."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        wanted = name.lower()
        return next((column for column in self.columns if column.name.lower() == wanted), None)

    @property
    def given(self) -> Schema:
        """The columns that a record holds."""
        return Schema(tuple(column for column in self.columns if column.computed is None))

    @property
    def ddl(self) -> str:
        """The columns as Spark reads them: names quoted, types as they are."""
        return ", ".join(f"{quote(column.name)} {column.type}" for column in self.columns)


def quote(name: str) -> str:
    """`name` as a Spark identifier, whatever characters it holds."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """`text` as a string of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def normal_type(text: str) -> str:
    """A type in one spelling: lower case, no spaces around brackets, Spark's own names; names of fields keep their case."""
    compact = " ".join(text.split())
    for mark in "<>(),:":
        compact = compact.replace(f" {mark}", mark).replace(f"{mark} ", mark)
    head = compact.split("(")[0].split("<")[0].lower()
    rest = compact[len(head) :]
    if head in ("array", "map", "struct") and rest.startswith("<") and rest.endswith(">"):
        normal = _normal_field if head == "struct" else normal_type
        return f"{head}<{','.join(normal(part) for part in _split_types(rest[1:-1]))}>"
    lowered = _SYNONYMS.get(head, head) + rest.lower()
    # Spark bounds a text's length only in tables of its own, and a time always has microseconds
    lowered = _LENGTH.sub("string", _FRACTION.sub(r"\1", lowered))
    return "decimal(10,0)" if lowered == "decimal" else lowered


def _normal_field(text: str) -> str:
    """`name:type` or `name type`, the name perhaps in backticks; a comment is left as it is."""
    end = text.find("`", 1) + 1 if text.startswith("`") else min(at for at in (text.find(":"), text.find(" "), len(text)) if at >= 0)
    kind, space, comment = text[end + 1 :].partition(" COMMENT ")
    return f"{text[:end]}:{normal_type(kind)}{space}{comment}" if kind else text


def _split_types(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def family(type_text: str) -> str:
    """The family of a type: what may be compared with what."""
    head = type_text.lower().split("(")[0].split("<")[0].split()[0]
    return _FAMILIES.get(_SYNONYMS.get(head, head), "other")

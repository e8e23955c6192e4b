"""Columns and their types as values; a type is Spark's own DDL text, e.g. `decimal(12,2)`, and this the only reader of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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
    "timestamptz": "timestamp",
    "bytes": "binary",
    "bytea": "binary",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "float4": "float",
    "float8": "double",
}
_WORDS_OF_OTHERS = {"double precision": "double", "character varying": "varchar", "row<": "struct<"}
_OTHER_WORDS = re.compile(r"\A(?:double\s+precision|character\s+varying|row<)", re.IGNORECASE)
_ZONE = re.compile(r"\A(timestamp(?:\([0-9]\))?) ?with (?:local )?time zone\Z", re.IGNORECASE)
_LENGTH = re.compile(r"\A(?:varchar|char|character)(?:\(\d+\))?(?=\s|\Z)")
_FRACTION = re.compile(r"\A(timestamp(?:_ntz)?)\([0-6]\)")


_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^\s:]+))\s*(?::\s*|\s+)?(.*)", re.DOTALL)
_TAIL = re.compile(r"\s+(?:NOT\s+NULL|COMMENT\s+(?:'[^']*'|\"[^\"]*\")|DEFAULT\s+.*)", re.IGNORECASE | re.DOTALL)


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


class Type(NamedTuple):
    """`name` in Spark's spelling, precision and scale of a decimal, and the parts of a struct, an array or a map."""

    name: str
    arguments: tuple[int, ...] = ()
    fields: tuple[tuple[str, Type], ...] = ()


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
    compact = _OTHER_WORDS.sub(lambda found: _WORDS_OF_OTHERS[" ".join(found.group().lower().split())], compact)
    compact = _ZONE.sub(r"\1", compact)
    head = compact.split("(")[0].split("<")[0].lower()
    rest = compact[len(head) :]
    if head in ("array", "map", "struct") and rest.startswith("<") and rest.endswith(">"):
        normal = _normal_field if head == "struct" else normal_type
        return f"{head}<{','.join(normal(part) for part in split_parts(rest[1:-1]))}>"
    lowered = _SYNONYMS.get(head, head) + rest.lower()
    # Spark bounds a text's length only in tables of its own, and a time always has microseconds
    lowered = _LENGTH.sub("string", _FRACTION.sub(r"\1", lowered))
    return "decimal(10,0)" if lowered == "decimal" else lowered


def _normal_field(text: str) -> str:
    name, kind = name_and_type(text)
    return f"{quote(name) if text.startswith('`') else name}:{normal_type(kind)}" if kind else text


def family(type_text: str) -> str:
    """The family of a type: what may be compared with what."""
    head = type_text.lower().split("(")[0].split("<")[0].split()[0]
    return _FAMILIES.get(_SYNONYMS.get(head, head), "other")


def columns(ddl: str) -> Schema:
    """The columns of a DDL text such as ``id STRING, `a b` DECIMAL(12,2)``."""
    return Schema(tuple(Column(name, text) for name, text in (name_and_type(part) for part in split_parts(ddl)) if text))


def parse_type(text: str) -> Type:
    """The tree of one type."""
    head, *rest = re.split(r"[(<]", text.strip(), maxsplit=1)
    name = normal_type(head.split()[0]).split("(")[0]
    inner = rest[0].rstrip()[:-1] if rest else ""
    if name == "struct":
        return Type(name, fields=tuple((field, parse_type(kind)) for field, kind in (name_and_type(part) for part in split_parts(inner))))
    if name in ("array", "map"):
        labels = ("element",) if name == "array" else ("key", "value")
        return Type(name, fields=tuple(zip(labels, (parse_type(part) for part in split_parts(inner)), strict=True)))
    if name == "decimal":
        sizes = [int(number) for number in inner.split(",") if number.strip()]
        return Type(name, (sizes[0] if sizes else 10, sizes[1] if len(sizes) > 1 else 0))
    return Type(name)


def split_parts(text: str) -> list[str]:
    """The parts between commas that are in no bracket and no quotes."""
    parts, depth, quoted, start = [], 0, "", 0
    for index, mark in enumerate(text):
        if quoted or mark in "`'\"":
            quoted = "" if mark == quoted else quoted or mark
        elif mark in "<(":
            depth += 1
        elif mark in ">)":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def name_and_type(text: str) -> tuple[str, str]:
    """Of `name type` or `name: type`, the name perhaps in backticks; what else may follow, such as a comment, is left out."""
    found = _FIELD.fullmatch(text)
    if found is None:
        return text, ""
    quoted, plain, kind = found.groups()
    return (plain if quoted is None else quoted.replace("``", "`")), _TAIL.sub("", kind).strip()

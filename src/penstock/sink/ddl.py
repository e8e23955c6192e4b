"""Spark's DDL text of columns and types, read into a tree that the sinks map to their own types."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.schema import Column, Schema, normal_type


class Type(NamedTuple):
    """`name` in Spark's spelling, precision and scale of a decimal, and the parts of a struct, an array or a map."""

    name: str
    arguments: tuple[int, ...] = ()
    fields: tuple[tuple[str, Type], ...] = ()


def columns(ddl: str) -> Schema:
    """The columns of a DDL text such as ``id STRING, `a b` DECIMAL(12,2)``."""
    return Schema(tuple(Column(name, text) for name, text in (_name_and_type(part) for part in _split(ddl)) if text))


def parse_type(text: str) -> Type:
    """The tree of one type."""
    head, *rest = re.split(r"[(<]", text.strip(), maxsplit=1)
    name = normal_type(head.split()[0]).split("(")[0]
    inner = rest[0].rstrip()[:-1] if rest else ""
    if name == "struct":
        return Type(name, fields=tuple((field, parse_type(kind)) for field, kind in (_name_and_type(part) for part in _split(inner))))
    if name in ("array", "map"):
        labels = ("element",) if name == "array" else ("key", "value")
        return Type(name, fields=tuple(zip(labels, (parse_type(part) for part in _split(inner)), strict=True)))
    if name == "decimal":
        sizes = [int(number) for number in inner.split(",") if number.strip()]
        return Type(name, (sizes[0] if sizes else 10, sizes[1] if len(sizes) > 1 else 0))
    return Type(name)


def _split(text: str) -> list[str]:
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


_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^\s:]+))\s*(?::\s*|\s+)?(.*)", re.DOTALL)
_TAIL = re.compile(r"\s+(?:NOT\s+NULL|COMMENT\s+(?:'[^']*'|\"[^\"]*\")|DEFAULT\s+.*)", re.IGNORECASE | re.DOTALL)


def _name_and_type(text: str) -> tuple[str, str]:
    found = _FIELD.fullmatch(text)
    if found is None:
        return text, ""
    quoted, plain, kind = found.groups()
    return (plain if quoted is None else quoted.replace("``", "`")), _TAIL.sub("", kind).strip()

"""Columns that become folders, `country=PT`, as Hive and Spark write them and as every reader of partitioned tables reads them back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from penstock.errors import OptionFault, RefusalError
from penstock.schema import Column, Schema, parse_type
from penstock.sink.spec import SinkSpec

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PLAIN = ("string", "tinyint", "smallint", "int", "bigint", "decimal", "boolean", "date", "timestamp", "timestamp_ntz")
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")
_NAME_BYTES_MAX = 255


def partition_names(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a sink is partitioned by, as its options name them."""
    return tuple(name.strip() for name in options.get("partition_by", "").split(",") if name.strip())


def partition_columns(spec: SinkSpec) -> tuple[Column, ...]:
    """The columns whose values become folders; OptionFault where the view has none such or cannot be kept that way."""
    found: list[Column] = []
    for name in partition_names(spec.options):
        column = spec.schema.find(name)
        problem = f"sink `{spec.name}`: it cannot be partitioned by `{name}`"
        if column is None:
            raise OptionFault(f"{problem}, which is no column of view `{spec.view}`", hint=f"its columns are {', '.join(spec.schema.names)}")
        if column.name.lower() == "epoch":
            raise OptionFault(f"{problem}: the folder of an epoch has that name", hint="give the column another name in the view")
        kind = parse_type(column.type).name
        if kind not in _PLAIN:
            raise OptionFault(f"{problem}, which is {kind}: such a value is no good name of a folder", hint=f"a column may be {', '.join(_PLAIN)}")
        if column in found:
            raise OptionFault(f"{problem} twice", hint="name each column once")
        found.append(column)
    if found and len(found) == len(spec.schema):
        raise OptionFault(
            f"sink `{spec.name}`: it cannot be partitioned by all columns of view `{spec.view}`, for nothing is left to be in the files",
            hint="leave one out of `partition_by`",
        )
    return tuple(found)


def without(schema: Schema, partition: Sequence[Column]) -> Schema:
    """The columns that stay in the files."""
    return Schema(tuple(column for column in schema if column not in partition))


def folder_of(spec: SinkSpec, partition: Sequence[Column], row: Mapping[str, Any]) -> str:
    """The folder of a row, one level for each column."""
    levels = [f"{_escaped(column.name)}={_escaped(_text(column, row.get(column.name)))}" for column in partition]
    for level, column in zip(levels, partition, strict=True):
        if len(level.encode()) > _NAME_BYTES_MAX:
            raise RefusalError(
                f"sink `{spec.name}`: a value of `{column.name}` has {len(level.encode())} bytes as a folder, and {_NAME_BYTES_MAX} are allowed",
                hint="leave the column out of `partition_by`, or shorten its values in the view",
            )
    return "/".join(levels)


def value_in(level: str) -> tuple[str, str | None]:
    """The column and the text of its value that a folder `column=value` stands for."""
    name, _, value = level.partition("=")
    return unquote(name), None if value == NO_VALUE else unquote(value)


def partitioned_text(row: str, partition: Sequence[str]) -> str:
    """A row as such folders give it: they have no other name for an empty text than that of null."""
    values = json.loads(row)
    if not isinstance(values, dict) or all(values.get(name) not in ("", NO_VALUE) for name in partition):
        return row
    return json.dumps({name: None if name in partition and value in ("", NO_VALUE) else value for name, value in values.items()}, ensure_ascii=False)


def _text(column: Column, value: Any) -> str:
    """A value as Spark casts it to text; nothing and an empty text have the same name, for no reader takes a folder `country=`."""
    if value is None or value == "":
        return NO_VALUE
    if isinstance(value, bool):
        return "true" if value else "false"
    if column.type.lower().startswith("timestamp"):
        day, _, time = str(value).removesuffix("Z").partition("T")
        return f"{day} {time}"
    return str(value)


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)

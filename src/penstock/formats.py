"""How records of json and csv are written, in the words of an app's options and in those of Spark's readers.

One reading of the options serves files, topics, sockets and followed logs, live and in batch, so that the same bytes are the same rows.
"""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from penstock.schema import Schema

EPOCHS: Mapping[str, tuple[str, int | Decimal]] = {
    "epoch_seconds": ("decimal(18,6)", 1_000_000),
    "epoch_millis": ("decimal(18,3)", 1_000),
    "epoch_micros": ("decimal(18,0)", 1),
    "epoch_nanos": ("decimal(19,0)", Decimal("0.001")),
}
"""Numbers that stand for times since 1970: the type in which they are read, which never overflows, and the microseconds of one."""
NANOS = "epoch_nanos"
"""The only one that parquet needs, which names the units of its times itself: Spark reads those of nanoseconds as numbers."""
TAB = ("\\t", "tab")
NO_QUOTE = ""
"""As the mark around values of csv: there is none, and a quote is a letter like any other."""
_OPENERS: Mapping[str, Callable[..., IO[Any]]] = {".gz": gzip.open, ".bz2": bz2.open}
_OFFSET_LETTERS = re.compile(r"[VzOXxZ]")
_QUOTED = re.compile(r"'[^']*'")
_NO_LIMIT = str(2**31 - 1)  # of a text in a JSON record: Spark's own is 20 million characters
# English words for months, but a comma before the decimals and points between thousands.
_COMMA_LOCALE = "en-DE"
_TIME_TYPE = re.compile(r"(?<![\w`])(?<!map<)timestamp(?=\s*(?:[>,]|\Z))", re.IGNORECASE)


def opener_of(file: str | Path) -> Callable[..., IO[Any]]:
    """What opens a file as Spark reads it: packed ones by their names."""
    return _OPENERS.get(Path(file).suffix, open)


def reader_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of Spark's parser of json or csv, of a file and of a single record alike."""
    is_csv = options.get("format", "json") == "csv"
    return {**_times(options), **(_csv(options) if is_csv else {"maxStringLen": _NO_LIMIT})}


def file_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a reader of files only: how bytes become text, and where a record ends."""
    found = {}
    if "encoding" in options:
        found["encoding"] = options["encoding"]
        if options.get("format", "json") == "json":
            found["lineSep"] = "\n"  # which Spark does not look for by itself in texts that are not UTF-8
    if options.get("multiline") == "true" and not holds_documents(options):
        # The reader takes the first line break for the end of every line, also one in a quoted value: Excel ends lines otherwise, by \r\n.
        found |= {"multiLine": "true", "ignoreTrailingWhiteSpace": "true"}
    return found


def holds_documents(options: Mapping[str, str]) -> bool:
    """Whether a file of json is one text of many lines, not one record in each."""
    return options.get("multiline") == "true" and options.get("format", "json") == "json"


def delimiter_of(options: Mapping[str, str]) -> str:
    given = options.get("delimiter", ",")
    return "\t" if given in TAB else given


def encoding_of(options: Mapping[str, str]) -> str:
    """The encoding of files, as Python calls it; a mark at their beginning is none of their text."""
    given = options.get("encoding", "utf-8").lower()
    return "utf-8-sig" if given == "utf-8" else given


def as_read(schema: Schema, options: Mapping[str, str]) -> Schema:
    """The columns with the types in which they are read: where times are numbers, those."""
    if options.get("timestamp_format") not in EPOCHS:
        return schema
    number = "bigint" if options.get("format") == "parquet" else EPOCHS[options["timestamp_format"]][0]
    return Schema(tuple(replace(column, type=_TIME_TYPE.sub(number, column.type)) for column in schema))


def _times(options: Mapping[str, str]) -> dict[str, str]:
    pattern = options.get("timestamp_format")
    found = {}
    if pattern is not None and pattern not in EPOCHS:
        found["timestampFormat"] = pattern
        if not _OFFSET_LETTERS.search(_QUOTED.sub("", pattern)):
            found["timestampNTZFormat"] = pattern
    if "date_format" in options:
        found["dateFormat"] = options["date_format"]
    if "zone" in options:
        found["timeZone"] = options["zone"]
    return found


def _csv(options: Mapping[str, str]) -> dict[str, str]:
    found = {"sep": delimiter_of(options), "quote": options.get("quote", '"'), "escape": options.get("escape", '"')}
    if "null_value" in options:
        found["nullValue"] = options["null_value"]
    if options.get("decimal") == ",":
        found["locale"] = _COMMA_LOCALE
    if options.get("trim") == "true":
        found |= {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}
    return found

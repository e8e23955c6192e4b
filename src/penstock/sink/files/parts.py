"""The files of one epoch: a folder for each partition in it, and as many files as keep each below a size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.schema import Column, Schema
from penstock.sink.files.partitions import folder_of, partition_columns, without
from penstock.sink.files.rows import ENCODERS
from penstock.sink.options import sink_options
from penstock.sink.spec import SinkSpec

Encoded = Callable[[int, int], bytes]


@dataclass(frozen=True)
class Part:
    """One file by its place in the folder of its epoch: `country=PT/part-0.json`."""

    place: str
    content: bytes


@dataclass(frozen=True)
class Layout:
    """How a sink lays its rows out in files."""

    spec: SinkSpec
    format: str
    partition: tuple[Column, ...]
    schema: Schema
    bytes_max: int

    def parts(self, rows: Sequence[str], ops: Sequence[str] | None) -> Iterator[Part]:
        """The files of an epoch, partition by partition; a file of no rows where there are none."""
        if not self.partition:
            yield from self._files("", rows, ops)
            return
        groups: dict[str, tuple[list[str], list[str]]] = {}
        taken = {column.name for column in self.partition}
        for number, row in enumerate(rows):
            values = json.loads(row)
            kept, marks = groups.setdefault(folder_of(self.spec, self.partition, values), ([], []))
            left = {name: value for name, value in values.items() if name not in taken}
            kept.append(json.dumps(left, ensure_ascii=False, separators=(",", ":")))
            if ops is not None:
                marks.append(ops[number])
        for folder, (kept, marks) in groups.items():
            yield from self._files(f"{folder}/", kept, None if ops is None else marks)

    def _files(self, folder: str, rows: Sequence[str], ops: Sequence[str] | None) -> Iterator[Part]:
        def encoded(start: int, end: int) -> bytes:
            return ENCODERS[self.format](self.schema, rows[start:end], None if ops is None else ops[start:end])

        for number, content in enumerate(_below(self.bytes_max, encoded, 0, len(rows))):
            yield Part(f"{folder}part-{number}.{self.format}", content)


def layout_of(spec: SinkSpec) -> Layout:
    """How the options of a sink say it; OptionFault where that does not fit its view."""
    given = {option.name: option.default or "" for option in sink_options("files")} | dict(spec.options)
    partition = partition_columns(spec)
    return Layout(spec, given["format"], partition, without(spec.schema, partition), int(float(given["file_mb_max"]) * 1_000_000))


def _below(bytes_max: int, encoded: Encoded, start: int, end: int) -> Iterator[bytes]:
    """Rows `start` to `end` as files of at most so many bytes; a row that is larger has a file of its own."""
    content = encoded(start, end)
    if len(content) <= bytes_max or end - start <= 1:
        yield content
        return
    pieces = min(-(-len(content) // bytes_max), end - start)
    bounds = [start + (end - start) * piece // pieces for piece in range(pieces + 1)]
    for low, high in pairwise(bounds):
        yield from _below(bytes_max, encoded, low, high)

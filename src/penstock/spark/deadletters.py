"""Dead letters: counted by every job that reads a stream, fetched by position, kept once.

The gate of a stream counts an epoch's bad records. Only where it is not zero the epoch's part of the source is read again,
for the bad records and their positions; a position that is already kept is not counted twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from penstock.decode import could_be_read, locate_lines, originals
from penstock.errors import SourceError
from penstock.sink.store import Store
from penstock.source import HasLines, SkipsFiles, SourceSpec, Span
from penstock.spark.checkpoint import read_epoch, source_order, span_of
from penstock.spark.frames import App, dead
from penstock.spark.gate import Gates


class DeadLetters:
    """The dead letters of the streams that one job reads."""

    def __init__(self, desk: SparkSession, app: App, store: Store, checkpoint: Path, occurrences: tuple[str, ...]) -> None:
        self._desk, self._app, self._store, self._checkpoint, self._occurrences = desk, app, store, checkpoint, occurrences
        self._gates = Gates(dict.fromkeys(occurrences))
        self._sources = {stream: app.source(app.declared.streams[stream]) for stream in occurrences if stream in app.declared.streams}
        self.by_stream: Counter[str] = Counter()
        self.rows_by_stream: Counter[str] = Counter()

    @property
    def found(self) -> int:
        """How many were new, of all streams."""
        return self.by_stream.total()

    def collect(self, execution: JavaObject, epoch: int, *, past_damage: bool = False) -> int:
        """Keep the epoch's dead letters; how many rows it made of streams whose rows are not their source's records.

        `past_damage`: the epoch was read on past any file that failed, which only those that are known to be broken may do.
        """
        counts = self._gates.counts(execution)
        for stream in counts:
            if past_damage:
                self._check_complete(stream, epoch, counts[stream].rows)
            self.rows_by_stream[stream] += counts[stream].rows
            self._name_unreadable(stream, epoch)
            if counts[stream].dead:
                self._fetch(stream, epoch)
        return sum(counts[stream].rows for stream in counts if self._app.declared.streams[stream].options.get("connector") == "generator")

    def _span(self, stream: str, epoch: int) -> Span:
        names = source_order(list(self._occurrences), len(read_epoch(self._checkpoint, epoch).ends))
        return span_of(self._checkpoint, epoch, names, names.index(stream), from_start=False)

    def _name_unreadable(self, stream: str, epoch: int) -> None:
        """Files that Spark had to skip, whole or from some point on: one letter for each, without its bytes."""
        source = self._sources[stream]
        if isinstance(source, SkipsFiles):
            skipped = source.unreadable(self._desk, self._span(stream, epoch))
            seen = datetime.now(UTC).isoformat()
            letters = [(json.dumps({"file": file}), reason, b"", seen) for file, reason in skipped]
            self.by_stream[stream] += self._store.add_dead(stream, letters) if letters else 0  # a transaction for nothing is one in every epoch

    def _check_complete(self, stream: str, epoch: int, rows: int) -> None:
        """SourceError where rows of files that are sound were lost; a stream that is read twice is counted twice."""
        source = self._sources[stream]
        if not isinstance(source, SkipsFiles):
            return
        read = source.history(self._desk, self._span(stream, epoch)).drop("__position")
        ((there, _),) = read.selectExpr("count(*)", "bit_xor(xxhash64(*)) AS every_column_is_read").collect()
        if rows < there or (there and rows % there):
            raise SourceError(f"stream `{stream}`: {rows} rows were read where there are {there}", hint="a file could not be had: it is read again")

    def _fetch(self, stream: str, epoch: int) -> None:
        logged = read_epoch(self._checkpoint, epoch)
        span = self._span(stream, epoch)
        found = dead(self._desk, self._app, self._app.declared.streams[stream], span, now=f"timestamp_millis({logged.time_ms})").toArrow()
        positions, reasons, records = (found[name].to_pylist() for name in ("position", "reason", "raw"))
        raws = self._as_they_came(stream, positions, reasons, [record or b"" for record in records])
        seen = datetime.now(UTC).isoformat()
        self.by_stream[stream] += self._store.add_dead(stream, list(zip(with_lines(positions, raws), reasons, raws, [seen] * len(raws), strict=True)))

    def _as_they_came(self, stream: str, positions: list[str], reasons: list[str], records: list[bytes]) -> list[bytes]:
        """The bytes of the records; those that could be read, of which a reader keeps no text, are searched for in the lines of their files."""
        source, spec = self._sources[stream], self._app.spec(self._app.declared.streams[stream])
        sought = [(position, record) for position, reason, record in zip(positions, reasons, records, strict=True) if could_be_read(reason)]
        if not sought or not isinstance(source, HasLines):
            return records
        came = as_they_came(self._desk, source, spec, sought)
        return [lines_left.pop() if (lines_left := came.get(key)) else key[1] for key in zip(positions, records, strict=True)]


def as_they_came(desk: SparkSession, source: HasLines, spec: SourceSpec, sought: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], list[bytes]]:
    """The lines of files from which records were read that were written anew since, by position and record; several where they say the same."""
    letters = desk.createDataFrame(
        pa.table({"position": [at for at, _ in sought], "record": pa.array([record for _, record in sought], pa.binary())})
    )
    lines = source.lines(desk, sorted({json.loads(position)["file"] for position, _ in sought}))
    found = originals(lines, letters, spec, source.written).toArrow()
    came: dict[tuple[str, bytes], list[bytes]] = {}
    for position, record, raw in zip(*(found[name].to_pylist() for name in ("position", "record", "raw")), strict=True):
        came.setdefault((position, record), []).append(raw)
    return came


def with_lines(positions: list[str], records: list[bytes]) -> list[str]:
    """Positions with the line added, where a reader told only the file."""
    by_file: dict[str, list[int]] = {}
    for index, position in enumerate(positions):
        place = json.loads(position)
        if "file" in place and "line" not in place:
            by_file.setdefault(place["file"], []).append(index)
    result = list(positions)
    for file, indices in by_file.items():
        copies: Counter[bytes] = Counter()
        for index, line in zip(indices, locate_lines(local_path(file), [records[index] for index in indices]), strict=True):
            place = {**json.loads(positions[index]), "line": line}
            if line is None:  # a position is kept once, so records whose lines are not found are told apart by what they hold
                copies[records[index]] += 1
                place |= {"record": hashlib.sha256(records[index]).hexdigest()[:12], "copy": copies[records[index]]}
            result[index] = json.dumps(place, ensure_ascii=False)
    return result


def local_path(file: str) -> str:
    """A file's path from the name that Spark gives it."""
    return unquote(urlsplit(file).path) if file.startswith("file:") else file

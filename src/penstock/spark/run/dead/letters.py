"""Dead letters: counted by every job that reads a stream, fetched by position, kept once.

A stream's filter of good records counts an epoch's bad records. Only where it is not zero the epoch's part of the source is read again,
for the bad records and their positions; a position that is already kept is not counted twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from penstock.change import SetAside
from penstock.decode import as_encoded, could_be_read, locate_lines, originals
from penstock.errors import DataFault, SourceError
from penstock.formats import encoding_of
from penstock.source import HasLines, SkipsFiles, SourceSpec, Span
from penstock.source.infer.causes import remedy
from penstock.spark.checkpoint.offset_log import read_epoch, source_order, span_of
from penstock.spark.compile.counted import RowCounts
from penstock.spark.compile.frames import AppContext, dead
from penstock.store.protocol import DeadRow, Store

log = logging.getLogger("penstock.source")


class Letter(NamedTuple):
    """A record that did not decode: its place (JSON), the reason, and its bytes."""

    position: str
    reason: str
    raw: bytes


class DeadLetters:
    """The dead letters of the streams that one job reads."""

    def __init__(self, batch_session: SparkSession, app: AppContext, store: Store, checkpoint: Path, occurrences: tuple[str, ...]) -> None:
        self._batch_session, self._app, self._store, self._checkpoint, self._occurrences = batch_session, app, store, checkpoint, occurrences
        self._row_counts = RowCounts(dict.fromkeys(occurrences))
        self._sources = {stream: app.source(app.declared.streams[stream]) for stream in occurrences if stream in app.declared.streams}
        self.by_stream: Counter[str] = Counter()
        self.rows_by_stream: Counter[str] = Counter()
        self._bad_rows: Counter[str] = Counter()
        self._warned: Counter[str] = Counter()

    @property
    def found(self) -> int:
        """How many were new, of all streams."""
        return self.by_stream.total()

    def collect(self, execution: JavaObject, epoch: int, *, past_damage: bool = False) -> int:
        """Keep the epoch's dead letters; how many rows it made of streams whose rows are not their source's records.

        `past_damage`: the epoch was read on past any file that failed, which only those that are known to be broken may do.
        """
        counts = self._row_counts.counts(execution)
        for stream in counts:
            if past_damage:
                self._check_complete(stream, epoch, counts[stream].rows)
            self.rows_by_stream[stream] += counts[stream].rows
            self._name_unreadable(stream, epoch)
            if counts[stream].dead:
                self._bad_rows[stream] += counts[stream].dead
                self._warn(stream, self._fetch(stream, epoch))
        return sum(counts[stream].rows for stream in counts if self._app.declared.streams[stream].options.get("connector") == "generator")

    def keep_failed(self, session: SparkSession, view: str, epoch: int | None) -> None:
        """Keep the rows for which a Python function raised, with the first stream that the job reads.

        They are distinguished by what they hold, and by their `epoch` where each is given to the function once.
        """
        failed = self._app.failed_rows.take(session) if self._occurrences else []
        if failed:
            seen = datetime.now(UTC).isoformat()
            place = {"view": view} | ({} if epoch is None else {"epoch": epoch})
            letters = [
                (
                    json.dumps({**place, "function": row.target, "file": row.file, "line": row.line, "row": row.digest, "copy": row.copy}),
                    row.reason,
                    row.row.encode(),
                    seen,
                )
                for row in failed
            ]
            self.by_stream[self._occurrences[0]] += self._store.add_dead(self._occurrences[0], letters)

    def _warn(self, stream: str, letters: Sequence[Letter]) -> None:
        """Say it at the first, and whenever there are ten times as many: a stream that goes wrong must be heard, but not in every epoch."""
        total, rows = self._bad_rows[stream], self.rows_by_stream[stream]
        if not letters or total < 10 * self._warned[stream]:
            return
        self._warned[stream] = total
        if total == rows:
            log.warning("%s", none_read(self._app, stream, rows, letters))
            return
        first = SetAside(stream, total, *letters[0]).first
        log.warning(
            "stream `%s`: %d of %d records were set aside; the last begin with %s; `penstock dead APP %s` lists them",
            stream,
            total,
            rows,
            first,
            stream,
        )

    def _span(self, stream: str, epoch: int) -> Span:
        names = source_order(list(self._occurrences), len(read_epoch(self._checkpoint, epoch).ends))
        return span_of(self._checkpoint, epoch, names, names.index(stream), from_start=False)

    def _name_unreadable(self, stream: str, epoch: int) -> None:
        """Files that Spark had to skip, whole or from some point on: one letter for each, without its bytes."""
        source = self._sources[stream]
        if isinstance(source, SkipsFiles):
            skipped = source.unreadable(self._batch_session, self._span(stream, epoch))
            seen = datetime.now(UTC).isoformat()
            letters = [(json.dumps({"file": file}), reason, b"", seen) for file, reason in skipped]
            self.by_stream[stream] += self._store.add_dead(stream, letters) if letters else 0  # a transaction for nothing is one in every epoch

    def _check_complete(self, stream: str, epoch: int, rows: int) -> None:
        """SourceError where rows of files that are sound were lost; a stream that is read twice is counted twice."""
        source = self._sources[stream]
        if not isinstance(source, SkipsFiles):
            return
        read = source.history(self._batch_session, self._span(stream, epoch)).drop("__position")
        ((there, _),) = read.selectExpr("count(*)", "bit_xor(xxhash64(*)) AS every_column_is_read").collect()
        if rows < there or (there and rows % there):
            raise SourceError(f"stream `{stream}`: {rows} rows were read where there are {there}", hint="a file could not be had: it is read again")

    def _fetch(self, stream: str, epoch: int) -> list[Letter]:
        logged = read_epoch(self._checkpoint, epoch)
        declared, source = self._app.declared.streams[stream], self._sources[stream]
        found = dead(self._batch_session, self._app, declared, self._span(stream, epoch), now=f"timestamp_millis({logged.time_ms})")
        letters = letters_of(self._batch_session, source if isinstance(source, HasLines) else None, self._app.spec(declared), found)
        seen = datetime.now(UTC).isoformat()
        new = self._store.add_dead(stream, [(*letter, seen) for letter in letters])
        self.by_stream[stream] += new
        return letters if new else []  # another job that reads the stream has reported it


def none_read(app: AppContext, name: str, count: int, letters: Sequence[Letter]) -> DataFault:
    """What there is to say where not one record of a stream or table can be read."""
    item = app.declared.streams.get(name) or app.declared.tables[name]
    spec, first = app.spec(item), letters[0]
    kind = "stream" if name in app.declared.streams else "table"
    number = "its only record cannot be read" if count == 1 else f"not one of its {count:,} records can be read"
    message = f"{kind} `{name}`: {number}; the first: {SetAside(name, count, *first).first}"
    return DataFault(message, where=item.where, hint=remedy(spec, [letter.raw for letter in letters], json.loads(first.position).get("file")))


def letters_of(batch_session: SparkSession, source: HasLines | None, spec: SourceSpec, found: DataFrame) -> list[Letter]:
    """Dead letters as they came: with the bytes of their records, and the line where a file is their place."""
    read = found.toArrow()
    positions, reasons, records = (read[name].to_pylist() for name in ("position", "reason", "raw"))
    records = [record or b"" for record in records]
    sought = [(position, record) for position, reason, record in zip(positions, reasons, records, strict=True) if could_be_read(reason)]
    if sought and source is not None:
        came = as_they_came(batch_session, source, spec, sought)
        records = [lines_left.pop() if (lines_left := came.get(key)) else key[1] for key in zip(positions, records, strict=True)]
    if "encoding" in spec.options and source is not None:  # records of files alone were read as text
        records = [as_encoded(record, encoding_of(spec.options)) for record in records]
    return [Letter(*letter) for letter in zip(with_lines(positions, records), reasons, records, strict=True)]


def as_they_came(
    batch_session: SparkSession, source: HasLines, spec: SourceSpec, sought: Sequence[tuple[str, bytes]]
) -> dict[tuple[str, bytes], list[bytes]]:
    """The lines of files from which records were read that were rewritten since, by position and record; several where they say the same."""
    letters = batch_session.createDataFrame(
        pa.table({"position": [at for at, _ in sought], "record": pa.array([record for _, record in sought], pa.binary())})
    )
    lines = source.lines(batch_session, sorted({json.loads(position)["file"] for position, _ in sought}))
    found = originals(lines, letters, spec, source.written).toArrow()
    came: dict[tuple[str, bytes], list[bytes]] = {}
    for position, record, raw in zip(*(found[name].to_pylist() for name in ("position", "record", "raw")), strict=True):
        came.setdefault((position, record), []).append(raw)
    return came


def with_lines(positions: list[str], records: list[bytes]) -> list[str]:
    """Positions with the line added, where a reader gave only the file."""
    by_file: dict[str, list[int]] = {}
    for index, position in enumerate(positions):
        place = json.loads(position)
        if "file" in place and not place.keys() & {"line", "element"}:
            by_file.setdefault(place["file"], []).append(index)
    result = list(positions)
    for file, indices in by_file.items():
        copies: Counter[bytes] = Counter()
        for index, line in zip(indices, locate_lines(local_path(file), [records[index] for index in indices]), strict=True):
            place = {**json.loads(positions[index]), "line": line}
            if line is None:  # a position is kept once, so records whose lines are not found are distinguished by what they hold
                copies[records[index]] += 1
                place |= {"record": hashlib.sha256(records[index]).hexdigest()[:12], "copy": copies[records[index]]}
            result[index] = json.dumps(place, ensure_ascii=False)
    return result


def local_path(file: str) -> str:
    """A file's path from the name that Spark gives it."""
    return unquote(urlsplit(file).path) if file.startswith("file:") else file


def letter(row: DeadRow) -> str:
    """A dead letter as JSON; bytes that are no text stand in it a second time, as they are."""
    text = row.raw.decode("utf-8", "replace")
    whole = None if text.encode() == row.raw else base64.b64encode(row.raw).decode()
    found = {"position": json.loads(row.position), "reason": row.reason, "raw": text, "base64": whole, "seen_at": row.seen_at}
    return json.dumps(found, ensure_ascii=False)

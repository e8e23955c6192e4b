"""Growing log files, line by line: the connector `files` with `tail`.

Only whole lines are read. A log that is renamed is read to its end as long as it stays in its folder, and the new file
of its name from the beginning; a log that is emptied starts over. Replayable: as long as the files are there and hold what
was read of them, else a SourceError; what was lost between planning and reading a batch is one dead letter, not a failure.
A position is file and line, with the inode and how often the file was rewritten: a log has the name, and may have the inode, of another.
Unit of parallelism: 32 MB of a file.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from penstock.errors import SourceError
from penstock.source import Limits, SourceSpec, Span
from penstock.source.files.follow import Piece, advance, find, from_offset, lines_of, lost, pieces, sizes, to_offset
from penstock.source.files.source import located, urlparse_path
from penstock.source.options import option_value

LINES = "penstock_lines"
_MEGABYTE = 1024 * 1024
_known: set[str] = set()
_guard = threading.Lock()
_COLUMNS = {"value": pyarrow.binary(), "file": pyarrow.string(), "line": pyarrow.int64(), "inode": pyarrow.int64(), "rewrites": pyarrow.int32()}
_SCHEMA = pyarrow.schema(list(_COLUMNS.items()))

Offset = dict[str, dict[str, str | int]]


class Tail:
    """The connector `files` with `tail = true`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._name = spec.name
        self._path = urlparse_path(located(spec.folder, spec.options["path"]))
        self._is_text = option_value(spec.options, "files", "format") == "text"

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        options = {"files": self._path, "chunk": str(limits.megabytes * _MEGABYTE)}
        return self._records(spark.readStream.format(_register(spark)).options(**options).load())

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        plan = json.dumps([asdict(piece) for piece in self.planned(span)])
        return self._records(spark.read.format(_register(spark)).options(files=self._path, plan=plan).load())

    def planned(self, span: Span) -> list[Piece]:
        """The pieces of files that a span means; SourceError where it is a past that is gone, which would only give fewer rows."""
        if span.nothing:
            return []
        start = from_offset(json.loads(span.start)) if span.start else {}
        end = from_offset(json.loads(span.end)) if span.end else advance(self._path, start, None)
        missing = lost(end) if span.end and not span.start and not span.is_epoch else []
        if missing:
            raise SourceError(
                f"stream `{self._name}`: what was read of {missing[0]} is gone: the file was emptied, removed or rewritten",
                hint="history needs all that was read: let logs be renamed, not emptied, and kept in their folder; another state folder starts over",
            )
        return pieces(start, end)

    def close(self) -> None:
        return None

    def _records(self, lines: DataFrame) -> DataFrame:
        # A blank line holds no record, as in a file that is not followed; in a text it is a line like any other.
        kept = lines if self._is_text else lines.where("value IS NULL OR trim(CAST(value AS STRING)) <> ''")
        # Neither the name nor the inode alone distinguishes one log from the next; a log's first generation is not worth a word.
        place = "to_json(named_struct('file', file, 'line', line, 'inode', inode, 'rewrites', nullif(rewrites, 0)))"
        return kept.selectExpr("value AS __value", f"{place} AS __position")


def _register(spark: SparkSession) -> str:
    """Make the source known to this session, once, under a name of its own: a session keeps for good what was made known to it.

    Spark looks for a taken name in the session that is active in the thread, which need not be this one.
    """
    name = f"{LINES}_{spark._jsparkSession.sessionUUID().replace('-', '')}"
    with _guard:
        if name not in _known:
            spark.dataSource.register(type("SessionLines", (Lines,), {"name": classmethod(lambda cls: name)}))
            _known.add(name)
    return name


class Lines(DataSource):
    """Lines with their place. Options: files (a path or glob), chunk (bytes of a micro-batch), plan (pieces to read at once)."""

    @classmethod
    def name(cls) -> str:
        return LINES

    def schema(self) -> str:
        return "value BINARY, file STRING, line BIGINT, inode BIGINT, rewrites INT"

    def reader(self, schema: StructType) -> LineReader:
        return LineReader([Piece(**piece) for piece in json.loads(self.options["plan"])])

    def streamReader(self, schema: StructType) -> LineStreamReader:
        return LineStreamReader(self.options["files"], int(self.options["chunk"]))


class _Part(InputPartition):
    def __init__(self, piece: Piece) -> None:
        self.piece = piece


class LineReader(DataSourceReader):
    """Given pieces, once."""

    def __init__(self, plan: list[Piece]) -> None:
        self._plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        return [_Part(piece) for piece in self._plan]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition)


class LineStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset holds the mark of each file; see `follow`."""

    def __init__(self, path: str, chunk: int) -> None:
        self._path = path
        self._chunk = chunk
        self._draining = False
        self._until: dict[int, int] | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxBytes(self._chunk)

    def prepareForTriggerAvailableNow(self) -> None:
        self._draining = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        marks = from_offset(start)
        if self._draining and self._until is None:
            self._until = sizes(self._path, marks)  # the first call of the query knows which files were started before
        return to_offset(advance(self._path, marks, None if isinstance(limit, ReadAllAvailable) else self._chunk, self._until))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return [_Part(piece) for piece in pieces(from_offset(start), from_offset(end))]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        return _batches(partition)


def _batches(partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
    if not isinstance(partition, _Part):  # where there is nothing to read, Spark asks for a part of its own making
        return
    piece = partition.piece
    name = find(piece)
    if name is None:
        yield _batch([None], piece, piece.line)
        return
    line = piece.line
    for lines in lines_of(name, piece):
        yield _batch(lines, piece, line)
        line += len(lines)


def _batch(lines: Sequence[bytes | None], piece: Piece, first: int) -> pyarrow.RecordBatch:
    values = pyarrow.array(lines, pyarrow.binary())
    numbers = pyarrow.array(range(first, first + len(lines)), pyarrow.int64())
    name, inode, rewrites = (pyarrow.repeat(pyarrow.scalar(getattr(piece, of), _COLUMNS[of]), len(lines)) for of in ("file", "inode", "rewrites"))
    return pyarrow.RecordBatch.from_arrays([values, name, numbers, inode, rewrites], schema=_SCHEMA)

"""Where rows enter. A source gives raw records with their position; `decode` makes typed rows of them.

Every source can be read live (a streaming DataFrame) and as history (a batch DataFrame, the whole of it or exactly up
to the end of one epoch as its offset log says). `source.options` holds what can be known without Spark; `source.open`
chooses the connector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from penstock.schema import Schema
from penstock.source.files.broken import BrokenFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SourceSpec:
    """What a connector is given: plain option values (secrets already read), two folders, and what is known of its files."""

    name: str
    options: Mapping[str, str] = field(repr=False)
    schema: Schema
    folder: Path
    state: Path
    broken: BrokenFiles = field(default_factory=BrokenFiles, repr=False, compare=False)


@dataclass(frozen=True)
class Limits:
    """The most that one micro-batch may take."""

    rows: int
    megabytes: int
    files: int = 0


@dataclass(frozen=True)
class Span:
    """The part of a source between two logged offsets, as JSON text of Spark's offset log; None: from the beginning, to the end.

    `log` is the source's own folder below the checkpoint (`sources/0`), which some sources need to read an offset. `is_epoch`: it is what one
    epoch takes, though that may be the first and begin at the beginning. `nothing`: the source had given nothing by then, so that the log has
    no end for it; what is there now came later.
    """

    start: str | None = None
    end: str | None = None
    log: Path | None = None
    is_epoch: bool = False
    nothing: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is all that the source has now."""
        return self.start is None and self.end is None and not self.nothing


class Source(Protocol):
    """A source connector.

    The DataFrame it gives has `__position STRING` (JSON: topic, partition, offset; file and line where known; row) and
    either `__value BINARY|STRING` (one record each, to be decoded) or the stream's columns already typed, then perhaps with
    `__corrupt STRING`: the record as it was, where it does not fit the columns. Live rows may have no position where
    giving it costs every row: positions are asked of history.
    """

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame: ...

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        """The records of a span; of one with `nothing` none, whatever is there now."""
        ...

    def close(self) -> None:
        """Ends what runs beside Spark for this source, such as the thread that records a socket; safe to call twice."""
        ...


@runtime_checkable
class Recorded(Protocol):
    """A source that is recorded while it runs, since it cannot be asked twice."""

    def caught_up(self, timeout_s: float) -> bool:
        """Record until the source hangs up or falls silent, `timeout_s` at most; whether it did. SourceError where it never answered."""
        ...


@runtime_checkable
class SkipsFiles(Protocol):
    """A source that reads files which are known to be broken as far as they go; any other that cannot be read fails."""

    def unreadable(self, spark: SparkSession, span: Span, *, thorough: bool = False) -> list[tuple[str, str]]:
        """The files of `span` that are not read, or not to their end, each with the reason; `thorough`: all are read once more to find out."""
        ...


@runtime_checkable
class HasLines(Protocol):
    """A source whose reader makes typed rows of the lines of files and keeps no text of those that it could read."""

    @property
    def written(self) -> Schema:
        """The columns in the order in which a line of csv has their values."""
        ...

    def lines(self, spark: SparkSession, files: Sequence[str]) -> DataFrame:
        """`__value STRING` and `__position STRING` of every line of some files; none where the format has no lines."""
        ...

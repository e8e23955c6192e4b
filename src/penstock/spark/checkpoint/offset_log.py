"""What a checkpoint says: which part of each source every epoch took, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import StateError
from penstock.source import Span


@dataclass(frozen=True)
class LoggedEpoch:
    """One file of Spark's offset log: the end of each source, in the order of the plan, and the batch's own clock.

    A source that had nothing yet has no end.
    """

    epoch: int
    ends: tuple[str | None, ...]
    time_ms: int
    watermark_ms: int


def last_epoch(folder: Path) -> int:
    """The highest epoch in a log folder (`offsets` or `commits`); -1 if there is none."""
    return max(_epochs(folder), default=-1)


def first_epoch(folder: Path) -> int:
    """The lowest epoch in a log folder: Spark removes older ones; -1 if there is none."""
    return min(_epochs(folder), default=-1)


def _epochs(folder: Path) -> list[int]:
    return [int(entry.name) for entry in folder.glob("[0-9]*") if entry.name.isdigit()] if folder.is_dir() else []


def read_epoch(checkpoint: Path, epoch: int) -> LoggedEpoch:
    """The offset log's entry for `epoch`; StateError naming the file if it is damaged or missing."""
    path = checkpoint / "offsets" / str(epoch)
    try:
        version, metadata, *ends = path.read_text(encoding="utf-8").split("\n")
        if version != "v1":
            raise ValueError(f"unknown version {version!r}")
        clock = json.loads(metadata)
        return LoggedEpoch(epoch, tuple(None if end == "-" else end for end in ends), int(clock["batchTimestampMs"]), int(clock["batchWatermarkMs"]))
    except (OSError, ValueError, KeyError) as error:
        raise StateError(
            f"{path} cannot be read: {error}",
            hint="restore the checkpoint from a copy, or remove its folder to rebuild the view from history",
        ) from error


def span_of(checkpoint: Path, epoch: int, names: Sequence[str], place: int, *, from_start: bool) -> Span:
    """What the source at `place` of the offset log gave in `epoch`, or from the beginning up to its end; `names` as for `log_of`."""
    end = read_epoch(checkpoint, epoch).ends[place]
    start = None if from_start or epoch == 0 else read_epoch(checkpoint, epoch - 1).ends[place]
    return Span(start, end, log_of(checkpoint, names, place), is_epoch=not from_start, nothing=end is None)


def log_of(checkpoint: Path, names: Sequence[str], place: int) -> Path:
    """The folder in which the source at `place` of the offset log keeps what it has read; `names` are the streams in that order.

    Of a stream that stands on both sides of a union Spark makes one source: it has two places in the offset log, and one folder.
    """
    own = list(dict.fromkeys(names))
    shared = len(own) < len(names) and len(_epochs(checkpoint / "sources")) == len(own)
    return checkpoint / "sources" / str(own.index(names[place]) if shared else place)


def source_order(occurrences: list[str], sources: int) -> list[str]:
    """Stream names by the place of their source in the offset log; a stream read twice has one source or two."""
    return occurrences if len(occurrences) == sources else list(dict.fromkeys(occurrences))

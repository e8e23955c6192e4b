"""Which files a streaming query has read: Spark's own log of a file source, `sources/<i>` below the checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from penstock.errors import StateError

_VERSION = "v1"
_COMPACT = ".compact"
_ENTRY = re.compile(r'"batchId":\s*(\d+)')  # in a file's name the quotes would be escaped


class Logged(NamedTuple):
    """A file, and the entry of the source's log that took it; entries count from 0 and are what an offset names."""

    path: str
    entry: int


def files_between(log: Path, start: int | None, end: int | None) -> list[str]:
    """The files taken after entry `start` up to and including entry `end`, in the order of the log.

    Every tenth entry is compacted and repeats all files before it; older entries are removed in time. Where the wanted entries
    are not all there, all that is there is read, and each file is counted once.
    """
    first = -1 if start is None else start
    wanted = [] if end is None else [_written(log, entry) for entry in range(first + 1, end + 1)]
    some = [path for path in wanted if path is not None]
    found = _once(_entries(some, range(first + 1, (end or 0) + 1))) if some and len(some) == len(wanted) else logged_files(log)
    return [file.path for file in found if first < file.entry and (end is None or file.entry <= end)]


def logged_files(log: Path) -> list[Logged]:
    """Every file that was ever taken, once, in the order of the log."""
    names = [path for path in log.iterdir() if path.name.removesuffix(_COMPACT).isdigit()] if log.is_dir() else []
    return _once(_entries(sorted(names, key=lambda path: int(path.name.removesuffix(_COMPACT)))))


def entry_of(offset: str | None) -> int | None:
    """The log entry that an offset of the file source names."""
    return None if offset is None else int(json.loads(offset)["logOffset"])


def _written(log: Path, entry: int) -> Path | None:
    """The file of one entry, if it is still there."""
    return next((path for path in (log / str(entry), log / f"{entry}{_COMPACT}") if path.is_file()), None)


def _once(files: Iterator[Logged]) -> list[Logged]:
    found: dict[str, int] = {}
    for logged in files:
        found.setdefault(logged.path, logged.entry)
    return sorted((Logged(path, entry) for path, entry in found.items()), key=lambda file: file.entry)


def _entries(files: Sequence[Path], wanted: Container[int] | None = None) -> Iterator[Logged]:
    """What the log's files hold of the wanted entries, or of all; a compacted one may hold a hundred thousand others, which are not decoded."""
    for path in files:
        lines = path.read_text(encoding="utf-8").split("\n")  # a name may hold the line ends of Unicode as they are
        if not lines or lines[0] != _VERSION:
            raise StateError(f"{path} is not a log of files read: it begins with {lines[:1]}", hint="the checkpoint is damaged or of another Spark")
        for line in filter(None, lines[1:]):
            entry = _ENTRY.search(line) if wanted is not None else None
            if wanted is not None and entry is not None and int(entry[1]) not in wanted:
                continue
            read = json.loads(line)
            yield Logged(unquote(str(read["path"])), int(read["batchId"]))

"""Where in a file a dead letter stands: Spark's readers tell the file, not the line."""

from __future__ import annotations

import gzip
import zlib
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path


def locate_lines(path: str | Path, records: Sequence[bytes]) -> list[int | None]:
    """The line numbers, from 1, of records of a local file, in one pass; None where a record is not found.

    Equal records are given the lines of their occurrences in turn.
    """
    found: list[int | None] = [None] * len(records)
    wanted: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for place, record in enumerate(records):
        wanted[record.rstrip(b"\r\n")].append(place)
    for number, line in enumerate(_lines(path), start=1):
        if wanted.get(line):
            found[wanted[line].popleft()] = number
    return found


def _lines(path: str | Path) -> Iterator[bytes]:
    """As far as they can be read: a file may be broken, elsewhere or gone."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with suppress(OSError, EOFError, zlib.error), opener(path, "rb") as lines:
        for line in lines:
            yield line.rstrip(b"\r\n")

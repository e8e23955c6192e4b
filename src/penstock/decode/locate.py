"""Where in a file a dead letter stands: Spark's readers give the file, not the line."""

from __future__ import annotations

import zlib
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from penstock.formats import opener_of


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
    broken = [record for record in wanted if b"\n" in record]
    return _with_line_breaks(path, wanted, found) if broken else found


def as_encoded(record: bytes, encoding: str) -> bytes:
    """A record that was read as text, as it is in a file of that encoding."""
    try:
        return record.decode().encode(encoding)
    except UnicodeError:
        return record


def _with_line_breaks(path: str | Path, wanted: Mapping[bytes, deque[int]], found: list[int | None]) -> list[int | None]:
    """Records of several lines are searched for in the whole file, as the reader that found them has it."""
    text = b"\n".join(_lines(path))
    for record, places in wanted.items():
        sought, at = record.replace(b"\r\n", b"\n"), -1
        while b"\n" in sought and places and (at := text.find(sought, at + 1)) >= 0:
            found[places.popleft()] = text.count(b"\n", 0, at) + 1
    return found


def _lines(path: str | Path) -> Iterator[bytes]:
    """As far as they can be read: a file may be broken, elsewhere or gone."""
    with suppress(OSError, EOFError, zlib.error), opener_of(path)(path, "rb") as lines:
        for line in lines:
            yield line.rstrip(b"\r\n")

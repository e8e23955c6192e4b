"""Where in a file a dead letter stands: Spark's readers tell the file, not the line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path


def locate_lines(path: str | Path, records: Sequence[bytes]) -> list[int | None]:
    """The line numbers, from 1, of records of a local file, in one pass; None where a record is not found.

    Equal records are given the lines of their occurrences in turn. A record that Penstock had to write as JSON again
    (the reader kept no text of it) is found by its meaning.
    """
    found: list[int | None] = [None] * len(records)
    wanted: defaultdict[bytes, deque[int]] = defaultdict(deque)
    for place, record in enumerate(records):
        wanted[record.rstrip(b"\r\n")].append(place)
    _assign(path, found, lambda line: wanted[line].popleft() if wanted.get(line) else None)
    rebuilt = [(place, fields) for place, record in enumerate(records) if found[place] is None and (fields := _fields(record)) is not None]
    if rebuilt:
        taken = {line for line in found if line is not None}
        _assign(path, found, lambda line: _same_record(line, rebuilt), taken)
    return found


def _assign(path: str | Path, found: list[int | None], place_of: Callable[[bytes], int | None], taken: set[int] | None = None) -> None:
    for number, line in enumerate(_lines(path), start=1):
        if taken and number in taken:
            continue
        place = place_of(line)
        if place is not None:
            found[place] = number


def _lines(path: str | Path) -> Iterator[bytes]:
    """As far as they can be read: a file may be broken, elsewhere or gone."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with suppress(OSError, EOFError, zlib.error), opener(path, "rb") as lines:
        for line in lines:
            yield line.rstrip(b"\r\n")


def _fields(record: bytes) -> dict[str, object] | None:
    try:
        read = json.loads(record)
    except ValueError:
        return None
    return read if isinstance(read, dict) and read else None


def _same_record(line: bytes, rebuilt: list[tuple[int, dict[str, object]]]) -> int | None:
    fields = _fields(line)
    if fields is None:
        return None
    for entry in rebuilt:
        if all(name in fields and _same(value, fields[name]) for name, value in entry[1].items()):
            rebuilt.remove(entry)
            return entry[0]
    return None


def _same(rebuilt: object, written: object) -> bool:
    return rebuilt == written or (_moment(rebuilt) is not None and _moment(rebuilt) == _moment(written))


def _moment(value: object) -> datetime | None:
    """A time as JSON may hold it: ISO 8601, or seconds since 1970."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value)
            return read if read.tzinfo else read.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError, OSError):
        return None

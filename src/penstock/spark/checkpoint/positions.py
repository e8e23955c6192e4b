"""Which epoch took a record, known from its position: Spark SQL over `__position`, made from what the offset log says.

An epoch's place in the log counts from 0; what was taken by epochs that the log no longer has get the place of the first it has.
However many epochs and files there are, a place is found in few steps: this is asked for every row of a history.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isqrt
from pathlib import Path

from penstock.source.files.follow import from_offset
from penstock.source.files.log import entry_of, logged_files
from penstock.source.files.source import urlparse_path
from penstock.source.supplier import range_of
from penstock.spark.checkpoint.offset_log import LoggedEpoch

Bounds = dict[str, list[int]]
_FILE = "get_json_object(__position, '$.file')"
_IN_A_BUCKET = 8


def clock_at(options: Mapping[str, object], source: Path, number: int, logged: Sequence[LoggedEpoch]) -> str:
    """The clock by which each record was judged: that of the epoch that took it. The arguments are those of `place_of`."""
    return f"timestamp_millis({of_each([epoch.time_ms for epoch in logged], place_of(options, source, number, logged))})"


def place_of(options: Mapping[str, object], source: Path, number: int, logged: Sequence[LoggedEpoch]) -> str:
    """The place of a record's epoch among those `logged`. `options` are the stream's, `source` its folder in the checkpoint.

    `number` is where the offset log has its ends: not that of the folder where a stream stands on both sides of a union, see `log_of`.
    """
    ends = [epoch.ends[number] for epoch in logged]
    if str(options.get("tail", "false")).lower() == "true":
        return _behind(_lines(ends), _FILE, _number("line") + " - 1", len(ends))
    match options.get("connector"):
        case "kafka":
            return _behind(_offsets(ends), "get_json_object(__position, '$.partition')", _number("offset"), len(ends))
        case "generator":
            return _by_row(file_places(source, ends))
        case _:
            return _by_file({_named(path): place for path, place in file_places(source, ends).items()})


def of_each(values: Sequence[int], place: str) -> str:
    """The value of the epoch in that place."""
    return f"element_at({_constant(list(values), 'array<bigint>')}, CAST(1 + {place} AS INT))"


def file_places(source: Path, ends: Sequence[str | None]) -> dict[str, int]:
    """By the file, as Spark's log has it: the place of the first epoch whose end covers the entry of the log that took it."""
    entries = [-1 if (entry := entry_of(end)) is None else entry for end in ends]
    placed = ((file.path, bisect_left(entries, file.entry)) for file in logged_files(source))
    return {path: place for path, place in placed if place < len(entries)}


def _named(path: str) -> str:
    """A file as a position names it."""
    return "/" + urlparse_path(path).lstrip("/")


def _by_file(places: Mapping[str, int]) -> str:
    """Spark searches a map from its beginning, for every row: so there are many small ones, chosen by a checksum of the name."""
    buckets: list[dict[str, int]] = [{} for _ in range(1 + len(places) // _IN_A_BUCKET)]
    for file, place in places.items():
        buckets[zlib.crc32(file.encode()) % len(buckets)][file] = place
    chosen = f"element_at({_constant(buckets, 'array<map<string, int>>')}, CAST(1 + crc32(encode({_FILE}, 'UTF-8')) % {len(buckets)} AS INT))"
    return f"element_at({chosen}, {_FILE})"


def _by_row(places: Mapping[str, int]) -> str:
    """Generated rows are numbered through all files; files of the same epoch that follow each other are one range."""
    files = ((Path(_named(path)), place) for path, place in places.items())
    ranges = sorted((*range_of(file), place) for file, place in files if file.exists())  # one that is gone is reported by history
    runs = [(place, [end for _, end, _ in run][-1]) for place, run in groupby(ranges, key=lambda each: each[2])]
    if not runs:
        return "0"
    found = _behind({"": [end for _, end in runs]}, "''", _number("row"), len(runs))
    return of_each([place for place, _ in runs], found)


def _offsets(ends: Sequence[str | None]) -> Bounds:
    """Where each epoch ended, by partition."""
    return _growing([{} if end is None else next(iter(json.loads(end).values()), {}) for end in ends])


def _lines(ends: Sequence[str | None]) -> Bounds:
    """How many lines of each file every epoch had read, by the name that the file has in the end.

    Of a file that was rewritten only its last version can still be read.
    """
    marks = [{} if end is None else from_offset(json.loads(end)) for end in ends]
    last = marks[-1]
    read = [
        {last[inode].file: mark.lines for inode, mark in epoch.items() if inode in last and mark.rewrites == last[inode].rewrites} for epoch in marks
    ]
    return _growing(read)


def _growing(ends: Sequence[Mapping[str, int]]) -> Bounds:
    """One list for each key, an end for every epoch; where an epoch does not have one it is that of the epoch before."""
    bounds: Bounds = {}
    for number, taken in enumerate(ends):
        for key in {*bounds, *taken}:
            before = bounds.setdefault(key, [0] * number)
            before.append(int(taken.get(key, before[-1] if before else 0)))
    return bounds


def _number(name: str) -> str:
    return f"CAST(get_json_object(__position, '$.{name}') AS BIGINT)"


def _behind(bounds: Bounds, key: str, at: str, count: int) -> str:
    """How many of the ends of its key a record has behind it: whole blocks first, for there may be very many."""
    block = max(1, isqrt(count))
    ends_of = f"element_at({_constant(bounds, 'map<string, array<bigint>>')}, {key})"
    last_of = {name: found[block - 1 :: block] for name, found in bounds.items()}
    blocks = _at_most(f"element_at({_constant(last_of, 'map<string, array<bigint>>')}, {key})", at)
    rest = _at_most(f"slice({ends_of}, 1 + {block} * {blocks}, {block})", at)
    return f"least({block} * {blocks} + {rest}, {count - 1})"


def _at_most(ends: str, at: str) -> str:
    return f"size(filter({ends}, __e -> __e <= {at}))"


def _constant(value: object, kind: str) -> str:
    """A constant that Spark reads once, however large it is."""
    text = json.dumps(value, ensure_ascii=False).replace("\\", "\\\\").replace("'", "\\'")
    return f"from_json('{text}', '{kind}')"

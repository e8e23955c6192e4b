"""A folder of epochs, read as any program would: plain files in plain folders, and columns in the names of folders."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv as arrow_csv

from penstock.errors import SinkError
from penstock.sink.files.marker import MARKER
from penstock.sink.files.partitions import value_in
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.spec import SinkSpec
from penstock.verify.changes import Delivered, ReadChange, followed
from penstock.verify.rows import Reader, Row

_TRIES = 5
_LEAVES_S = 1.0
_EPOCH = re.compile(r"epoch=(\d+)")


def read_files(spec: SinkSpec, reader: Reader, generation: str, since: datetime, position: Callable[[], int]) -> Delivered:
    """What the folder holds now; one that is cleared or replaced while it is read is read again.

    `position` gives the epoch of a folder that keeps no ledger; files that are older than `since` are an earlier generation's there.
    """
    folder = spec.folder / spec.options["path"]
    if spec.complete:
        _await_one_result(folder)
    for _ in range(_TRIES):
        try:
            if delivery_of(spec.options) == EXACTLY_ONCE:
                return _with_ledger(folder, spec, reader, generation)
            return _without_ledger(folder, spec, reader, since, position())
        except FileNotFoundError:
            continue
    raise SinkError(f"sink `{spec.name}`: {folder} changes faster than it can be read", hint="try again")


def _await_one_result(folder: Path) -> None:
    """Where a file system cannot exchange two folders, a new result is there a moment before the last one leaves."""
    deadline = time.monotonic() + _LEAVES_S
    while len(_epochs(folder)) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)


def _with_ledger(folder: Path, spec: SinkSpec, reader: Reader, generation: str) -> Delivered:
    marker, epochs = _marker(folder, spec), _epochs(folder)
    if marker is not None and (marker.get("generation") != generation or marker.get("clearing")):
        return Delivered(-1, [], [], earlier=len(epochs))
    position = max([*epochs, int(marker["epoch"]) if marker is not None else -1], default=-1)
    return _held(spec, reader, position, [(epoch, file) for epoch, path in sorted(epochs.items()) for file in _files(path)])


def _without_ledger(folder: Path, spec: SinkSpec, reader: Reader, since: datetime, position: int) -> Delivered:
    files = [(epoch, file) for epoch, path in sorted(_epochs(folder).items()) for file in _files(path)]
    own = [(epoch, file) for epoch, file in files if file.stat().st_mtime >= since.timestamp() and epoch <= position]
    return replace(_held(spec, reader, position, own), earlier=sum(file.stat().st_mtime < since.timestamp() for _, file in files))


def _held(spec: SinkSpec, reader: Reader, position: int, files: list[tuple[int, Path]]) -> Delivered:
    """All the files, also of a complete view: where the result before has not left, any reader has both."""
    changes = [change for epoch, file in files for change in _changes(file, epoch, reader)]
    rows, repeated = followed(reader, changes) if not (spec.append_only or spec.complete) else ([change.row for change in changes], [])
    return Delivered(position, rows, repeated)


def _epochs(folder: Path) -> dict[int, Path]:
    found = ((_EPOCH.fullmatch(path.name), path) for path in folder.iterdir()) if folder.is_dir() else ()
    return {int(name[1]): path for name, path in found if name is not None}


def _marker(folder: Path, spec: SinkSpec) -> dict[str, Any] | None:
    path = folder / MARKER
    if not path.exists():
        return None
    try:
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return read
    except ValueError as error:
        raise SinkError(
            f"sink `{spec.name}`: {path} cannot be read: {error}", hint="restore it, or let the sink start over in another `path`"
        ) from error


def _files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if "=" in path.name or not path.name.startswith((".", "_")))
    return [file for path in found for file in (_files(path) if path.is_dir() else [path])]


def _levels(file: Path) -> list[str]:
    """The folders between the file's epoch and the file."""
    parents = [parent.name for parent in file.parents]
    return parents[: next(number for number, name in enumerate(parents) if _EPOCH.fullmatch(name))][::-1]


def _changes(file: Path, epoch: int, reader: Reader) -> Iterator[ReadChange]:
    levels = _levels(file)
    place, named = "/".join([f"epoch={epoch}", *levels, file.name]), dict(value_in(level) for level in levels)
    for number, record in _RECORDS.get(file.suffix, _json)(file, reader):
        op = "+"
        if isinstance(record, dict):
            op = str(record.pop("_op", "+"))
            record.update(named)
            text = json.dumps(record, ensure_ascii=False, separators=(",", ":")) if file.suffix == ".json" else reader.text(record)
        else:
            text = json.dumps(record)
        yield ReadChange(op, Row(text, f"{place} line {number}", epoch))


def _json(file: Path, reader: Reader) -> Iterator[tuple[int, Any]]:
    with file.open(encoding="utf-8", newline="\n") as lines:  # unlike str.splitlines: JSON text may hold other line ends as they are
        for number, line in enumerate(lines, start=1):
            try:
                yield number, json.loads(line)
            except ValueError:
                yield number, line.removesuffix("\n")


def _csv(file: Path, reader: Reader) -> Iterator[tuple[int, Any]]:
    """All values are text; an empty one is null unless it stands in quotes, which Python's own reader does not show."""
    with file.open(encoding="utf-8", newline="") as lines:
        names = next(csv.reader(lines), [])
    # The line of a row whose only value is null is empty.
    lines_as_they_are = arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    as_text = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pyarrow.string()), null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    try:
        found = arrow_csv.read_csv(file, parse_options=lines_as_they_are, convert_options=as_text).to_pylist()
    except pyarrow.ArrowInvalid:  # rows of different lengths, which are no rows of the view
        with file.open(encoding="utf-8", newline="") as lines:
            found = [{str(name): value for name, value in record.items()} for record in csv.DictReader(lines)]
    yield from enumerate(found, start=2)


def _parquet(file: Path, reader: Reader) -> Iterator[tuple[int, Any]]:
    import pyarrow.parquet as pq

    yield from enumerate(pq.read_table(file, partitioning=None).to_pylist(), start=1)


_RECORDS: dict[str, Callable[[Path, Reader], Iterator[tuple[int, Any]]]] = {".json": _json, ".csv": _csv, ".parquet": _parquet}

"""Files that an app names and that are not there."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.patterns import matches
from penstock.plan.check_callbacks import callback_findings
from penstock.plan.declare import Declared, Sink, Stream, Table
from penstock.plan.findings import ERROR, WARNING, Finding


def file_findings(declared: Declared) -> Iterator[Finding]:
    """A warning for each stream whose folder is not there, an error for each table or callback whose file is not; local paths only."""
    for entry, place in _local_sources(declared):
        yield from _missing(entry, place)
    yield from callback_findings(declared)


def _local_sources(declared: Declared) -> Iterator[tuple[Stream | Table, Path]]:
    entries: list[Stream | Table] = [*declared.streams.values(), *declared.tables.values()]
    for entry in entries:
        place = local_place(entry, declared)
        if place is not None:
            yield entry, place


def local_place(entry: Stream | Table | Sink, declared: Declared) -> Path | None:
    """The local path that an entry names, if it is one of files."""
    path = entry.options.get("path")
    local = entry.options.get("connector") == "files" and isinstance(path, str) and "://" not in path
    return declared.folder.absolute() / str(path) if local else None


def normal(place: Path) -> Path:
    return Path(os.path.normpath(place))


def _missing(entry: Stream | Table, place: Path) -> Iterator[Finding]:
    if place.exists() or matches(str(place)):
        return
    if isinstance(entry, Table):
        message = f"table `{entry.name}`: there is no file at {entry.options['path']}"
        yield Finding(ERROR, "OptionFault", message, entry.where, hint=f"it was looked for at {place}")
        return
    folder = plain_part(place)
    if place == folder or not folder.exists():
        what = "folder or file" if place == folder else "folder"
        message = f"stream `{entry.name}`: there is no {what} {folder} yet"
        hint = "rows are read as soon as it is there; is `path` right? It is relative to the app"
        yield Finding(WARNING, "OptionFault", message, entry.where, hint=hint)


def plain_part(place: Path) -> Path:
    """The part of a path before the first name that is a pattern."""
    plain = Path(place.anchor)
    for part in place.parts[1:]:
        if glob.has_magic(part) or set(part) & set("{}"):
            return plain
        plain = plain / part
    return plain

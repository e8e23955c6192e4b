"""Files that an app names and that are not there: a stream may get them later, a table must have them."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from penstock.plan.declare import Declared, Stream, Table
from penstock.plan.findings import ERROR, WARNING, Finding


def file_findings(declared: Declared) -> Iterator[Finding]:
    """A warning for each stream whose folder is not there, an error for each table whose file is not; local paths only."""
    entries: list[Stream | Table] = [*declared.streams.values(), *declared.tables.values()]
    for entry in entries:
        path = entry.options.get("path")
        if entry.options.get("connector") == "files" and isinstance(path, str) and "://" not in path:
            yield from _missing(entry, declared.folder.absolute() / path)


def _missing(entry: Stream | Table, place: Path) -> Iterator[Finding]:
    if place.exists() or glob.glob(str(place), recursive=True):
        return
    if isinstance(entry, Table):
        message = f"table `{entry.name}`: there is no file at {entry.options['path']}"
        yield Finding(ERROR, "OptionFault", message, entry.where, hint=f"it was looked for at {place}")
        return
    folder = _plain(place)
    if place == folder or not folder.exists():
        what = "folder or file" if place == folder else "folder"
        message = f"stream `{entry.name}`: there is no {what} {folder} yet"
        hint = "rows are read as soon as it is there; is `path` right? It is relative to the app"
        yield Finding(WARNING, "OptionFault", message, entry.where, hint=hint)


def _plain(place: Path) -> Path:
    """The part of a path before the first name that is a pattern."""
    plain = Path(place.anchor)
    for part in place.parts[1:]:
        if glob.has_magic(part) or set(part) & set("{}"):
            return plain
        plain = plain / part
    return plain

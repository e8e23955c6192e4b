"""Files that an app names: those that are not there, and folders that are written and read, or written twice."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.patterns import matches
from penstock.plan.declare import Declared, Sink, Stream, Table
from penstock.plan.findings import ERROR, WARNING, Finding
from penstock.plan.inline import inlined
from penstock.plan.nodes import names_read


def file_findings(declared: Declared) -> Iterator[Finding]:
    """A warning for each stream whose folder is not there, an error for each table whose file is not; local paths only."""
    for entry, place in _local_sources(declared):
        yield from _missing(entry, place)


def shared_folders(declared: Declared) -> Iterator[Finding]:
    """An error for each sink whose view would read what it wrote, or that writes where another sink does; local paths only."""
    read = {entry.name: _normal(place) for entry, place in _local_sources(declared) if place == _plain(place)}
    written: dict[Path, str] = {}
    for sink in declared.sinks.values():
        found, view = _place(sink, declared), declared.views.get(sink.view)
        if found is None or view is None:
            continue
        place = _normal(found)
        own = names_read(inlined(view.query, declared.declarations))
        reader = next((name for name in own if name in read and (place.is_relative_to(read[name]) or read[name].is_relative_to(place))), None)
        if reader is not None:
            message = f"sink `{sink.name}` would write where `{reader}` reads, and view `{view.name}` would feed itself: {sink.options['path']}"
            yield Finding(ERROR, "OptionFault", message, sink.where, hint="give the sink a `path` of its own, outside of what is read")
        if place in written:
            message = f"sinks `{written[place]}` and `{sink.name}` would write to one folder: {sink.options['path']}"
            yield Finding(ERROR, "OptionFault", message, sink.where, hint="give each sink a `path` of its own")
        written[place] = sink.name


def _local_sources(declared: Declared) -> Iterator[tuple[Stream | Table, Path]]:
    entries: list[Stream | Table] = [*declared.streams.values(), *declared.tables.values()]
    for entry in entries:
        place = _place(entry, declared)
        if place is not None:
            yield entry, place


def _place(entry: Stream | Table | Sink, declared: Declared) -> Path | None:
    """The local path that an entry names, if it is one of files."""
    path = entry.options.get("path")
    local = entry.options.get("connector") == "files" and isinstance(path, str) and "://" not in path
    return declared.folder.absolute() / str(path) if local else None


def _normal(place: Path) -> Path:
    return Path(os.path.normpath(place))


def _missing(entry: Stream | Table, place: Path) -> Iterator[Finding]:
    if place.exists() or matches(str(place)):
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

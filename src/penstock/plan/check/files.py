"""Files that an app names and that are not there, or may not be read."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

from penstock.errors import SourceError
from penstock.globs import MARKS, matches
from penstock.plan.check.callbacks import callback_findings
from penstock.plan.check.first_records import unheld_columns
from penstock.plan.model.declare import Declared, Sink, Stream, Table
from penstock.plan.model.findings import ERROR, WARNING, Finding

_LOOKED_AT = 10_000


def file_findings(declared: Declared) -> Iterator[Finding]:
    """A warning for each stream whose folder is not there, an error for each table or callback whose file is not, and for what may not be read.

    Of local paths only.
    """
    for entry, place in _local_sources(declared):
        closed = _closed(place)
        if closed is not None:
            error = _no_right(entry, closed)
            yield Finding(ERROR, "SourceError", error.message, error.where, hint=error.hint)
            continue
        yield from _missing(entry, place)
        yield from unheld_columns(entry, place)
        if entry.options.get("tail") != "true" and place.is_dir():
            yield from _called_like_patterns(entry, place)
    yield from callback_findings(declared)


def require_readable(declared: Declared, names: Collection[str]) -> None:
    """SourceError for the first of the streams and tables called `names` that lies where this user may not read: it would seem to be empty."""
    for entry, place in _local_sources(declared):
        closed = _closed(place) if entry.name in names else None
        if closed is not None:
            raise _no_right(entry, closed)


def not_there(declared: Declared, names: Collection[str]) -> Iterator[Finding]:
    """A warning for each stream called one of `names` of which nothing is there, and for columns that its records do not seem to hold."""
    for entry, place in _local_sources(declared):
        if entry.name in names:
            yield from _missing(entry, place) if isinstance(entry, Stream) else ()
            yield from unheld_columns(entry, place)


def _closed(place: Path) -> Path | None:
    """The folder or file on the way to `place` that this user may not read; None where all can be read, or is not there."""
    plain = plain_part(place)
    for part in (*reversed(plain.parents), plain):
        try:
            if part.is_dir():
                os.listdir(part) if part == plain else os.stat(f"{part}/.")
            elif part == plain and part.exists():
                part.open("rb").close()
        except PermissionError:
            return part
        except OSError:
            return None
    return None


def _no_right(entry: Stream | Table, closed: Path) -> SourceError:
    kind = "table" if isinstance(entry, Table) else "stream"
    folder = os.path.isdir(closed)
    what, rights, flag = ("folder", "read and enter it", "rx") if folder else ("file", "read it", "r")
    hint = f"give the user who runs Penstock the right to {rights}: chmod +{flag} {closed}"
    return SourceError(f"{kind} `{entry.name}`: no right to read the {what} {closed}", where=entry.where, hint=hint)


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
    if place.exists() and not os.access(place, os.R_OK | (os.X_OK if place.is_dir() else 0)):
        kind = "table" if isinstance(entry, Table) else "stream"
        hint = "give the user that runs Penstock the right to read it; a live run waits for that"
        yield Finding(WARNING, "OptionFault", f"{kind} `{entry.name}`: {place} may not be read", entry.where, hint=hint)
        return
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


def _called_like_patterns(entry: Stream | Table, folder: Path) -> Iterator[Finding]:
    """An error for the first file that a run would refuse for its name; a large folder is not looked through to its end."""
    files = islice(folder.rglob("[!._]*"), _LOOKED_AT)
    refused = next((file for file in files if set(str(file)) & MARKS and file.is_file()), None)
    if refused is not None:
        message = f"`{entry.name}`: the name of {refused} holds a character that makes it a pattern to Spark: one of {' '.join(sorted(MARKS))}"
        yield Finding(ERROR, "OptionFault", message, entry.where, hint="rename it")


def plain_part(place: Path) -> Path:
    """The part of a path before the first name that is a pattern."""
    plain = Path(place.anchor)
    for part in place.parts[1:]:
        if glob.has_magic(part) or set(part) & set("{}"):
            return plain
        plain = plain / part
    return plain

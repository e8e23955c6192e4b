"""Columns that no record seems to hold: a key of JSON that is written otherwise than it is declared would be NULL in every row, without a word."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path

from penstock.globs import matches
from penstock.plan.model.declare import Stream, Table
from penstock.plan.model.findings import WARNING, Finding

_LOOKED_AT_BYTES = 64 * 1024
_NEAR = 0.75


def unheld_columns(entry: Stream | Table, place: Path) -> Iterator[Finding]:
    """A warning for each declared column that the first records of the first file have under another spelling only; of plain JSON lines alone."""
    if entry.options.get("format", "json") != "json" or entry.options.get("multiline") == "true":
        return
    file = _first_file(place)
    keys = _keys(file) if file is not None else set()
    declared = set(entry.schema.given.names)
    for name in entry.schema.given.names:
        others = {key.lower(): key for key in keys - declared}
        near = difflib.get_close_matches(name.lower(), others, n=1, cutoff=_NEAR) if name not in keys else []
        if near:
            kind = "table" if isinstance(entry, Table) else "stream"
            message = f"{kind} `{entry.name}`: the first records of {file} have no `{name}`, which is NULL then"
            hint = f"did you mean `{others[near[0]]}`? Keys of JSON are found as they are written, capitals too"
            yield Finding(WARNING, "NameFault", message, entry.where, hint=hint)


def _first_file(place: Path) -> Path | None:
    roots = [place] if place.exists() else [Path(name) for name in sorted(matches(str(place)))[:1]]
    for root in roots:
        found = [root] if root.is_file() else (file for file in root.glob("**/[!._]*") if file.is_file())
        return next(iter(found), None)
    return None


def _keys(file: Path) -> set[str]:
    """The keys of the whole lines at the beginning of a file; none where it cannot be read as lines of JSON."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_LOOKED_AT_BYTES)
    except OSError:
        return set()
    keys: set[str] = set()
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()[: -1 if len(head) == _LOOKED_AT_BYTES else None]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            keys.update(record)
    return keys

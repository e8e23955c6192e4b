"""Following files that grow: plain arithmetic over marks, with no Spark in it.

A mark says how far one file was read. Files are known by inode, so a renamed file goes on where it was; a file that
shrank, or begins otherwise than it did, was rewritten and is read again from byte 0. That something which was
read is gone stays known: by `rewrites` above 0, and by the mark `GONE` of the first file that was removed.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from penstock.globs import matches

GONE = 0  # no file has this inode
_HEAD_BYTES = 256
_BLOCK = 4 * 1024 * 1024
_PIECE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Mark:
    """`bytes` and `lines` of a file were read, after it was rewritten `rewrites` times; `head` is a digest of its first `headed` bytes."""

    file: str
    bytes: int = 0
    lines: int = 0
    rewrites: int = 0
    head: str = ""
    headed: int = 0


@dataclass(frozen=True)
class Piece:
    """Bytes first..end of one file: whole lines, the first of which has number `line`; `rewrites`, `head` and `headed` as in its mark."""

    inode: int
    file: str
    first: int
    end: int
    line: int
    rewrites: int = 0
    head: str = ""
    headed: int = 0


Marks = dict[int, Mark]


def to_offset(marks: Mapping[int, Mark]) -> dict[str, dict[str, str | int]]:
    return {str(inode): asdict(mark) for inode, mark in marks.items()}


def from_offset(offset: Mapping[str, Mapping[str, str | int]]) -> Marks:
    return {int(inode): Mark(**mark) for inode, mark in offset.items()}  # type: ignore[arg-type]


def sizes(path: str, marks: Mapping[int, Mark]) -> dict[int, int]:
    """How long every file to follow is now, by inode: those the path means and those started before that can still be found."""
    return {inode: os.stat(name).st_size for inode, name in _followed(path, marks).items()}


def advance(path: str, marks: Mapping[int, Mark], most: int | None, until: Mapping[int, int] | None = None) -> Marks:
    """The marks after reading on: whole lines only, about `most` bytes in all, no file beyond its size in `until`.

    A file that is gone is followed no more; at least one line is taken where there is one, however long it is.
    """
    left = most
    moved: Marks = {}
    for inode, name in _followed(path, marks).items():
        mark = _current(inode, name, marks.get(inode))
        end = os.stat(name).st_size if until is None else until.get(inode, 0)
        if end > mark.bytes and (left is None or left > 0):
            after = _read_on(name, mark, end, left)
            left = None if left is None else left - (after.bytes - mark.bytes)
            mark = after
        moved[inode] = mark
    gone = marks.get(GONE) or next((mark for inode, mark in marks.items() if inode not in moved and (mark.bytes or mark.rewrites)), None)
    return moved if gone is None else moved | {GONE: Mark(gone.file)}


def lost(marks: Mapping[int, Mark]) -> list[str]:
    """The files of which something was read that cannot be read again: they were removed, emptied or rewritten."""
    return [mark.file for inode, mark in marks.items() if inode == GONE or mark.rewrites > 0 or not _holds(inode, mark)]


def pieces(start: Mapping[int, Mark], end: Mapping[int, Mark]) -> list[Piece]:
    """What lies between two sets of marks, cut into pieces of some 32 MB that can be read side by side."""
    found: list[Piece] = []
    for inode, mark in end.items():
        before = start.get(inode)
        same = before is not None and before.rewrites == mark.rewrites
        first, lines = (before.bytes, before.lines) if before is not None and same else (0, 0)
        if mark.bytes > first:
            found.extend(_cut(Piece(inode, mark.file, first, mark.bytes, lines + 1, mark.rewrites, mark.head, mark.headed)))
    return found


def find(piece: Piece) -> str | None:
    """Where the file of a piece is now; None when it is gone, too short or rewritten since, so that the piece is lost."""
    for name in (piece.file, *_siblings(piece.file)):
        try:
            found = os.stat(name)
            if found.st_ino == piece.inode:
                return name if found.st_size >= piece.end and _head(name, piece.headed) == piece.head else None
        except OSError:
            continue
    return None


def lines_of(name: str, piece: Piece) -> Iterator[list[bytes]]:
    """The lines of a piece without their ends, some megabytes at a time."""
    with open(name, "rb") as file:
        file.seek(piece.first)
        left, rest = piece.end - piece.first, b""
        while left > 0:
            block = file.read(min(_BLOCK, left))
            if not block:
                break
            left -= len(block)
            whole, newline, tail = (rest + block).rpartition(b"\n")
            rest = tail
            if newline:
                yield [line.removesuffix(b"\r") for line in whole.split(b"\n")]
        if rest:
            yield [rest.removesuffix(b"\r")]


def _followed(path: str, marks: Mapping[int, Mark]) -> dict[int, str]:
    """Inode and present name of each file to follow: those started first, so that the rest of a renamed log comes before its successor."""
    names = sorted(glob.glob(str(Path(glob.escape(path), "*")))) if Path(path).is_dir() else matches(path)
    named = {inode: name for name in names if Path(name).is_file() and (inode := _inode(name)) is not None}
    started: dict[int, str] = {}
    for inode, mark in marks.items():
        if inode == GONE:
            continue
        name = named.get(inode) or next((other for other in _siblings(mark.file) if _inode(other) == inode), None)
        if name is not None:
            started[inode] = name
    return started | named


def _siblings(file: str) -> list[str]:
    folder = Path(file).parent
    return sorted(str(other) for other in folder.iterdir()) if folder.is_dir() else []


def _inode(name: str) -> int | None:
    try:
        return os.stat(name).st_ino
    except OSError:
        return None


def _current(inode: int, name: str, mark: Mark | None) -> Mark:
    if mark is None:
        return Mark(name)
    if os.stat(name).st_size < mark.bytes or _head(name, mark.headed) != mark.head:
        return Mark(name, rewrites=mark.rewrites + 1)
    return replace(mark, file=name)


def _holds(inode: int, mark: Mark) -> bool:
    """Whether all that was read of a file can be read again."""
    return mark.bytes == 0 or find(Piece(inode, mark.file, 0, mark.bytes, 1, mark.rewrites, mark.head, mark.headed)) is not None


def _head(name: str, count: int) -> str:
    if count == 0:
        return ""
    with open(name, "rb") as file:
        return hashlib.sha256(file.read(count)).hexdigest()[:16]


def _read_on(name: str, mark: Mark, end: int, most: int | None) -> Mark:
    """The mark behind the last whole line before `end`, or before `most` bytes unless the first line is longer."""
    position, lines, complete = mark.bytes, 0, mark.bytes
    with open(name, "rb") as file:
        file.seek(position)
        while position < end and not (lines and most is not None and position - mark.bytes >= most):
            room = end - position if most is None else min(end - position, most - (position - mark.bytes))
            block = file.read(min(_BLOCK, room if room > 0 else end - position))
            # Beyond the bound only the line that is still open is finished.
            last = block.rfind(b"\n") if room > 0 else block.find(b"\n")
            if not block:
                break
            if last >= 0:
                lines += block.count(b"\n", 0, last + 1)
                complete = position + last + 1
            position += len(block)
    if complete == mark.bytes:
        return mark
    headed = min(_HEAD_BYTES, complete)
    return replace(mark, bytes=complete, lines=mark.lines + lines, headed=headed, head=_head(name, headed))


def _cut(piece: Piece) -> Iterator[Piece]:
    name = find(piece)
    if piece.end - piece.first <= _PIECE_BYTES or name is None:
        yield piece
        return
    rest = piece
    while rest.end - rest.first > _PIECE_BYTES:
        after = _read_on(name, Mark(name, rest.first, rest.line - 1), rest.end, _PIECE_BYTES)
        yield replace(rest, end=after.bytes)
        rest = replace(rest, first=after.bytes, line=after.lines + 1)
    if rest.end > rest.first:
        yield rest

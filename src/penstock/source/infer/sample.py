"""Some bytes of a file, as text: enough to see what it holds, never all of a large one."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import SourceError
from penstock.formats import opener_of

HEAD_BYTES = 4 * 1024 * 1024
TAIL_BYTES = 512 * 1024
_NO_TEXTS: Mapping[bytes, str] = {
    b"PK\x03\x04": "an archive of zip (so is .xlsx): unpack it, or save the sheet as csv",
    b"\x1f\x8b": "packed by gzip: give it a name that ends in .gz",
    b"BZh": "packed by bzip2: give it a name that ends in .bz2",
    b"\xfd7zXZ": "packed by xz: unpack it, or pack it as .gz",
    b"\x28\xb5\x2f\xfd": "packed by zstd: unpack it, or pack it as .gz",
    b"7z\xbc\xaf": "an archive of 7z: unpack it",
    b"\xd0\xcf\x11\xe0": "a workbook of old Excel: save its sheet as csv",
    b"SQLite format 3": "a database of SQLite: export its tables as csv",
    b"Obj\x01": "Avro: write it as parquet or json",
    b"ORC": "ORC: write it as parquet",
}
# What stands in no text, but for the marks of UTF-16.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True)
class Sample:
    """`text` has whole lines only; `tail` is what stands at the end of a file that is longer. `encoding` is as the option wants it."""

    text: str
    tail: str = ""
    encoding: str = "utf-8"
    whole: bool = True


def read_sample(path: Path) -> Sample:
    """The beginning and the end of a file; SourceError where it cannot be read."""
    try:
        opener = opener_of(path)
        if opener is not open:
            with opener(path, "rb") as packed:
                head, tail = packed.read(HEAD_BYTES + 1), b""
        else:
            with path.open("rb") as plain:
                head = plain.read(HEAD_BYTES + 1)
                size = path.stat().st_size
                plain.seek(max(len(head), size - TAIL_BYTES))
                tail = plain.read(TAIL_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read: {error}", hint="is it a whole file, and may it be read?") from error
    _require_text(path, head)
    return sample_of(head[:HEAD_BYTES], tail, whole=len(head) <= HEAD_BYTES)


def _require_text(path: Path, head: bytes) -> None:
    known = next((what for mark, what in _NO_TEXTS.items() if head.startswith(mark)), None)
    if known is not None:
        what, _, remedy = known.partition(": ")
        raise SourceError(f"{path} is {what}, which is not read", hint=remedy)
    if not _encoding(head).startswith("utf-16") and len(_CONTROL.findall(head[:10_000])) > len(head[:10_000]) // 100:
        raise SourceError(f"{path} holds no text", hint="files of json, csv, text and parquet are read")


def sample_of(head: bytes, tail: bytes = b"", *, whole: bool = True) -> Sample:
    encoding = _encoding(head)
    text = _lines_of(head, encoding, last=whole)
    at_end = "" if encoding.startswith("utf-16") else tail.partition(b"\n")[2].decode(encoding, "replace")
    return Sample(text.removeprefix("\ufeff"), at_end, encoding, whole)


def _lines_of(head: bytes, encoding: str, *, last: bool) -> str:
    text = head.decode(encoding, "replace")
    return text if last else text[: text.rfind("\n") + 1] or text


def _encoding(head: bytes) -> str:
    """UTF-8 where it is; else what Windows writes, which has every byte but five."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    for places, name in ((slice(1, 1_000, 2), "utf-16le"), (slice(0, 1_000, 2), "utf-16be")):
        zeros = head[places].count(0)  # without a mark: every second byte of plain letters
        if zeros and zeros * 2 > len(head[places]) and head[:1_000].count(0) < zeros * 1.2:
            return name
    for cut in range(4):  # a sample may end within a character
        try:
            head[: len(head) - cut].decode("utf-8")
            return "utf-8"
        except UnicodeDecodeError:
            continue
    try:
        head.decode("windows-1252")
        return "windows-1252"
    except UnicodeDecodeError:
        return "iso-8859-1"

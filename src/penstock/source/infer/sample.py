"""Some bytes of a file, as text: enough to see what it holds, never all of a large one."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import SourceError

HEAD_BYTES = 4 * 1024 * 1024
TAIL_BYTES = 512 * 1024


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
        if path.name.endswith(".gz"):
            with gzip.open(path, "rb") as packed:
                head, tail = packed.read(HEAD_BYTES + 1), b""
        else:
            with path.open("rb") as plain:
                head = plain.read(HEAD_BYTES + 1)
                size = path.stat().st_size
                plain.seek(max(len(head), size - TAIL_BYTES))
                tail = plain.read(TAIL_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read: {error}", hint="is it a whole file, and may it be read?") from error
    return sample_of(head[:HEAD_BYTES], tail, whole=len(head) <= HEAD_BYTES)


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

"""Damage to one file of a checkpoint, and its repair."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog import Catalog

KINDS = ("offsets", "commits", "metadata", "state")
WAYS = ("cut short", "changed in one byte", "removed")


@dataclass(frozen=True)
class Spoilt:
    """A file that was spoilt, and what it held."""

    path: Path
    way: str
    content: bytes

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name} {self.way}"

    def restore(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self.content)

    def named_in(self, words: str) -> bool:
        """Whether a refusal names the file, with the folder it lies in."""
        return f"{self.path.parent.name}/{self.path.name}" in words and ("given up" in words or "error:" in words)


def spoil(state: Path, choice: int) -> Spoilt | None:
    """Spoil one file of one job's present checkpoint, all of it settled by `choice`; None when there is none.

    What every crash may leave cannot be noticed: the newest commit is never removed, nor the plan of an epoch that was not committed.
    """
    catalog = Catalog(state)
    known = (catalog.life(job.name) for job in sorted((state / "checkpoints").glob("*")))
    lives = [life.checkpoint for life in known if life is not None and (life.checkpoint / "offsets").is_dir()]
    if not lives:
        return None
    life = lives[choice % len(lives)]
    kind, way = KINDS[choice // 7 % len(KINDS)], WAYS[choice // 31 % len(WAYS)]
    path = _newest(life, kind) or _newest(life, "offsets")
    if path is None:
        return None
    if way == "removed" and path.parent.name in ("offsets", "commits"):
        committed = _newest(life, "commits")
        if path.parent.name == "commits" or committed is None:
            way = "cut short"
        else:
            path = life / "offsets" / committed.name
    content = path.read_bytes()
    _spoil(path, way, content)
    return Spoilt(path, way, content)


def _newest(life: Path, kind: str) -> Path | None:
    if kind == "metadata":
        return life / "metadata" if (life / "metadata").is_file() else None
    if kind == "state":
        found = [path for path in life.glob("state/0/*/**/*") if path.is_file() and path.suffix in (".changelog", ".zip", ".delta")]
        return max(found, key=lambda path: (_version(path), str(path)), default=None)
    numbered = [path for path in (life / kind).glob("[0-9]*") if path.name.isdecimal()]
    return max(numbered, key=lambda path: int(path.name), default=None)


def _version(path: Path) -> int:
    number = path.name.partition(".")[0].partition("_")[0]
    return int(number) if number.isdecimal() else -1


def _spoil(path: Path, way: str, content: bytes) -> None:
    if way == "removed":
        path.unlink()
    elif way == "cut short":
        os.truncate(path, len(content) // 2)
    else:
        at = len(content) // 2
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x01]) + content[at + 1 :])

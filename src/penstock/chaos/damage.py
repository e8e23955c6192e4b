"""Damage to one file of a checkpoint, and its repair.

What the file held is kept below the state folder, in `corrupted/`, until it is back: chaos itself may be killed meanwhile.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.catalog import Catalog
from penstock.source.files.log import entry_of

KINDS = ("offsets", "commits", "metadata", "state", "sources")
WAYS = ("cut short", "changed in one byte", "removed")
_SIDE = "corrupted"


@dataclass(frozen=True)
class Corrupted:
    """A file of a state folder that was corrupted, and what it held."""

    state: Path
    path: Path
    way: str
    content: bytes

    def __str__(self) -> str:
        return f"{self._named} {self.way}"

    @property
    def job(self) -> str:
        return self.path.relative_to(self.state / "checkpoints").parts[0]

    @property
    def of_state(self) -> bool:
        """Whether it is read only when there are rows to work on; every other file is read at each start."""
        return self._kind == "state"

    @property
    def _kind(self) -> str:
        _job, _generation, kind, *_ = self.path.relative_to(self.state / "checkpoints").parts
        return kind

    @property
    def _named(self) -> str:
        """By the folder it lies in; the folders of sources have numbers only."""
        return "/".join(self.path.parts[-3 if self._kind == "sources" else -2 :])

    def restore(self) -> None:
        """Put back what it held, unless a run has rewritten the file; and forget the copy."""
        if self.path.parent.is_dir() and _held(self.path) == _damaged(self.content, self.way):
            fresh = self.state / _SIDE / "restored"
            fresh.write_bytes(self.content)
            fresh.replace(self.path)
        shutil.rmtree(self.state / _SIDE)

    def keep(self) -> None:
        """Write down what it held, whole or not at all."""
        copy = _copy(self.state)
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        found = {"path": str(self.path.relative_to(self.state)), "way": self.way, "content": base64.b64encode(self.content).decode()}
        half = copy.with_suffix(".half")
        half.write_text(json.dumps(found), encoding="utf-8")
        half.replace(copy)

    def named_in(self, words: str) -> bool:
        """Whether a refusal names the file, with the folder it lies in."""
        return self._named in words and ("given up" in words or "error:" in words)


def corrupt(state: Path, jobs: Iterable[str], choice: int) -> Corrupted | None:
    """Corrupt one file of the present checkpoint of one of the `jobs`, all of it decided by `choice`; None when there is none.

    What every crash may leave cannot be noticed: the newest commit is never removed, nor the plan of an epoch that was not committed.
    """
    catalog = Catalog(state)
    known = map(catalog.present_generation, sorted(jobs))
    generations = [generation.checkpoint for generation in known if generation is not None and (generation.checkpoint / "offsets").is_dir()]
    if not generations:
        return None
    generation = generations[choice % len(generations)]
    kind, way = KINDS[choice // 7 % len(KINDS)], WAYS[choice // 31 % len(WAYS)]
    path = _newest(generation, kind) or _newest(generation, "offsets")
    if path is None:
        return None
    if way == "removed" and path.parent.name in ("offsets", "commits"):
        committed = _newest(generation, "commits")
        if path.parent.name == "commits" or committed is None:
            way = "cut short"
        else:
            path = generation / "offsets" / committed.name
    corrupted = Corrupted(state, path, way, path.read_bytes())
    corrupted.keep()
    _corrupt(path, way, corrupted.content)
    return corrupted


def restore_last(state: Path) -> Corrupted | None:
    """Restore the file that chaos corrupted and did not come to restore; None when there is none."""
    if not _copy(state).is_file():
        return None
    found = json.loads(_copy(state).read_text(encoding="utf-8"))
    corrupted = Corrupted(state, state / found["path"], found["way"], base64.b64decode(found["content"]))
    corrupted.restore()
    return corrupted


def _copy(state: Path) -> Path:
    return state / _SIDE / "copy.json"


def _held(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _newest(generation: Path, kind: str) -> Path | None:
    if kind == "metadata":
        return generation / "metadata" if (generation / "metadata").is_file() else None
    if kind == "sources":
        return _newest_entry(generation)
    if kind == "state":
        found = [path for path in generation.glob("state/0/*/**/*") if path.is_file() and path.suffix in (".changelog", ".zip", ".delta")]
        return max(found, key=lambda path: (_version(path), str(path)), default=None)
    numbered = [path for path in (generation / kind).glob("[0-9]*") if path.name.isdecimal()]
    return max(numbered, key=lambda path: int(path.name), default=None)


def _newest_entry(generation: Path) -> Path | None:
    """What the newest epoch's files are logged in, of one source of files; none where a later entry repeats it, as nobody would miss it."""
    planned = _newest(generation, "offsets")
    ends = [] if planned is None else planned.read_text(encoding="utf-8").split("\n")[2:]
    for place, end in enumerate(ends):
        log = generation / "sources" / str(place)
        entry = entry_of(end) if end.startswith("{") and "logOffset" in end else None
        later = entry is None or any(_version(path) > entry for path in log.glob("*.compact"))
        found = None if later else next((path for path in (log / f"{entry}", log / f"{entry}.compact") if path.is_file()), None)
        if found is not None:
            return found
    return None


def _version(path: Path) -> int:
    number = path.name.partition(".")[0].partition("_")[0]
    return int(number) if number.isdecimal() else -1


def _corrupt(path: Path, way: str, content: bytes) -> None:
    """At one stroke: whoever is interrupted leaves the file whole or as `_damaged` says."""
    if way == "removed":
        path.unlink()
    elif way == "cut short":
        os.truncate(path, len(content) // 2)
    else:
        at = len(content) // 2
        with path.open("r+b") as file:
            file.seek(at)
            file.write(bytes([content[at] ^ 0x01]))


def _damaged(content: bytes, way: str) -> bytes | None:
    """What a corrupted file holds; None: it is gone."""
    if way == "removed":
        return None
    at = len(content) // 2
    return content[:at] if way == "cut short" else content[:at] + bytes([content[at] ^ 0x01]) + content[at + 1 :]

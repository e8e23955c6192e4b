"""Delivers to a folder: one folder `epoch=N` per epoch with changes, plain files that any reader can open.

Exactly-once: a folder is staged under a hidden name, forced to disk and renamed, so it is there whole or not at all, and its
name is the ledger. The file `_penstock` keeps who writes and how far empty epochs went. Views that only append give their
columns; others also `_op`, `+` or `-`; a complete view keeps its newest result only. When a view begins anew (a new
incarnation), its earlier epochs are removed. A folder that holds epochs without that file, or another view's, is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from penstock.change import Epoch
from penstock.errors import FencedError, SinkError
from penstock.sink.file_rows import ENCODERS
from penstock.sink.spec import SinkSpec

MARKER = "_penstock"


@dataclass(frozen=True)
class Marker:
    """What `_penstock` says. `clearing`: epochs of an earlier incarnation may still lie about."""

    sink: str
    view: str
    incarnation: str
    fence: int
    epoch: int
    clearing: bool = False


class FilesSink:
    """A folder of epochs."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._folder = spec.folder / spec.options["path"]
        self._format = spec.options.get("format", "json")
        self._fence: int | None = None

    def position(self, incarnation: str) -> int | None:
        with self._reported():
            self._folder.mkdir(parents=True, exist_ok=True)
            found = self._read()
            last = -1 if found is None or found.incarnation != incarnation else self._last(found)
            self._fence = found.fence + 1 if found else 1
            kept = found or Marker(self._spec.name, self._spec.view, incarnation, 0, -1)
            self._keep(replace(kept, fence=self._fence))
            return last

    def deliver(self, epoch: Epoch) -> None:
        ops = None if self._spec.append_only else [change.op for change in epoch.changes]
        self._write(epoch, [change.row for change in epoch.changes], ops)

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._write(epoch, rows, None)

    def close(self) -> None:
        pass

    def _write(self, epoch: Epoch, rows: Sequence[str], ops: Sequence[str] | None) -> None:
        if self._fence is None:
            self.position(epoch.incarnation)
        with self._reported():
            marker = self._claim()
            if marker.incarnation != epoch.incarnation or marker.clearing:
                marker = self._begin_anew(replace(marker, incarnation=epoch.incarnation, epoch=-1, clearing=True))
            if epoch.epoch <= self._last(marker):
                return
            if rows or self._spec.complete:
                self._publish(epoch.epoch, ENCODERS[self._format](self._spec.schema, rows, ops))
            if self._spec.complete:
                self._remove(number for number in self._epochs() if number < epoch.epoch)
            self._keep(replace(marker, epoch=epoch.epoch))

    def _publish(self, epoch: int, content: bytes) -> None:
        staged, final = self._folder / f".staged-epoch={epoch}", self._folder / f"epoch={epoch}"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        _write_through(staged / f"part-0.{self._format}", content)
        _force(staged)
        staged.rename(final)
        _force(self._folder)

    def _begin_anew(self, marker: Marker) -> Marker:
        """Remove the earlier incarnation's epochs; the marker says so first, so that a crash half-way is finished later."""
        self._keep(marker)
        self._remove(self._epochs())
        done = replace(marker, clearing=False)
        self._keep(done)
        return done

    def _claim(self) -> Marker:
        marker = self._read()
        if marker is None or marker.fence != self._fence:
            raise FencedError(
                f"sink `{self._spec.name}`: another driver has taken over the folder {self._folder}",
                hint="only one `penstock run` may deliver to it",
            )
        return marker

    def _read(self) -> Marker | None:
        path = self._folder / MARKER
        if not path.exists():
            if self._epochs():
                raise SinkError(
                    f"sink `{self._spec.name}`: {self._folder} holds epochs, but no file {MARKER} that says whose they are",
                    hint="give the sink another `path`, or move the `epoch=...` folders away",
                )
            return None
        try:
            marker = Marker(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise SinkError(f"sink `{self._spec.name}`: {path} cannot be read: {error}", hint="empty the folder, or give another `path`") from error
        if (marker.sink, marker.view) != (self._spec.name, self._spec.view):
            raise SinkError(
                f"sink `{self._spec.name}`: {self._folder} belongs to sink `{marker.sink}` of view `{marker.view}`",
                hint="give each sink a `path` of its own",
            )
        return marker

    def _keep(self, marker: Marker) -> None:
        staged = self._folder / f".{MARKER}"
        _write_through(staged, json.dumps(asdict(marker)).encode())
        staged.replace(self._folder / MARKER)
        _force(self._folder)

    def _last(self, marker: Marker) -> int:
        return marker.epoch if marker.clearing else max(marker.epoch, *self._epochs(), -1)

    def _epochs(self) -> list[int]:
        found = (path.name.removeprefix("epoch=") for path in self._folder.glob("epoch=*"))
        return [int(number) for number in found if number.isdecimal()]

    def _remove(self, epochs: Iterator[int] | Sequence[int]) -> None:
        for number in list(epochs):
            hidden = self._folder / f".gone-epoch={number}"
            shutil.rmtree(hidden, ignore_errors=True)
            (self._folder / f"epoch={number}").rename(hidden)
            shutil.rmtree(hidden)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SinkError(
                f"sink `{self._spec.name}` cannot write to {self._folder}: {error.strerror or error}",
                hint="check that the folder may be written and that the disk has room",
            ) from error


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _force(folder: Path) -> None:
    """Force the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Delivers to a folder: one folder `epoch=N` per epoch with changes, plain files that any reader can open, in folders of partitions if asked.

Exactly-once: a folder is staged under a hidden name, forced to disk and renamed, so it is there whole or not at all, and its
name is the ledger. The file `_penstock` keeps who writes and how far empty epochs went. Views that only append give their
columns; others also `_op`, `+` or `-`; a complete view keeps its newest result only, which takes the place of the last one in
one step. When a view starts over (a new generation), its earlier epochs are removed. A folder that holds epochs without that
file, or another view's, is refused.

Who takes over writes its own name into `_penstock` and removes what others have staged. Everybody stages first, then looks
whether the name is still theirs, then renames: a driver that was replaced in between has nothing left to rename. Removals and
take-overs lock the folder, because a removal that goes on after a take-over could not be distinguished from a new one.

At-least-once and at-most-once: no such file and no forcing to disk; each delivery of an epoch is a file of its own in `epoch=N`.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from penstock.change import Additions, Epoch
from penstock.crash_points import crash_point
from penstock.errors import FencedError, OptionFault, OutageError, RefusalError
from penstock.sink.files.folders import exchange, force, held, write_through
from penstock.sink.files.marker import MARKER, Marker, epochs_in, ledger_of, partitioned, read_marker
from penstock.sink.files.parts import Part, layout_of
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.spec import SinkSpec

_written_to: set[str] = set()  # folders that sinks of this process have written to


class FilesSink:
    """A folder of epochs."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._folder = spec.folder / spec.options["path"]
        self._layout = layout_of(spec)
        self._check_columns()
        self._ledgered = delivery_of(spec.options) == EXACTLY_ONCE
        self._driver = uuid.uuid4().hex[:12]
        self._taken = False
        self._last: int | None = None  # None: look; a folder of many epochs is not listed for each new one
        self.ledger = ledger_of(spec)

    def position(self, generation: str) -> int | None:
        with self._reported():
            if str(self._folder) in _written_to:
                self._folder.stat()  # it was there: what was delivered is in it, and a new one would only hide that
            self._folder.mkdir(parents=True, exist_ok=True)
            _written_to.add(str(self._folder))
            if not self._ledgered:
                self._check_unkept()
                return None
            with held(self._folder):
                new = Marker(self._spec.name, self._spec.view, generation, 0, -1, partition_by=partitioned(self._spec))
                marker = read_marker(self._folder, self._spec) or new
                self._check_partitioning(marker, generation)
                while marker.driver != self._driver:  # the last driver may put its own once more in the very last moment
                    self._put_marker(replace(marker, fence=marker.fence + 1, driver=self._driver))
                    self._sweep()
                    marker = read_marker(self._folder, self._spec) or marker
                self._taken = True
                self._last = self._look(marker)
                return -1 if marker.generation != generation else self._last

    def deliver(self, epoch: Epoch) -> None:
        ops = None if self._spec.append_only else [change.op for change in epoch.changes]
        rows = epoch.changes.rows if isinstance(epoch.changes, Additions) else [change.row for change in epoch.changes]
        self._write(epoch, rows, ops)

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._write(epoch, rows, None)

    def close(self) -> None:
        pass

    def _write(self, epoch: Epoch, rows: Sequence[str], ops: Sequence[str] | None) -> None:
        if not self._ledgered:
            with self._reported():
                self._add(epoch.epoch, rows, ops)
            return
        if not self._taken:
            self.position(epoch.generation)
        with self._reported():
            marker = self._claim()
            last, self._last = self._last, None  # if this fails, it is not known how far it came
            if marker.generation != epoch.generation or marker.clearing:
                cleared = replace(marker, generation=epoch.generation, epoch=-1, clearing=True, partition_by=partitioned(self._spec))
                marker = self._start_over(cleared)
                last = -1
            last = self._look(marker) if last is None else last
            if epoch.epoch > last:
                if rows or self._spec.complete:
                    self._publish(epoch.epoch, list(self._layout.parts(rows, ops)))
                self._keep(replace(marker, epoch=epoch.epoch))
            self._last = max(epoch.epoch, last)

    def _publish(self, epoch: int, parts: Sequence[Part]) -> None:
        staged = self._staged(f"epoch={epoch}")
        self._fill(staged, parts)
        self._claim()
        self._show(staged, epoch)
        force(self._folder)

    def _show(self, staged: Path, epoch: int) -> None:
        """Give a staged folder its name. A complete result takes the place of the last one in one step, so that nobody sees two or none."""
        before = sorted(epochs_in(self._folder))[-1:] if self._spec.complete else []
        final = self._folder / f"epoch={epoch}"
        if not before:
            staged.rename(final)
            return
        old = self._folder / f"epoch={before[0]}"
        if exchange(staged, old):
            if old != final:
                old.rename(final)
            shutil.rmtree(staged)
        else:
            staged.rename(final)
        stale = [number for number in epochs_in(self._folder) if number != epoch]
        if stale:
            with held(self._folder):
                if self._ledgered:
                    self._claim()
                self._remove(stale)

    def _add(self, epoch: int, rows: Sequence[str], ops: Sequence[str] | None) -> None:
        """A delivery without a ledger: one more file, whole when it is seen."""
        if not rows and not self._spec.complete:
            return
        staged = self._staged(f"epoch={epoch}")
        files = self._fill(staged, list(self._layout.parts(rows, ops)))
        if self._spec.complete:
            self._show(staged, epoch)
            return
        final = self._folder / f"epoch={epoch}"
        for file in files:
            folder = final / file.parent.relative_to(staged)
            folder.mkdir(parents=True, exist_ok=True)
            file.rename(folder / f"part-{uuid.uuid4().hex[:12]}{file.suffix}")
        shutil.rmtree(staged)

    def _fill(self, staged: Path, parts: Sequence[Part]) -> list[Path]:
        """The files of an epoch in its staged folder; forced to disk, names and all, where they are to last."""
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        files = [staged / part.place for part in parts]
        for path, part in zip(files, parts, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            middle = part.content.rfind(b"\n", 0, len(part.content) // 2) + 1
            with path.open("wb") as file:
                file.write(part.content[:middle])
                file.flush()
                if path == files[-1]:
                    crash_point("sink.mid-rows")
                file.write(part.content[middle:])
        if self._ledgered:
            for place in (*files, *{staged, *(folder for file in files for folder in file.parents if folder.is_relative_to(staged))}):
                force(place)
        crash_point("sink.before-commit")
        return files

    def _staged(self, name: str) -> Path:
        return self._folder / f".staged-{self._driver}-{name}"

    def _sweep(self) -> None:
        """Take away what other drivers have staged: by one renaming each, so that none can be published half removed."""
        for left in self._folder.glob(".staged-*"):
            gone = self._folder / f".gone-{uuid.uuid4().hex[:12]}"
            try:
                left.rename(gone)
            except FileNotFoundError:  # published in this very moment
                continue
            shutil.rmtree(gone, ignore_errors=True)

    def _start_over(self, marker: Marker) -> Marker:
        """Remove the earlier generation's epochs; the marker says so first, so that a crash half-way is finished later."""
        with held(self._folder):
            self._claim()
            self._put_marker(marker)
            self._remove(epochs_in(self._folder))
            done = replace(marker, clearing=False)
            self._put_marker(done)
            return done

    def _claim(self) -> Marker:
        marker = read_marker(self._folder, self._spec)
        if marker is None:
            self._folder.stat()
        if marker is None or marker.driver != self._driver:
            raise self._fenced()
        return marker

    def _fenced(self) -> FencedError:
        return FencedError(
            f"sink `{self._spec.name}`: another driver has taken over the folder {self._folder}",
            hint="only one `penstock run` may deliver to it",
        )

    def _check_columns(self) -> None:
        if self._layout.format == "csv" and len(self._layout.schema) == 1 and (self._spec.append_only or self._spec.complete):
            raise OptionFault(
                f"sink `{self._spec.name}`: {'the files have' if self._layout.partition else f'view `{self._spec.view}` has'} one column,"
                " and its null would be an empty line in csv, which most readers leave out",
                hint="take format = 'json' or 'parquet', or give the view another column",
            )

    def _check_partitioning(self, marker: Marker, generation: str) -> None:
        """Epochs of one folder are partitioned alike, or no reader makes one table of them."""
        if marker.generation != generation or marker.partition_by == partitioned(self._spec) or not epochs_in(self._folder):
            return
        raise RefusalError(
            f"sink `{self._spec.name}`: the epochs in {self._folder} are partitioned by {marker.partition_by or 'nothing'},"
            f" and `partition_by` says {partitioned(self._spec) or 'nothing'} now",
            hint="give the sink another `path`, or `partition_by` as it was",
        )

    def _check_unkept(self) -> None:
        if (self._folder / MARKER).exists():
            raise RefusalError(
                f"sink `{self._spec.name}`: {self.ledger} says that this folder is delivered to exactly-once, which more files would spoil",
                hint="give the sink another `path`, or ask for delivery = 'exactly-once'",
            )

    def _keep(self, marker: Marker) -> None:
        """Put the marker, unless another driver took over since: it has then removed what was staged."""
        staged = self._staged("marker")
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        write_through(staged / MARKER, json.dumps(asdict(marker)).encode())
        self._claim()
        (staged / MARKER).replace(self._folder / MARKER)
        force(self._folder)
        shutil.rmtree(staged, ignore_errors=True)  # who takes over in this moment may have removed it first

    def _put_marker(self, marker: Marker) -> None:
        """Put the marker while the folder is locked."""
        staged = self._folder / f".{MARKER}"
        write_through(staged, json.dumps(asdict(marker)).encode())
        staged.replace(self._folder / MARKER)
        force(self._folder)

    def _look(self, marker: Marker) -> int:
        """The last epoch that is there: after a crash one more may be than the marker says."""
        return marker.epoch if marker.clearing else max(marker.epoch, *epochs_in(self._folder), -1)

    def _remove(self, epochs: Sequence[int]) -> None:
        for number in epochs:
            hidden = self._folder / f".gone-epoch={number}"
            shutil.rmtree(hidden, ignore_errors=True)
            (self._folder / f"epoch={number}").rename(hidden)
            shutil.rmtree(hidden)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._taken and isinstance(error, FileNotFoundError) and self._folder.is_dir():
                self._claim()  # who took over has removed what was staged
            raise OutageError(
                f"sink `{self._spec.name}` cannot write to {self._folder}: {error.strerror or error}",
                hint="check that the folder may be written and that the disk has room",
            ) from error

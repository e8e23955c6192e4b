"""What every epoch took and by which watermark it judged its rows, for longer than Spark keeps it.

Spark's offset log forgets all but the last hundred epochs. Who later asks which rows were late needs the others too: a line for
each is added to `epochs.log` in the checkpoint when the epoch runs. Past its size the older half is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from penstock.spark.checkpoint.offset_log import LoggedEpoch, read_epoch

NAME = "epochs.log"
BYTES_MAX = 32 * 1024 * 1024


class EpochLog:
    """The log of one checkpoint, as the job that runs it writes it."""

    def __init__(self, checkpoint: Path, bytes_max: int = BYTES_MAX) -> None:
        self._checkpoint, self._path, self._bytes_max = checkpoint, checkpoint / NAME, bytes_max
        self._whole = False
        self._known: list[LoggedEpoch] = []

    def keep(self, epoch: int) -> None:
        """Take over an epoch from Spark's offset log; one that is there already is no harm."""
        logged = read_epoch(self._checkpoint, epoch)
        line = json.dumps(asdict(logged), separators=(",", ":")) + "\n"
        with self._path.open("ab") as log:
            if not self._whole and log.tell() > 0:
                log.write(b"\n")  # a crash may have left half a line
            log.write(line.encode())
            size = log.tell()
        self._whole = True
        if self._known:
            self._known = [*(before for before in self._known if before.epoch < epoch), logged]
        if size > self._bytes_max:
            self._drop_half()

    def upto(self, epoch: int) -> list[LoggedEpoch]:
        """What the epochs up to this one took, which is the last that was kept: read from the disk once, for it is asked in every epoch."""
        self._known = self._known or logged_epochs(self._checkpoint, epoch)
        return self._known

    def _drop_half(self) -> None:
        content = self._path.read_bytes()
        newer = self._path.with_suffix(".new")
        newer.write_bytes(content[content.index(b"\n", len(content) // 2) + 1 :])
        newer.replace(self._path)


def logged_epochs(checkpoint: Path, last: int) -> list[LoggedEpoch]:
    """What the epochs up to `last` took, as far back as it is kept without a gap."""
    kept = kept_epochs(checkpoint)
    found = [_entry(checkpoint, last, kept) or read_epoch(checkpoint, last)]
    while found[-1].epoch > 0 and (before := _entry(checkpoint, found[-1].epoch - 1, kept)) is not None:
        found.append(before)
    return found[::-1]


def _entry(checkpoint: Path, epoch: int, kept: Mapping[int, LoggedEpoch]) -> LoggedEpoch | None:
    return read_epoch(checkpoint, epoch) if (checkpoint / "offsets" / str(epoch)).exists() else kept.get(epoch)


def kept_epochs(checkpoint: Path) -> dict[int, LoggedEpoch]:
    """All that is kept, by epoch; half a line is none."""
    path = checkpoint / NAME
    found: dict[int, LoggedEpoch] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            found[entry["epoch"]] = LoggedEpoch(entry["epoch"], tuple(entry["ends"]), entry["time_ms"], entry["watermark_ms"])
        except (ValueError, KeyError, TypeError):
            continue
    return found

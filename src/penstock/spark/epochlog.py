"""What every epoch took and by which watermark it judged its rows, for longer than Spark keeps it.

Spark's offset log forgets all but the last hundred epochs. Who later asks which rows were late needs the others too: a line for
each is added to `epochs.log` in the checkpoint when the epoch runs. Past its size the older half is dropped.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from penstock.spark.checkpoint import LoggedEpoch, read_epoch

NAME = "epochs.log"
BYTES_MAX = 32 * 1024 * 1024


class EpochLog:
    """The log of one checkpoint, as the job that runs it writes it."""

    def __init__(self, checkpoint: Path, bytes_max: int = BYTES_MAX) -> None:
        self._checkpoint, self._path, self._bytes_max = checkpoint, checkpoint / NAME, bytes_max
        self._whole = False

    def keep(self, epoch: int) -> None:
        """Take over an epoch from Spark's offset log; one that is there already is no harm."""
        line = json.dumps(asdict(read_epoch(self._checkpoint, epoch)), separators=(",", ":")) + "\n"
        with self._path.open("ab") as log:
            if not self._whole and log.tell() > 0:
                log.write(b"\n")  # a crash may have left half a line
            log.write(line.encode())
            size = log.tell()
        self._whole = True
        if size > self._bytes_max:
            self._drop_half()

    def _drop_half(self) -> None:
        content = self._path.read_bytes()
        newer = self._path.with_suffix(".new")
        newer.write_bytes(content[content.index(b"\n", len(content) // 2) + 1 :])
        newer.replace(self._path)


def kept_epochs(checkpoint: Path) -> dict[int, LoggedEpoch]:
    """All that is kept, by epoch; half a line is none."""
    path = checkpoint / NAME
    found: dict[int, LoggedEpoch] = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            told = json.loads(line)
            found[told["epoch"]] = LoggedEpoch(told["epoch"], tuple(told["ends"]), told["time_ms"], told["watermark_ms"])
        except (ValueError, KeyError, TypeError):
            continue
    return found

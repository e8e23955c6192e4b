"""What waits at the brokers now: Spark's own record of it is as old as the newest batch, which may take long."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import PenstockError, StateError
from penstock.observe.progress import Progress
from penstock.source import SourceSpec
from penstock.source.kafka.topic import Admin
from penstock.spark.checkpoint.offset_log import read_epoch, source_order
from penstock.spark.run.job import JobRun

_ASK_EVERY_S = 2.0
_ANSWER_S = 1.0


class Backlog:
    """The streams of one job that come from a broker, by name."""

    def __init__(self, specs: Mapping[str, SourceSpec]) -> None:
        self._specs = specs
        self._admins: dict[str, Admin] = {}
        self._asked_at = float("-inf")
        self._latest: dict[str, dict[int, int]] = {}
        self._read: dict[str, dict[int, int]] = {}
        self._epoch: int | None = None

    def shown(self, progress: Progress, run: JobRun) -> Progress:
        """The progress with what waits now, where that is known: what the topic holds less what finished batches have read."""
        if not self._specs or run.query is None or not progress.streams:
            return progress
        if progress.epoch != self._epoch:
            self._read, self._epoch = self._ends(run, progress.epoch), progress.epoch
        if time.monotonic() - self._asked_at > _ASK_EVERY_S:
            self._ask()
        streams = tuple(
            replace(intake, lag=waiting(self._latest[intake.stream], self._read[intake.stream]))
            if intake.stream in self._latest and intake.stream in self._read
            else intake
            for intake in progress.streams
        )
        known = [intake.lag for intake in streams if intake.lag is not None]
        return replace(progress, streams=streams, lag=sum(known) if known else None)

    def _ask(self) -> None:
        for name, spec in self._specs.items():
            try:
                if name not in self._admins:
                    self._admins[name] = Admin(spec, _ANSWER_S)
                self._latest[name] = {number: end for number, (_, end) in self._admins[name].topic().held.items()}
            except PenstockError:  # a broker that is away is reported by the job; what was known last stays
                continue
        self._asked_at = time.monotonic()

    def _ends(self, run: JobRun, epoch: int) -> dict[str, dict[int, int]]:
        """How far the finished epochs have read, by the offset log."""
        try:
            ends = read_epoch(run.checkpoint, epoch).ends if epoch >= 0 else ()
        except StateError:  # damaged, or already forgotten: the job itself will say what it makes of that
            return {}
        found: dict[str, dict[int, int]] = {}
        for name, end in zip(source_order(list(run.occurrences), len(ends)), ends, strict=False):
            offsets = None if end is None else json.loads(end)
            if name in self._specs and isinstance(offsets, dict):
                found[name] = {int(part): int(at) for parts in offsets.values() for part, at in parts.items()}
        return found


def waiting(latest: Mapping[int, int], read: Mapping[int, int]) -> int:
    """Records of all partitions that were not read yet."""
    return sum(max(0, end - read.get(number, 0)) for number, end in latest.items())

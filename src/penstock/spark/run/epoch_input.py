"""Which part of each stream an epoch reads, and by which clock its records are judged: from the log in its checkpoint."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.source import Span
from penstock.spark.checkpoint.epoch_log import EpochLog
from penstock.spark.checkpoint.offset_log import last_epoch, log_of, read_epoch, source_order, span_of
from penstock.spark.checkpoint.positions import clock_at
from penstock.spark.compile.frames import AppContext
from penstock.store.protocol import Store


class EpochInput:
    """What the epochs of one checkpoint read."""

    def __init__(self, app: AppContext, store: Store, checkpoint: Path, occurrences: tuple[str, ...]) -> None:
        self._app, self._store, self._checkpoint, self._occurrences = app, store, checkpoint, occurrences
        self._log = EpochLog(checkpoint)
        self._timed = [name for name in dict.fromkeys(occurrences) if app.declared.streams[name].event_time]

    def keep(self, number: int) -> None:
        """Keep the epoch's entry of the log, where records are judged by a clock or joined with a version of a table: Spark removes old ones."""
        if self._timed or (self._app.versions is not None and self._app.versions.used):
            self._log.keep(number)

    def spans(self, number: int, *, from_start: bool) -> dict[str, Span]:
        """What the epoch reads of each stream; `from_start`: it and all before it."""
        logged = read_epoch(self._checkpoint, number)
        names = source_order(list(self._occurrences), len(logged.ends))
        return {name: span_of(self._checkpoint, number, names, index, from_start=from_start) for index, name in enumerate(names)}

    def clocks(self, number: int) -> dict[str, str]:
        """A record is judged by the clock of its own epoch; where a stream has no dead letter none was dated ahead, and any later clock will do."""
        logged = read_epoch(self._checkpoint, number)
        found = dict.fromkeys(self._timed, f"timestamp_millis({logged.time_ms})")
        names = source_order(list(self._occurrences), len(logged.ends))
        for index, name in enumerate(names):
            if name in found and self._store.dead_count(name):
                source = log_of(self._checkpoint, names, index)
                found[name] = clock_at(self._app.declared.streams[name].options, source, index, self._log.upto(number))
        return found

    def read_last(self, tables: Iterable[str], *, from_start: bool) -> dict[str, Span]:
        """What the last epoch reads: all of `tables`, and its part of each stream."""
        number = last_epoch(self._checkpoint / "offsets")
        whole = {name: Span() for name in tables if name in self._app.declared.tables}
        return whole | (self.spans(number, from_start=from_start) if number >= 0 else {})

"""Prints changes to standard output, one line each: `+ view {...}`. At-least-once, or at-most-once."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from penstock.change import Epoch
from penstock.crash_points import crash_point
from penstock.errors import SinkError
from penstock.sink.spec import SinkSpec


class ConsoleSink:
    """For eyes and pipes; it remembers nothing."""

    ledger = ""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec

    def position(self, generation: str) -> int | None:
        return None

    def deliver(self, epoch: Epoch) -> None:
        self._print([f"{change.op} {epoch.view} {change.row}\n" for change in epoch.changes])

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._print([f"+ {epoch.view} {row}\n" for row in rows])

    def close(self) -> None:
        pass

    def _print(self, lines: Sequence[str]) -> None:
        try:
            middle = len(lines) // 2
            sys.stdout.write("".join(lines[:middle]))
            crash_point("sink.mid-rows")
            sys.stdout.write("".join(lines[middle:]))
            crash_point("sink.before-commit")
            sys.stdout.flush()
        except OSError as error:
            raise SinkError(f"sink `{self._spec.name}` cannot print: {error.strerror}") from error

"""What a sink is given, and what it does: the two values that `delivery` and the connectors share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from penstock.change import Epoch
from penstock.schema import Schema


@dataclass(frozen=True)
class SinkSpec:
    """A sink's name, its view, plain option values (secrets already read), the view's columns and key, the app's folder and name.

    An `append_only` view never takes a row back. A `complete` one delivers its whole result with every epoch.
    """

    name: str
    view: str
    options: Mapping[str, str] = field(repr=False)
    schema: Schema
    key: tuple[str, ...] | None
    append_only: bool
    complete: bool
    folder: Path
    app: str = "app"


class SinkWriter(Protocol):
    """An open sink. Epochs come in order; after a failure the last ones may come again.

    `ledger` says where its ledger is; where it keeps none, where one would be that an earlier guarantee for the same place kept.
    """

    ledger: str

    def position(self, generation: str) -> int | None:
        """The last epoch in the sink's own ledger, -1 if none; None: it has no ledger, the results store keeps its place.

        A sink with a ledger is taken over: an older driver that still writes to it is fenced.
        """

    def deliver(self, epoch: Epoch) -> None:
        """Write the changes of one epoch; SinkError when they are not all there afterwards."""

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        """Write the whole result as it is after `epoch`."""

    def close(self) -> None: ...

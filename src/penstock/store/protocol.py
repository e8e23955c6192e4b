"""The results store: what every view holds now, what changed in each epoch, and which epoch is the last.

One transaction per epoch carries the rows, the change log and the ledger, so after any crash either all of an epoch is
there or none of it. The change log is the outbox of the sinks: they deliver from it, and a replay repeats what was computed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import NamedTuple, Protocol

from penstock.change import Epoch
from penstock.store.difference import Fresh
from penstock.store.writer import EpochWriter


class AlreadyCommitted(Exception):
    """The epoch is in the ledger: a replay has nothing to write. Not an error."""


class RowOwner(NamedTuple):
    """Whose rows a job's views hold: of which generation, of which state folder, and where that folder was then."""

    generation: str
    folder: str
    place: str


class OwnedByAnother(Exception):
    """The rows are of another generation than this driver's, and not its to go on with or to replace."""

    def __init__(self, held: RowOwner) -> None:
        super().__init__(str(held))
        self.held = held


class Position(NamedTuple):
    """Where a job stands: `fence` is this driver's token, `epoch` the last one committed (-1: none)."""

    fence: int
    epoch: int


class FenceToken(NamedTuple):
    """A driver's right to write a job in one of its generations; it ends when another driver takes over."""

    job: str
    generation: str
    fence: int


class DeadRow(NamedTuple):
    """A record that did not decode: where it was, why, its bytes, and when it was first seen (ISO 8601, UTC)."""

    position: str
    reason: str
    raw: bytes
    seen_at: str


class Store(Protocol):
    """A results store; one object serves all threads of a process."""

    def take_over(self, job: str, generation: str, *, folder: str = "", place: str = "") -> Position:
        """Make this driver the only one that may write `job`; its place in this generation, -1 in a new one.

        `folder` names the state folder that this generation is of, `place` says where it lies. OwnedByAnother, and nothing taken over,
        when this generation has epochs but the rows are of another one by now; and when it is new but the rows are of another state folder.
        """

    def committed(self, job: str, generation: str) -> int:
        """The last epoch in the ledger, -1 if there is none; takes nothing over."""

    def check_fence(self, token: FenceToken) -> None:
        """FencedError when another driver took over."""

    def open_epoch(
        self, job: str, generation: str, fence: int, epoch: int, own: Mapping[str, str] = MappingProxyType({})
    ) -> AbstractContextManager[EpochWriter]:
        """One transaction. Raises FencedError when another driver took over, AlreadyCommitted when the epoch is in the ledger.

        `own` names the generation of those views that have another one than the job.
        """

    def amend(self, token: FenceToken, epoch: int, own: Mapping[str, str] = MappingProxyType({})) -> AbstractContextManager[EpochWriter]:
        """One more transaction as of the last committed epoch, for views that come and go. Raises FencedError when another driver took over."""

    def swap(self, job: str, beside: str) -> None:
        """The view `beside` and its job become the view `job` and its job, whose rows, change log and ledger are gone; in one transaction."""

    def drop_view(self, view: str) -> None:
        """Forget all there is of a view."""

    def drop_job(self, job: str) -> None:
        """Forget a job that is no more: its ledger, its fence, and whose rows its views hold."""

    def rows(self, view: str) -> Iterator[str]:
        """The view's rows at one moment, in order of insertion."""

    def held(self, view: str, parts: Sequence[str] | None = None) -> list[Fresh]:
        """The view's rows, or those of its `parts`, with their keys and partitions, in order of insertion."""

    def held_by_key(self, view: str, keys: Sequence[str]) -> list[Fresh]:
        """The view's rows that have one of these keys."""

    def index(self, view: str, columns: Sequence[str]) -> None:
        """Make `held_like` fast for these columns of the view."""

    def held_like(
        self, view: str, columns: Sequence[str], rows: Sequence[str], others: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    ) -> list[Fresh]:
        """The view's rows that have the same values as one of `rows` in all of the columns, in order of insertion.

        `others` are more rows to look for, each list with what the columns are called in it.
        """

    def count(self, view: str) -> int: ...

    def epochs(self, view: str, after: int, generation: str) -> Generator[Epoch, None, None]:
        """The outbox: the view's logged epochs later than `after`, in order; the store is being read until the generator ends or is closed."""

    def change_count(self, view: str, after: int, generation: str) -> int:
        """How many changes are logged for the epochs later than `after`."""

    def replaced(self, view: str, generation: str, epoch: int) -> dict[str, str]:
        """The rows that others took the place of in a logged epoch of a keyed view, by their keys."""

    def delivered(self, sink: str, generation: str) -> int:
        """The last epoch that was confirmed for a sink; -1 if none. A sink with a ledger of its own may be further."""

    def set_delivered(self, token: FenceToken, sink: str, epoch: int, *, generation: str | None = None, durable: bool = False) -> None:
        """Confirm an epoch of the token's generation, or of the view's own; a place never goes back. FencedError when another driver took over.

        `durable`: so that even a loss of power does not undo it.
        """

    def trim(self, view: str, keep_epochs: int, below: int) -> None:
        """Drop logged epochs earlier than `below`, but never the newest `keep_epochs`, nor the newest of all."""

    def trimmed(self, view: str, generation: str) -> int:
        """The last epoch that was dropped from the view's log; -1 if none."""

    def latest(self, view: str) -> tuple[str, int] | None:
        """The generation whose rows the view holds, and its newest logged epoch; None: it has none."""

    def snapshot(self, view: str, generation: str | None = None, *, limit: int | None = None, offset: int = 0) -> Epoch:
        """The view as of its newest logged epoch, every row as an addition; without a generation, of the one whose rows are there.

        All of its rows, or `limit` of them after the first `offset`, in order of insertion.

        A view that has no epoch yet is empty as of epoch -1 of the generation ``.
        """

    def put_schema(self, view: str, ddl: str, key: tuple[str, ...] | None) -> None:
        """Remember the view's columns, and make them readable by plain SQL under the view's own name."""

    def schema(self, view: str) -> tuple[str, tuple[str, ...] | None] | None: ...

    def views(self) -> list[str]: ...

    def add_dead(self, stream: str, rows: Iterable[tuple[str, str, bytes, str]]) -> int:
        """Keep dead letters (position as JSON, reason, raw, seen at); one record at a position counts once. How many were new."""

    def dead(self, stream: str) -> Iterator[DeadRow]: ...

    def drop_dead(self, stream: str, positions: Sequence[str]) -> int:
        """Forget dead letters that are none any more, all at once. How many there were."""

    def dead_count(self, stream: str) -> int: ...

    def note(self, name: str, value: str) -> None:
        """A small durable fact."""

    def noted(self, name: str) -> str | None: ...

    def drop_note(self, name: str) -> None: ...

    def notes(self) -> dict[str, str]:
        """All small facts by name."""

    def close(self) -> None: ...

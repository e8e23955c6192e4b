"""The results store: what every view holds now, what changed in each epoch, and which epoch is the last.

One transaction per epoch carries the rows, the change log and the ledger, so after any crash either all of an epoch is
there or none of it. The change log is the outbox of the sinks: they deliver from it, and a replay repeats what was computed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from penstock.change import Epoch


class AlreadyCommitted(Exception):
    """The epoch is in the ledger: a replay has nothing to write. Not an error."""


class Held(NamedTuple):
    """Whose rows a job's views hold: of which life, of which state folder, and where that folder was then."""

    incarnation: str
    folder: str
    place: str


class HeldByAnother(Exception):
    """The rows are of another life than this driver's, and not its to go on with or to replace."""

    def __init__(self, held: Held) -> None:
        super().__init__(str(held))
        self.held = held


class Position(NamedTuple):
    """Where a job stands: `fence` is this driver's turn, `epoch` the last one committed (-1: none)."""

    fence: int
    epoch: int


class Turn(NamedTuple):
    """A driver's right to write a job in one of its lives; it ends when another driver takes over."""

    job: str
    incarnation: str
    fence: int


class DeadRow(NamedTuple):
    """A record that did not decode: where it was, why, its bytes, and when it was first seen (ISO 8601, UTC)."""

    position: str
    reason: str
    raw: bytes
    seen_at: str


class EpochWriter(Protocol):
    """Writes of one epoch; they become visible together, with the ledger, when the epoch is closed.

    A view whose writes are logged (`log`) gets an epoch in its change log even when nothing changed. Only real changes
    are logged: a row equal to the one that is there is none. `parts` gives each row's partition text, by which `rows` and
    `replace` can be restricted.
    """

    def upsert(
        self, view: str, pairs: Sequence[tuple[str, str]], gone: Sequence[str] = (), *, parts: Sequence[str] | None = None, log: bool = True
    ) -> None:
        """A keyed view: put (key, row) pairs, the last of a key wins; remove the keys in `gone` that are not put."""

    def upsert_bag(
        self, view: str, pairs: Sequence[tuple[str, str]], gone: Sequence[str] = (), *, parts: Sequence[str] | None = None, log: bool = True
    ) -> None:
        """A view without a key whose rows are tracked by a hidden one: as `upsert`, but the log takes the old row back and adds the new."""

    def append(self, view: str, rows: Sequence[str], *, parts: Sequence[str] | None = None, log: bool = True) -> None:
        """A view without a key: add one copy of each row."""

    def replace(
        self,
        view: str,
        rows: Sequence[tuple[str | None, str]],
        *,
        part: Sequence[str] | None = None,
        parts: Sequence[str] | None = None,
        ordered: bool = False,
        log: bool = True,
    ) -> None:
        """The view's whole result, or that of its `parts`, is now `rows` of (key or None, row); the difference is logged.

        Rows without keys are compared as a bag: what occurs twice stays twice. `part[i]` is the partition of `rows[i]`.
        `ordered` keeps the store's order equal to that of `rows` (the whole view only).
        """

    def rows(self, view: str, parts: Sequence[str] | None = None) -> list[str]:
        """The rows as this transaction sees them, in order of insertion."""

    def reset(self, view: str) -> None:
        """Forget the view's rows and its change log."""


class Store(Protocol):
    """A results store; one object serves all threads of a process."""

    def take_over(self, job: str, incarnation: str, *, folder: str = "", place: str = "") -> Position:
        """Make this driver the only one that may write `job`; its place in this incarnation, -1 in a new one.

        `folder` names the state folder that this life is of, `place` says where it lies. HeldByAnother, and nothing taken over, when this life
        has epochs but the rows are of another one by now; and when it is new but the rows are of another state folder.
        """

    def committed(self, job: str, incarnation: str) -> int:
        """The last epoch in the ledger, -1 if there is none; takes nothing over."""

    def check_turn(self, turn: Turn) -> None:
        """FencedError when another driver took over."""

    def open_epoch(self, job: str, incarnation: str, fence: int, epoch: int) -> AbstractContextManager[EpochWriter]:
        """One transaction. Raises FencedError when another driver took over, AlreadyCommitted when the epoch is in the ledger."""

    def rows(self, view: str) -> Iterator[str]:
        """The view's rows at one moment, in order of insertion."""

    def count(self, view: str) -> int: ...

    def epochs(self, view: str, after: int, incarnation: str) -> Generator[Epoch, None, None]:
        """The outbox: the view's logged epochs later than `after`, in order; the store is being read until the generator ends or is closed."""

    def delivered(self, sink: str, incarnation: str) -> int:
        """The last epoch that was confirmed for a sink; -1 if none. A sink with a ledger of its own may be further."""

    def set_delivered(self, turn: Turn, sink: str, epoch: int, *, durable: bool = False) -> None:
        """Confirm an epoch of the turn's incarnation; a place never goes back. FencedError when another driver took over.

        `durable`: so that even a loss of power does not undo it.
        """

    def trim(self, view: str, keep_epochs: int, below: int) -> None:
        """Drop logged epochs earlier than `below`, but never the newest `keep_epochs`."""

    def trimmed(self, view: str, incarnation: str) -> int:
        """The last epoch that was dropped from the view's log; -1 if none."""

    def snapshot(self, view: str, incarnation: str) -> Epoch:
        """The whole view as of its newest logged epoch, every row as an addition."""

    def put_schema(self, view: str, ddl: str, key: tuple[str, ...] | None) -> None:
        """Remember the view's columns, and make them readable by plain SQL under the view's own name."""

    def schema(self, view: str) -> tuple[str, tuple[str, ...] | None] | None: ...

    def views(self) -> list[str]: ...

    def add_dead(self, stream: str, rows: Iterable[tuple[str, str, bytes, str]]) -> int:
        """Keep dead letters (position as JSON, reason, raw, seen at); one record at a position counts once. How many were new."""

    def dead(self, stream: str) -> Iterator[DeadRow]: ...

    def dead_count(self, stream: str) -> int: ...

    def note(self, name: str, value: str) -> None:
        """A small durable fact."""

    def noted(self, name: str) -> str | None: ...

    def close(self) -> None: ...

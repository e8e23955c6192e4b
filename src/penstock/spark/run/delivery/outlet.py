"""A sink as a job sees it: opened, taken over, and found where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import RefusalError
from penstock.plan.model.declare import Emit, Sink
from penstock.share.jobs import Member
from penstock.sink.open import SinkWriter, open_sink
from penstock.sink.options import AT_MOST_ONCE, delivery_of
from penstock.spark.checkpoint.agreement import check_place, furthest, names_in_store, nearest
from penstock.spark.compile.frames import AppContext
from penstock.store.protocol import FenceToken, Store


@dataclass(frozen=True)
class Seen:
    """A view as its sinks see it: its columns, and the generation that its change log goes by."""

    member: Member
    columns: str
    generation: str


@dataclass
class Outlet:
    """A sink, the view it delivers, and how far it is in that view's `generation`."""

    sink: Sink
    known_as: str
    member: Member
    generation: str
    columns: str
    writer: SinkWriter
    position: int
    fences: bool
    """Whether the sink itself refuses a driver that was replaced."""
    before: bool
    """Whether an epoch is confirmed before it is delivered."""
    joined: bool = False

    @property
    def name(self) -> str:
        return self.sink.name

    @property
    def complete(self) -> bool:
        return self.member.view.emit is Emit.COMPLETE

    def serves(self, sink: Sink, seen: Seen) -> bool:
        """Whether it can go on for a sink of a view as that is now."""
        same = (self.sink, self.generation, self.columns, self.member.key) == (sink, seen.generation, seen.columns, seen.member.key)
        return same and self.member.append_only == seen.member.append_only


class OutletOpener:
    """Opens the sinks of one job, for the driver that holds `token`; `known_as` is what sinks know the app by."""

    def __init__(self, store: Store, token: FenceToken, checkpoint: Path, known_as: str) -> None:
        self._store, self._fence_token, self._checkpoint, self._known_as = store, token, checkpoint, known_as

    def open(self, app: AppContext, sink: Sink, seen: Seen, members: Sequence[Member], ledger: int) -> Outlet:
        """The sink where it stands; StateError or RefusalError where it cannot go on from there. `members` are all views of the job."""
        member, generation = seen.member, seen.generation
        options = {key.lower(): value for key, value in app.options(sink.options).items()}
        self._store.check_fence(self._fence_token)  # opening takes the sink over: a driver that hung while it started must not
        writer = open_sink(
            sink.name,
            member.name,
            options,
            seen.columns,
            member.key,
            append_only=member.append_only,
            complete=member.view.emit is Emit.COMPLETE,
            folder=app.declared.folder,
            app=self._known_as,
        )
        try:
            own = writer.position(generation)
            names = names_in_store(sink.name, member.name, options, writer.ledger)
            known_as = names[0] if own is None else names[1]
            if own is not None:
                self._check_same_view(sink.name, seen, options, writer.ledger, members)
            confirmed = max(self._store.delivered(known, generation) for known in names)
            position = confirmed if own is None else own
            place = writer.ledger if own is not None else f"penstock_delivered, sink `{sink.name}`"
            reached, least = furthest(ledger, stored=member.stored), nearest(ledger, stored=member.stored)
            check_place(sink.name, member.name, place, at=position, confirmed=confirmed, ledger=reached, checkpoint=self._checkpoint, least=least)
        except BaseException:
            writer.close()
            raise
        before = delivery_of(options) == AT_MOST_ONCE
        return Outlet(sink, known_as, member, generation, seen.columns, writer, position, fences=own is not None, before=before)

    def _check_same_view(self, name: str, seen: Seen, options: Mapping[str, str], ledger: str, members: Sequence[Member]) -> None:
        """Views of one job share its epochs: the ledger of another one's sink would be taken for this one's."""
        for other in members:
            known_as = names_in_store(name, other.name, options, ledger)[1]
            if other is not seen.member and self._store.delivered(known_as, seen.generation) >= 0:
                raise RefusalError(
                    f"sink `{name}` has delivered view `{other.name}` to the place where it is to deliver view `{seen.member.name}` now ({ledger})",
                    hint="give it another name and another place: it then begins with the view as it stands",
                )

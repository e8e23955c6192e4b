"""Delivery: every sink of a job gets the epochs that the store has and the sink has not, in order.

At-least-once: delivered, then confirmed in the store. At-most-once: confirmed first, so what fails or crashes in between is lost
and never repeated. Exactly-once: the sink's own ledger decides; the store's copy of it is there to notice a sink that lost epochs.
A sink without a ledger cannot fence a driver that was replaced: there the store's fence is asked before every delivery.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

from penstock.catalog import Catalog, Incarnation
from penstock.change import Change, Epoch
from penstock.errors import RefusalError
from penstock.plan.declare import Emit
from penstock.points import reach
from penstock.share.jobs import Job, Member
from penstock.sink.delivery import SinkWriter, open_sink
from penstock.sink.options import AT_MOST_ONCE, delivery_of
from penstock.sink.store import Position, Store, Turn
from penstock.spark.agreement import check_place, furthest, names_in_store, nearest
from penstock.spark.frames import App

log = logging.getLogger("penstock.sink")


@dataclass
class Outlet:
    """A sink, the view it delivers, and how far it is."""

    name: str
    known_as: str
    member: Member
    writer: SinkWriter
    position: int
    fences: bool
    """Whether the sink itself refuses a driver that was replaced."""
    before: bool
    """Whether an epoch is confirmed before it is delivered."""
    joined: bool = False

    @property
    def complete(self) -> bool:
        return self.member.view.emit is Emit.COMPLETE


class Outbox:
    """The sinks of one job."""

    def __init__(self, app: App, job: Job, life: Incarnation, store: Store, schemas: dict[str, str], position: Position) -> None:
        self._store, self._incarnation, self._checkpoint, self._ledger = store, life.name, life.checkpoint, position.epoch
        self._turn = Turn(job.name, life.name, position.fence)
        self._keep_epochs = app.settings.number("changes_kept_epochs")
        self._members = job.members
        self._deliveries = 0
        self._known_as = Catalog(app.state).app(app.declared.name)
        self._outlets: list[Outlet] = []
        try:
            for member in job.members:
                for sink in member.sinks:
                    self._outlets.append(self._open(app, member, sink.name, schemas[member.name]))
        except BaseException:
            self.close()
            raise

    def _open(self, app: App, member: Member, name: str, ddl: str) -> Outlet:
        sink = app.declared.sinks[name]
        options = {key.lower(): value for key, value in app.options(sink.options).items()}
        self._store.check_turn(self._turn)  # opening takes the sink over: a driver that hung while it started must not
        writer = open_sink(
            name,
            member.name,
            options,
            ddl,
            member.key,
            append_only=member.append_only,
            complete=member.view.emit is Emit.COMPLETE,
            folder=app.declared.folder,
            app=self._known_as,
        )
        try:
            own = writer.position(self._incarnation)
            names = names_in_store(name, member.name, options, writer.ledger)
            known_as = names[0] if own is None else names[1]
            if own is not None:
                self._check_same_view(name, member, options, writer.ledger)
            confirmed = max(self._store.delivered(known, self._incarnation) for known in names)
            position = confirmed if own is None else own
            place = writer.ledger if own is not None else f"penstock_delivered, sink `{name}`"
            reached, least = furthest(self._ledger, stored=member.stored), nearest(self._ledger, stored=member.stored)
            check_place(name, member.name, place, at=position, confirmed=confirmed, ledger=reached, checkpoint=self._checkpoint, least=least)
        except BaseException:
            writer.close()
            raise
        before = delivery_of(options) == AT_MOST_ONCE
        return Outlet(name, known_as, member, writer, position, fences=own is not None, before=before)

    def _check_same_view(self, name: str, member: Member, options: Mapping[str, str], ledger: str) -> None:
        """Views of one job share its epochs: the ledger of another one's sink would be taken for this one's."""
        for other in self._members:
            known_as = names_in_store(name, other.name, options, ledger)[1]
            if other is not member and self._store.delivered(known_as, self._incarnation) >= 0:
                raise RefusalError(
                    f"sink `{name}` has delivered view `{other.name}` to the place where it is to deliver view `{member.name}` now ({ledger})",
                    hint="give it another name and another place: it then begins with the view as it stands",
                )

    def deliver(self, fresh: Epoch | None = None) -> None:
        """Bring every sink up to the newest epoch of its view; now and then trim what all of them have, for to ask is a transaction for each view.

        `fresh` is an epoch that was logged just now: a sink that has all before it gets it without a second reading.
        """
        for outlet in self._outlets:
            if fresh is not None and fresh.view == outlet.member.name and outlet.joined and outlet.position == fresh.epoch - 1:
                self._give(outlet, fresh)
            elif outlet.member.stored:
                self._catch_up(outlet)
        due = self._deliveries % max(1, self._keep_epochs // 10) == 0
        for member in self._members if due else ():
            if member.stored:
                positions = [outlet.position for outlet in self._outlets if outlet.member is member]
                self._store.trim(member.name, self._keep_epochs, min(positions) + 1 if positions else 2**62)
        self._deliveries += 1

    def delivers(self, view: str) -> bool:
        return any(outlet.member.name == view for outlet in self._outlets)

    def _catch_up(self, outlet: Outlet) -> None:
        if not outlet.joined:
            self._join(outlet)
        # Closed also when a sink fails: the error that is kept would keep the store's reading transaction open, for weeks.
        with closing(self._store.epochs(outlet.member.name, outlet.position, self._incarnation)) as missed:
            for epoch in _as_one(missed) if outlet.complete else missed:
                self._give(outlet, epoch)

    def _join(self, outlet: Outlet) -> None:
        """A sink that is new when the log no longer reaches back gets the view as it stands; one that was away too long is refused."""
        dropped = self._store.trimmed(outlet.member.name, self._incarnation)
        if outlet.position < 0 <= dropped:
            self._give(outlet, self._store.snapshot(outlet.member.name, self._incarnation))
        elif outlet.position < dropped:
            raise RefusalError(
                f"sink `{outlet.name}` has view `{outlet.member.name}` up to epoch {outlet.position}; changes up to {dropped} are not kept any more",
                hint="give the sink another name and place: it then begins with the view as it stands",
            )
        outlet.joined = True

    def _give(self, outlet: Outlet, epoch: Epoch) -> None:
        if outlet.before:
            self._confirm(outlet, epoch.epoch)
        elif not outlet.fences:
            self._store.check_turn(self._turn)
        reach("sink.before-begin")
        try:
            if outlet.complete:
                outlet.writer.deliver_complete(epoch, list(self._store.rows(outlet.member.name)))
            else:
                outlet.writer.deliver(epoch)
        except Exception:
            if outlet.before:
                log.warning("sink %s: what epoch %d had not yet delivered is lost: at-most-once does not repeat", outlet.name, epoch.epoch)
            raise
        reach("sink.after-commit")
        if not outlet.before:
            self._confirm(outlet, epoch.epoch)

    def pass_on(self, epoch: Epoch) -> None:
        """An epoch of a view that keeps no store goes straight to its sinks."""
        for outlet in self._outlets:
            if outlet.member.name == epoch.view and outlet.position < epoch.epoch:
                self._give(outlet, epoch)

    def _confirm(self, outlet: Outlet, epoch: int) -> None:
        self._store.set_delivered(self._turn, outlet.known_as, epoch, durable=outlet.before)
        outlet.position = epoch

    def close(self) -> None:
        for outlet in self._outlets:
            outlet.writer.close()


def _as_one(missed: Iterable[Epoch]) -> Iterator[Epoch]:
    """The newest epoch of a complete view, with all rows that left since: only its whole result is still known, not that of those before."""
    newest, gone = None, list[Change]()
    for newest in missed:
        gone += [change for change in newest.changes if change.op == "-"]
    if newest is not None:
        yield newest._replace(changes=gone)

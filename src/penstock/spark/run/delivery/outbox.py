"""Delivery: every sink of a job gets the epochs that the store has and the sink has not, in order.

At-least-once: delivered, then confirmed in the store. At-most-once: confirmed first, so what fails or crashes in between is lost
and never repeated. Exactly-once: the sink's own ledger decides; the store's copy of it is there to notice a sink that lost epochs.
A sink without a ledger cannot fence a driver that was replaced: there the store's fence is asked before every delivery.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from penstock.catalog import Catalog, Generation
from penstock.change import Change, Epoch
from penstock.crash_points import crash_point
from penstock.errors import RefusalError
from penstock.share.jobs import Job, Member
from penstock.spark.compile.frames import AppContext
from penstock.spark.run.delivery.outlet import Outlet, OutletOpener, Seen
from penstock.store.protocol import FenceToken, Position, Store

log = logging.getLogger("penstock.sink")


class Outbox:
    """The sinks of one job. Its views come and go: `look_at` says which there are."""

    def __init__(self, app: AppContext, job: Job, generation: Generation, store: Store, position: Position) -> None:
        self._store, self._fence_token = store, FenceToken(job.name, generation.name, position.fence)
        self._opener = OutletOpener(store, self._fence_token, generation.checkpoint, Catalog(app.state).app(app.declared.name))
        self._keep_epochs = app.settings.number("changes_kept_epochs")
        self._members: tuple[Member, ...] = ()
        self._deliveries = 0
        self._outlets: list[Outlet] = []

    def opened(self, app: AppContext, views: Sequence[Seen], ledger: int) -> list[Outlet]:
        """The sinks of these views, those that go on as they are: for `look_at`. All of them can be opened, or none is."""
        found: list[Outlet] = []
        try:
            for seen in views:
                for sink in seen.member.sinks:
                    there = next((outlet for outlet in self._outlets if outlet.serves(sink, seen)), None)
                    found.append(there or self._opener.open(app, sink, seen, [other.member for other in views], ledger))
        except BaseException:
            self.discard(found)
            raise
        return found

    def look_at(self, members: Sequence[Member], outlets: list[Outlet]) -> None:
        """From now on these are the views and the sinks."""
        gone = [outlet for outlet in self._outlets if outlet not in outlets]
        by_name = {member.name: member for member in members}
        for outlet in outlets:
            outlet.member = by_name[outlet.member.name]
        self._members, self._outlets = tuple(members), outlets
        self._close(gone)

    def discard(self, outlets: Sequence[Outlet]) -> None:
        """Close those that were opened and are not used after all."""
        self._close([outlet for outlet in outlets if outlet not in self._outlets])

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
                positions = [outlet.position for outlet in self._outlets if outlet.member.name == member.name]
                self._store.trim(member.name, self._keep_epochs, min(positions) + 1 if positions else 2**62)
        self._deliveries += 1

    def delivers(self, view: str) -> bool:
        return any(outlet.member.name == view for outlet in self._outlets)

    def _catch_up(self, outlet: Outlet) -> None:
        if not outlet.joined:
            self._join(outlet)
        # Closed also when a sink fails: the error that is kept would keep the store's reading transaction open, for weeks.
        with closing(self._store.epochs(outlet.member.name, outlet.position, outlet.generation)) as missed:
            for epoch in _as_one(missed) if outlet.complete else missed:
                self._give(outlet, epoch)

    def _join(self, outlet: Outlet) -> None:
        """A sink that is new when the log no longer reaches back gets the view as it stands; one that was away too long is refused."""
        dropped = self._store.trimmed(outlet.member.name, outlet.generation)
        if outlet.position < 0 <= dropped:
            self._give(outlet, self._store.snapshot(outlet.member.name, outlet.generation))
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
            self._store.check_fence(self._fence_token)
        crash_point("sink.before-begin")
        try:
            if outlet.complete:
                outlet.writer.deliver_complete(epoch, list(self._store.rows(outlet.member.name)))
            else:
                outlet.writer.deliver(epoch)
        except Exception:
            if outlet.before:
                log.warning("sink %s: what epoch %d had not yet delivered is lost: at-most-once does not repeat", outlet.name, epoch.epoch)
            raise
        crash_point("sink.after-commit")
        if not outlet.before:
            self._confirm(outlet, epoch.epoch)

    def pass_on(self, epoch: Epoch) -> None:
        """An epoch of a view that keeps no store goes straight to its sinks."""
        for outlet in self._outlets:
            if outlet.member.name == epoch.view and outlet.position < epoch.epoch:
                self._give(outlet, epoch)

    def _confirm(self, outlet: Outlet, epoch: int) -> None:
        self._store.set_delivered(self._fence_token, outlet.known_as, epoch, generation=outlet.generation, durable=outlet.before)
        outlet.position = epoch

    def close(self) -> None:
        self._close(self._outlets)

    def _close(self, outlets: Iterable[Outlet]) -> None:
        for outlet in outlets:
            outlet.writer.close()


def _as_one(missed: Iterable[Epoch]) -> Iterator[Epoch]:
    """The newest epoch of a complete view, with all rows that left since: only its whole result is still known, not that of those before."""
    newest, gone = None, list[Change]()
    for newest in missed:
        gone += [change for change in newest.changes if change.op == "-"]
    if newest is not None:
        yield newest._replace(changes=gone)

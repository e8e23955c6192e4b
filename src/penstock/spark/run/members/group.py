"""The views of one job: what an epoch makes of each, decided one after the other, then written together.

The owner's part below the cut is what the checkpoint is for. All that is above it comes and goes: a view that is new in the job, or that means
something else than when its rows were made, is evaluated from the rows that are stored, as of the last epoch, in a transaction of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.catalog import Generation
from penstock.change import Epoch
from penstock.share.jobs import Job, Member
from penstock.spark.checkpoint.agreement import check_ledger, of_another_generation
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.lower import Lower
from penstock.spark.run.delivery.outbox import Outbox
from penstock.spark.run.delivery.outlet import Seen
from penstock.spark.run.epoch_input import EpochInput
from penstock.spark.run.job_tables import JobTables
from penstock.spark.run.members.lineage import Lineage
from penstock.spark.run.strategy.followers import Follower, on_view
from penstock.spark.run.strategy.open import open_strategy
from penstock.spark.run.strategy.protocol import FromStored, has_news
from penstock.store.generations import ViewGeneration
from penstock.store.protocol import FenceToken, OwnedByAnother, Position, Store
from penstock.store.writes import Reset, RowsAsOf, apply


def take_over(job: Job, generation: Generation, store: Store, *, place: str) -> Position:
    """Become the job's only driver, if what its checkpoint and the store say agrees."""
    check_ledger(job.name, generation.checkpoint, store.committed(job.name, generation.name))
    try:
        return store.take_over(job.name, generation.name, folder=generation.folder, place=place)
    except OwnedByAnother as other:
        raise of_another_generation(job.name, generation, other.held) from None


class Group:
    """The owner's strategy, the followers in reading order, and the sinks of them all; epochs and changes wait for each other."""

    def __init__(
        self,
        batch_session: SparkSession,
        app: AppContext,
        job: Job,
        store: Store,
        generation: Generation,
        position: Position,
        lower: Lower,
        history: EpochInput,
        tables: JobTables,
    ) -> None:
        self._batch_session, self._store = batch_session, store
        self._token, self._committed = FenceToken(job.name, generation.name, position.fence), position.epoch
        self._members, self._followers = job.members, list[Follower]()
        self._lineage = Lineage(store, self._token, job.members, position.epoch)
        self._tables = tables
        self.strategy = open_strategy(batch_session, app, lower, history, store)
        self._outbox = Outbox(app, job, generation, store, position)
        self._lock = threading.RLock()
        self.change(app, job)

    def change(self, app: AppContext, job: Job) -> int:
        """Make these the views and the sinks of the job; the epoch as of which they are. When it raises, nothing has changed.

        A view that is due is evaluated from what is stored; before the first epoch nothing is, and that one makes all of them.
        """
        with self._lock:
            followers, columns = self._opened(app, job.members)
            epoch = RowsAsOf(self._store, self._committed, first=False)
            started = self._renewed(job.members, followers, epoch) if self._committed >= 0 else {}
            views = [Seen(member, columns[member.name], self._lineage.name(member.name, started)) for member in job.members]
            outlets = self._outbox.opened(app, views, self._committed)
            try:
                self._put_schemas(job.members, columns)
                if started or (self._committed >= 0 and self._lineage.lacks(job.members)):
                    with self._store.amend(self._token, self._committed, self._lineage.names(job.members, started)) as writer:
                        apply(writer, epoch.writes)
                        self._lineage.write(writer, job.members, started)
                    self._lineage.wrote(job.members, started)
            except BaseException:
                self._outbox.discard(outlets)
                raise
            self._members, self._followers, self._columns = job.members, followers, columns
            self._outbox.look_at(job.members, outlets)
            return self._committed

    def _opened(self, app: AppContext, members: Sequence[Member]) -> tuple[list[Follower], dict[str, str]]:
        """The followers, those that go on as they are; and the columns of every view."""
        columns, followers = {members[0].name: self.strategy.columns}, list[Follower]()
        for member in members[1:]:
            there = next((one for one in self._followers if one.goes_on_for(member)), None)
            followers.append(there or on_view(self._batch_session, app, member, columns, self._store))
            columns[member.name] = followers[-1].columns
        return followers, columns

    def _put_schemas(self, members: Sequence[Member], columns: Mapping[str, str]) -> None:
        for member in members:
            if member.stored:
                self._store.put_schema(member.name, columns[member.name], member.key)

    def _renewed(self, members: Sequence[Member], followers: Sequence[Follower], epoch: RowsAsOf) -> dict[str, ViewGeneration]:
        """Evaluate the views that are new or mean something else; each gets a generation of its own."""
        by_name = {follower.name: follower for follower in followers}
        found: dict[str, ViewGeneration] = {}
        for member in members:
            if self._lineage.is_due(member):
                epoch.add(Reset(member.name))
                if member.name in by_name:
                    by_name[member.name].renew(epoch)
                else:
                    assert isinstance(self.strategy, FromStored), "only such a view has a fingerprint of its own"
                    self.strategy.renew(epoch)
                found[member.name] = self._lineage.started(member, epoch.number)
        return found

    def commit(self, table: pa.Table, number: int) -> Epoch | None:
        """Write the epoch to the store; what it changed of the owner, where that is known without reading the log.

        AlreadyCommitted when the store has it. A view that keeps no rows is delivered first: the ledger says that its sinks have the epoch.
        """
        with self._lock:
            if number > self._committed:
                self._tables.note(number, above=False)
            owner, added = self._members[0], self.strategy.added(table)
            fresh = None if added is None else Epoch(owner.name, self._lineage.name(owner.name, {}), number, added)
            if fresh is not None and not owner.stored:
                self._outbox.pass_on(fresh)
            epoch = RowsAsOf(self._store, number, first=self._committed < 0 and number == 0)
            if number > self._committed:
                self._evaluate(table, epoch)
            started = {member.name: self._lineage.started(member) for member in self._members} if epoch.first else {}
            with self._store.open_epoch(*self._token, number, self._lineage.names(self._members, started)) as writer:
                apply(writer, epoch.writes)
                if started:
                    self._lineage.write(writer, self._members, started)
            if started:
                self._lineage.wrote(self._members, started)
                self._put_schemas(self._members, self._columns)  # a job that one of the views was in before may have dropped it since
            self._committed = number
            return fresh if owner.stored and self._outbox.delivers(owner.name) else None

    def _evaluate(self, table: pa.Table, epoch: RowsAsOf) -> None:
        """Decide what the epoch writes; in the first of a generation its rows replace those of the one before."""
        if epoch.first:
            for member in self._members:
                epoch.add(Reset(member.name, kept=True))
        self.strategy.evaluate(table, epoch)
        if has_news(table, epoch):
            for follower in self._followers:
                follower.evaluate(epoch)
            self._tables.note(epoch.number, above=True)

    def deliver(self, fresh: Epoch | None = None) -> None:
        """Bring every sink up to what the store has."""
        with self._lock:
            self._outbox.deliver(fresh)

    def close(self) -> None:
        self._outbox.close()

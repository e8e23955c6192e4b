"""What follows rows that the store holds: a view over another view of the same job, or the part of a plan above its kept rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.share.jobs import Member
from penstock.spark.compile import rows
from penstock.spark.compile.delta import DeltaPlan, brought_up, open_delta, partials_of
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.upper import Upper, evaluate, evaluate_parts, open_upper
from penstock.store.forgetting import PARTIAL_PREFIX
from penstock.store.protocol import Store
from penstock.store.writes import Put, Replace, Reset, RowsAsOf


class Follower:
    """A plan that is evaluated from the rows called `source` in the store, as they are after this epoch.

    An aggregate takes in what changed of them. Where the plan is local to some columns, it is evaluated only from the rows that have
    there what a changed row has, or had.
    """

    def __init__(self, batch_session: SparkSession, upper: Upper, source: str, store: Store) -> None:
        self._batch_session, self._upper, self._source = batch_session, upper, source
        self.member, self.name = upper.member, upper.member.name
        self.columns = rows.ddl(upper.columns, rows.visible(upper.columns.names))
        of_rows = upper.member.cut.stable is not None and set(upper.member.cut.stable) <= set(upper.local_sources)
        self._delta = None if of_rows else open_delta(batch_session, upper)
        if upper.local and self._delta is None:
            store.index(source, upper.local_sources)

    def goes_on_for(self, member: Member) -> bool:
        """Whether that is the same view, whatever its sinks are."""
        return (self.name, self.member.fingerprint, self.member.key) == (member.name, member.fingerprint, member.key)

    def evaluate(self, epoch: RowsAsOf) -> None:
        """Decide what the epoch makes of the view; what it reads was decided before."""
        upper = self._upper
        if self._delta is not None:
            self._add_changes(self._delta, epoch)
            return
        if not upper.local or epoch.first:
            found = evaluate(self._batch_session, upper, epoch.rows(self._source))
            epoch.add(as_replacement(upper, found))
            return
        changed = epoch.changed(self._source)
        if not changed:
            epoch.add(Replace(self.member.name, [], [], []))
            return
        near = epoch.rows_like(self._source, upper.local_sources, changed)
        found = evaluate_parts(self._batch_session, upper, near, changed.touched)
        is_part = pc.is_null(found["row"])
        parts = list(dict.fromkeys(found.filter(is_part)["part"].to_pylist()))
        epoch.add(as_replacement(upper, found.filter(pc.invert(is_part)), parts))

    def renew(self, epoch: RowsAsOf) -> None:
        """Decide the whole result once more, from all rows as they are."""
        everything = epoch.rows(self._source)
        if self._delta is None:
            epoch.add(as_replacement(self._upper, evaluate(self._batch_session, self._upper, everything)))
            return
        epoch.add(Reset(partials_name(self.member)))
        self._add_partials(self._delta, epoch, partials_of(self._batch_session, self._delta, [], everything), renewed=True)

    def _add_changes(self, plan: DeltaPlan, epoch: RowsAsOf) -> None:
        changed = epoch.changed(self._source)
        if changed or epoch.first:
            self._add_partials(plan, epoch, partials_of(self._batch_session, plan, changed.old, changed.new))
        else:
            epoch.add(Replace(self.name, [], [], []))

    def _add_partials(self, plan: DeltaPlan, epoch: RowsAsOf, fresh: pa.Table, *, renewed: bool = False) -> None:
        """The changed groups: their stored partial results, if there are any, with what changed added, and what the plan makes of that."""
        name, parts = partials_name(self.member), fresh["key"].to_pylist()
        stored = [] if renewed else epoch.rows_of(name, parts)
        found = brought_up(self._batch_session, plan, [*stored, *fresh["row"].to_pylist()])
        is_partial = pc.is_valid(found["count"])
        partial, result = found.filter(is_partial), found.filter(pc.invert(is_partial))
        counted = list(zip(partial["key"].to_pylist(), partial["row"].to_pylist(), partial["count"].to_pylist(), strict=True))
        gone = [key for key, _, count in counted if count == 0 and plan.delta.groups]
        epoch.add(Put(name, [(key, row) for key, row, count in counted if count or not plan.delta.groups], gone, log=False))
        epoch.add(as_replacement(plan.upper, result, None if renewed else parts))


def partials_name(member: Member) -> str:
    """The name under which a view's partial results stand in the store."""
    return f"{PARTIAL_PREFIX}{member.name}"


def on_view(batch_session: SparkSession, app: AppContext, member: Member, columns: Mapping[str, str], store: Store) -> Follower:
    """A view over another view, whose columns are known."""
    base = member.cut.base
    assert base is not None
    return Follower(batch_session, open_upper(batch_session, app, member, base, columns[base]), base, store)


def as_replacement(upper: Upper, found: pa.Table, parts: Sequence[str] | None = None) -> Replace:
    """What an upper plan gave, as the view's result, or as that of its `parts`."""
    new = list(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True))
    return Replace(upper.member.name, new, found["part"].to_pylist(), parts, ordered=upper.ordered and parts is None)

"""What follows rows that the store holds: a view over another view of the same job, or the part of a plan above its kept rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from penstock.plan.cut.first import First, still_first
from penstock.share.jobs import Member
from penstock.spark.compile import rows
from penstock.spark.compile.delta import DeltaPlan, brought_up, open_delta, partials_of
from penstock.spark.compile.first import MORE, open_first, ranked
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.upper import Above, Upper, evaluate, evaluate_parts, open_upper
from penstock.store.forgetting import kept_name, partials_name
from penstock.store.protocol import Store
from penstock.store.writes import Changed, Put, Replace, Reset, RowsAsOf


class Follower:
    """A plan that is evaluated from rows in the store, as they are after this epoch: `sources` says where those of each of its inputs stand.

    An aggregate takes in what changed of them. Where the plan is local to some columns, it is evaluated only from the rows that have
    there what a changed row has, or had. `step` names a plan whose rows are not the view's, but those of a step on the way to it.
    """

    def __init__(self, batch_session: SparkSession, upper: Upper, sources: Mapping[str, str], store: Store, step: str = "") -> None:
        self._batch_session, self._upper, self._sources = batch_session, upper, sources
        self.member, self.name = upper.member, kept_name(upper.member.name, step) if step else upper.member.name
        self._partials = partials_name(upper.member.name, step)
        self.columns = rows.ddl(upper.columns, upper.shown)
        key = upper.above.key
        of_rows = key is not None and any(set(key) <= set(columns) for columns in upper.places.values())
        self._first = open_first(upper)
        self._delta = None if of_rows else open_delta(batch_session, upper)
        if upper.local and self._delta is None:
            for name, columns in upper.places.items():
                store.index(sources[name], columns)

    def goes_on_for(self, member: Member) -> bool:
        """Whether that is the same view, whatever its sinks are."""
        return (self.name, self.member.fingerprint, self.member.key) == (member.name, member.fingerprint, member.key)

    def evaluate(self, epoch: RowsAsOf) -> None:
        """Decide what the epoch makes of the view; what it reads was decided before."""
        if self._delta is not None:
            self._add_changes(self._delta, epoch)
            return
        if self._first is not None:
            self._place_changes(self._first, epoch)
            return
        if not self._upper.local or epoch.first or any(epoch.changed(self._sources[name]) for name in self._upper.above.single):
            self._evaluate_all(epoch)
            return
        changed = {name: epoch.changed(self._sources[name]) for name in self._upper.places}
        if not any(changed.values()):
            self._add_nothing(epoch)
            return
        found = evaluate_parts(self._batch_session, self._upper, self._near(changed, epoch), {name: one.touched for name, one in changed.items()})
        is_part = pc.is_null(found["row"])
        parts = list(dict.fromkeys(found.filter(is_part)["part"].to_pylist()))
        epoch.add(self._replacement(found.filter(pc.invert(is_part)), parts))

    def renew(self, epoch: RowsAsOf) -> None:
        """Decide the whole result once more, from all rows as they are."""
        if self._first is not None:
            self._place_all(self._first, epoch)
            return
        if self._delta is None:
            self._evaluate_all(epoch)
            return
        everything = epoch.rows(self._source)
        epoch.add(Reset(self._partials))
        self._add_partials(self._delta, epoch, partials_of(self._batch_session, self._delta, [], everything), renewed=True)

    @property
    def _source(self) -> str:
        (source,) = self._sources.values()
        return source

    def _near(self, changed: Mapping[str, Changed], epoch: RowsAsOf) -> dict[str, Sequence[str]]:
        """The rows of every input that are of a part that changed in one of them; all of those that have no parts."""
        places = self._upper.places
        near: dict[str, Sequence[str]] = {name: epoch.rows(self._sources[name]) for name in self._upper.above.single}
        for name, columns in places.items():
            others = [(places[other], one.touched) for other, one in changed.items() if other != name and one]
            near[name] = epoch.rows_like(self._sources[name], columns, changed[name], others)
        return near

    def _evaluate_all(self, epoch: RowsAsOf) -> None:
        everything = {name: epoch.rows(source) for name, source in self._sources.items()}
        epoch.add(self._replacement(evaluate(self._batch_session, self._upper, everything)))

    def _place_changes(self, first: First, epoch: RowsAsOf) -> None:
        """The candidates with what came placed among them, and the result from those alone."""
        changed = epoch.changed(self._source)
        if epoch.first:
            self._place_all(first, epoch)
            return
        if not changed:
            self._add_nothing(epoch)
            return
        held = epoch.rows(self._partials)
        there, last = (held[:-1], held[-2]) if held and held[-1] == MORE else (held, None)
        left = still_first(ranked(self._batch_session, self._upper, first, [*there, *changed.new]), changed.old, last, first)
        if left is None:
            self._place_all(first, epoch)
        else:
            self._write_first(*left, first, epoch)

    def _place_all(self, first: First, epoch: RowsAsOf) -> None:
        everything = ranked(self._batch_session, self._upper, first, epoch.rows(self._source), first.kept + 1)
        self._write_first(everything[: first.kept], len(everything) <= first.kept, first, epoch)

    def _write_first(self, candidates: Sequence[str], all_of_them: bool, first: First, epoch: RowsAsOf) -> None:
        lines = [*candidates, *([] if all_of_them else [MORE])]
        epoch.add(Replace(self._partials, [(None, line) for line in lines], ordered=True, log=False))
        epoch.add(self._replacement(evaluate(self._batch_session, self._upper, {self._input: candidates[: first.asked]})))

    @property
    def _input(self) -> str:
        (name,) = self._sources
        return name

    def _add_changes(self, plan: DeltaPlan, epoch: RowsAsOf) -> None:
        changed = epoch.changed(self._source)
        if changed or epoch.first:
            self._add_partials(plan, epoch, partials_of(self._batch_session, plan, changed.old, changed.new))
        else:
            self._add_nothing(epoch)

    def _add_partials(self, plan: DeltaPlan, epoch: RowsAsOf, fresh: pa.Table, *, renewed: bool = False) -> None:
        """The changed groups: their stored partial results, if there are any, with what changed added, and what the plan makes of that."""
        name, parts = self._partials, fresh["key"].to_pylist()
        stored = [] if renewed else epoch.rows_of(name, parts)
        found = brought_up(self._batch_session, plan, [*stored, *fresh["row"].to_pylist()])
        is_partial = pc.is_valid(found["count"])
        partial, result = found.filter(is_partial), found.filter(pc.invert(is_partial))
        counted = list(zip(partial["key"].to_pylist(), partial["row"].to_pylist(), partial["count"].to_pylist(), strict=True))
        gone = [key for key, _, count in counted if count == 0 and plan.delta.groups]
        epoch.add(Put(name, [(key, row) for key, row, count in counted if count or not plan.delta.groups], gone, log=False))
        epoch.add(self._replacement(result, None if renewed else parts))

    def _add_nothing(self, epoch: RowsAsOf) -> None:
        epoch.add(Replace(self.name, [], [], [], log=self._upper.above.is_view))

    def _replacement(self, found: pa.Table, parts: Sequence[str] | None = None) -> Replace:
        """What the plan gave, as the whole result, or as that of its `parts`."""
        new = list(zip(found["key"].to_pylist(), found["row"].to_pylist(), strict=True))
        ordered = self._upper.ordered and parts is None
        return Replace(self.name, new, found["part"].to_pylist(), parts, ordered=ordered, log=self._upper.above.is_view)


def on_view(batch_session: SparkSession, app: AppContext, member: Member, columns: Mapping[str, str], store: Store) -> Follower:
    """A view over another view, whose columns are known."""
    base, plan = member.cut.base, member.cut.upper
    assert base is not None
    assert plan is not None
    above = Above(plan, {base: columns[base]}, key=member.cut.stable)
    return Follower(batch_session, open_upper(batch_session, app, member, above), {base: base}, store)

"""What a view should hold as of an epoch: the same view, in batch, over exactly the input that its job had consumed by then."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.plan.cut.inline import meaning
from penstock.plan.cut.late import Judged, closed_at, in_time, judged
from penstock.plan.cut.origin import Untraceable, carried, traced_name
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import Emit, Stream
from penstock.plan.model.nodes import Node, names_read
from penstock.plan.model.text import sql
from penstock.schema import Schema, quote
from penstock.share.jobs import Member
from penstock.source import HasLines, Span
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_tables
from penstock.spark.compile.operators import plan_frame
from penstock.spark.run.dead.letters import as_they_came
from penstock.spark.run.faults.broken_files import newly_broken
from penstock.spark.run.faults.outage import explained
from penstock.verify.consumed import Consumed
from penstock.verify.positions import Origin, Record, origin_of, records_of
from penstock.verify.rows import LOOSE, Row, rounding
from penstock.verify.streams import Taken
from penstock.verify.versions import Joined

log = logging.getLogger("penstock.verify")
_MOMENTS = ("std", "var_", "variance", "covar", "corr", "regr_", "skewness", "kurtosis")


@dataclass(frozen=True)
class Expected:
    """The rows that should be there. `late`: how many input rows the watermark had dropped, which are left out here as well."""

    schema: Schema
    rows: list[Row]
    late: int = 0
    notes: tuple[str, ...] = ()


class Oracle:
    """Runs views in batch; an answer is kept, for several sinks ask for the same epoch."""

    def __init__(self, spark: SparkSession, app: AppContext) -> None:
        self._spark, self._app = spark, app
        self._known: dict[tuple[str, int], tuple[_Batch, Expected]] = {}

    def expected(self, consumed: Consumed, member: Member, epoch: int) -> Expected:
        """As of `epoch`; -1 is before the first, when there is nothing."""
        return self._run(consumed, member, epoch)[1]

    def origins(self, consumed: Consumed, member: Member, epoch: int, lines: Collection[str]) -> dict[str, Origin]:
        """Where the rows with these texts come from; empty where the shape of the view does not allow that."""
        batch = self._run(consumed, member, epoch)[0]
        try:
            return batch.origins(lines)
        except Untraceable:
            return {}
        except Exception as error:
            raise explained(error, member.view) from error

    def rounding(self, consumed: Consumed, member: Member, epoch: int) -> float:
        """How far the doubles of a view may be apart, relatively, because they were computed in another order."""
        try:
            return self._run(consumed, member, epoch)[0].rounding()
        except Exception as error:
            raise explained(error, member.view) from error

    def _run(self, consumed: Consumed, member: Member, epoch: int) -> tuple[_Batch, Expected]:
        found = self._known.get((member.name, epoch))
        while found is None:
            broken = self._app.broken.names()
            try:
                batch = _Batch(self._spark.newSession(), self._app, consumed, member, epoch)
                found = self._known[member.name, epoch] = batch, batch.expected()
            except Exception as error:
                reasons = newly_broken(error, self._spark, self._app, broken, partial(self._read, consumed, epoch))
                if not reasons:
                    raise explained(error, member.view) from error
                log.warning("view `%s` is computed without what cannot be read of %s", member.name, "; ".join(reasons))
        return found

    def _read(self, consumed: Consumed, epoch: int) -> dict[str, Span]:
        streams = [name for name in consumed.occurrences if name in self._app.declared.streams]
        return dict.fromkeys(self._app.declared.tables, Span()) | {name: consumed.span(name, consumed.logged(epoch)[-1]) for name in streams}


class _Batch:
    """One view in batch, in a session of its own."""

    def __init__(self, batch_session: SparkSession, app: AppContext, consumed: Consumed, member: Member, epoch: int) -> None:
        owner = consumed.job.members[0].view
        self._batch_session, self._consumed, self._member, self._epoch = batch_session, consumed, member, epoch
        self._joined = Joined.of(app.seen_by(owner), consumed.job, consumed.checkpoint, consumed.last if epoch < 0 else epoch)
        self._app = self._joined.app
        if consumed.job.cut.watermarked and epoch >= 0:
            self._app = replace(self._app, mark_ms=consumed.logged(epoch)[-1].watermark_ms)
        self._on_close = owner.emit is Emit.ON_CLOSE
        self._logged = consumed.logged(consumed.last if epoch < 0 else epoch)
        self._meaning = meaning(member.view, self._app.declared.declarations)
        self._plan, self._versioned = self._joined.plan(self._meaning)
        self._taken = Taken(batch_session, self._app, consumed, self._logged, partial(self._joined.columns, self._versioned))
        self._filtered: Mapping[str, str] = {}

    def expected(self) -> Expected:
        plan = self._plan
        self._register(plan, {})
        frame = self._frame = plan_frame(self._batch_session, self._app, plan)
        rows.check_names(frame.schema, self._member.name)
        schema = rows.schema_of(frame.schema)
        if self._epoch < 0:
            return Expected(schema, [])
        if not self._consumed.job.cut.watermarked:
            return Expected(schema, _lines(frame), notes=self._joined.notes(self._versioned))
        found = self._as_watermarked(plan, schema)
        return replace(found, notes=(*found.notes, *self._joined.notes(self._versioned)))

    def _as_watermarked(self, plan: Node, schema: Schema) -> Expected:
        streams = self._app.declared.streams
        plan = closed_at(plan, streams, self._logged[-1].watermark_ms)
        notes: tuple[str, ...] = ()
        try:
            found = judged(plan, streams, on_close=self._on_close)
        except Untraceable as reason:
            found, notes = Judged(plan, (), {}), (f"late rows are not known for this view ({reason}): a row that was dropped shows as missing",)
        if self._logged[0].epoch > 0:
            notes = (*notes, f"the offset log begins at epoch {self._logged[0].epoch}: rows that were late before are not known")
        for part in (*found.counts, *found.joined.values()):
            self._register(part, {})
        late = sum(self._count(part) for part in found.joined.values())
        self._plan, self._filtered = found.plan, {name: in_time(streams[name]) for name in found.joined}
        for part in (*found.counts, found.plan):
            self._register(part, self._filtered)
        late += sum(self._count(part) for part in found.counts)
        return Expected(schema, _lines(_named(plan_frame(self._batch_session, self._app, found.plan), schema)), late, notes)

    def rounding(self) -> float:
        """A sum has no more terms than rows were read. Of moments the roundings grow by how far the values lie from zero, which is not known."""
        if any(call.name.lower().startswith(_MOMENTS) for call in parsed(sql(self._meaning)).calls):
            return LOOSE
        return rounding(sum(self._taken.rows(stream).count() for stream in self._streams()))

    def _streams(self) -> list[Stream]:
        """The streams that the view reads."""
        names = names_read(self._meaning)
        return [stream for name, stream in self._app.declared.streams.items() if name in names]

    def origins(self, lines: Collection[str]) -> dict[str, Origin]:
        """After `expected`: by the text of the row."""
        schema = rows.schema_of(self._frame.schema)
        found = carried(self._plan, self._app.declared.streams)
        if not found.columns or self._epoch < 0:
            return {}
        self._register(found.plan, self._filtered)
        frame = plan_frame(self._batch_session, self._app, found.plan)
        line = rows.as_json(frame.schema, rows.visible(frame.columns), schema.names)
        origins = frame.selectExpr(f"{line} AS line", f"{found.origin} AS origin").where(F.col("line").isin(*lines)).dropDuplicates(["line"])
        # A row that is there without any input, such as a count of nothing, has no epoch.
        traced = [row for row in origins.collect() if row.origin is not None and row.origin.epoch is not None]
        came = self._as_they_came({record for row in traced for record in records_of(row.origin)})
        return {row.line: origin_of(row.origin, came) for row in traced}

    def _as_they_came(self, records: Collection[Record]) -> dict[Record, list[bytes]]:
        """The lines of files by which a reader's records are found in them, whichever stream they are of."""
        sought = sorted((position, record) for position, record in records if "file" in (at := json.loads(position)) and "line" not in at)
        found: dict[Record, list[bytes]] = {}
        for stream in self._streams() if sought else ():
            source = self._app.source(stream)
            if isinstance(source, HasLines):
                found |= as_they_came(self._batch_session, source, self._app.spec(stream), sought)
        return found

    def _register(self, plan: Node, conditions: Mapping[str, str]) -> None:
        """All that the plan reads; of a stream with a condition only the rows that it holds for."""
        names = names_read(plan)
        register_tables(self._batch_session, self._app, [name for name in names if name not in self._versioned])
        self._joined.register(self._batch_session, self._versioned)
        for name, stream in self._app.declared.streams.items():
            if traced_name(name) in names or name in conditions:
                origins = self._taken.with_origins(stream).where(conditions.get(name, "true"))
                origins.createOrReplaceTempView(quote(traced_name(name)))
            if name in names:
                self._stream(stream, name in conditions).createOrReplaceTempView(quote(name))

    def _stream(self, stream: Stream, judged_before: bool) -> DataFrame:
        if not judged_before:
            return self._taken.rows(stream)
        return self._batch_session.table(quote(traced_name(stream.name))).select(
            *(F.col(quote(name)) for name in (*stream.schema.names, *self._joined.columns(self._versioned, "0")))
        )

    def _count(self, plan: Node) -> int:
        return int(plan_frame(self._batch_session, self._app, plan).collect()[0][0])


def _named(frame: DataFrame, schema: Schema) -> DataFrame:
    """The user's columns under the names that the plain plan gives them: a changed text may change what Spark calls a column."""
    visible = rows.visible(frame.columns)
    return frame.select(*(F.col(quote(found)).alias(name) for found, name in zip(visible, schema.names, strict=True)))


def _lines(frame: DataFrame) -> list[Row]:
    lines = frame.selectExpr(f"{rows.as_json(frame.schema, rows.visible(frame.columns))} AS r").toArrow()
    return [Row(line) for line in lines["r"].to_pylist()]

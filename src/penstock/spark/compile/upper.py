"""The part of a plan above the cut: evaluated from kept rows, a view's rows, or history, in the same epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.plan.cut.follow import can_be_indexed, local_to
from penstock.plan.model.nodes import Node, Order, names_read
from penstock.schema import quote
from penstock.share.jobs import Member
from penstock.source import Span
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_history, register_tables
from penstock.spark.compile.operators import plan_frame


@dataclass(frozen=True)
class Upper:
    """One member's upper plan, with the name under which it sees its input; `local`: its columns that say which part of the input they are of."""

    app: AppContext
    member: Member
    plan: Node
    input: str
    input_ddl: str
    columns: StructType
    local: dict[str, str]

    @property
    def local_sources(self) -> tuple[str, ...]:
        """The input's columns to which the plan is local."""
        return tuple(self.local.values())

    @property
    def ordered(self) -> bool:
        return isinstance(self.plan, Order) and bool(self.plan.keys)


def open_upper(batch_session: SparkSession, app: AppContext, member: Member, input_name: str, input_ddl: str) -> Upper:
    """Analyse the plan over an empty input, so that a mistake shows before the first row."""
    assert member.cut.upper is not None
    register_tables(batch_session, app, names_read(member.cut.upper))
    rows.from_json(batch_session, [], input_ddl).createOrReplaceTempView(quote(input_name))
    app = app.seen_by(member.view)
    given = {field.name: field.dataType for field in rows.columns_of(input_ddl).fields}
    columns_asked = [name for name, kind in given.items() if can_be_indexed(name, kind.simpleString(), member.cut.stable)]
    plan, local = local_to(member.cut.upper, input_name, columns_asked, member.cut.stable)
    columns = plan_frame(batch_session, app, plan).schema
    rows.check_names(columns, member.name)
    own = {field.name: field.dataType for field in columns.fields}
    same = {name: source for name, source in local.items() if own.get(name) == given[source]}
    return Upper(app, member, plan, input_name, input_ddl, columns, same)


def evaluate(batch_session: SparkSession, upper: Upper, kept: Sequence[str]) -> pa.Table:
    """The upper plan's rows over `kept`."""
    rows.from_json(batch_session, kept, upper.input_ddl).createOrReplaceTempView(quote(upper.input))
    return answer(plan_frame(batch_session, upper.app, upper.plan), upper.member, upper.local).toArrow()


def evaluate_parts(batch_session: SparkSession, upper: Upper, near: Sequence[str], touched: Sequence[str]) -> pa.Table:
    """The upper plan's rows over those of its input that are of touched parts; and of every such part a `part` without a row."""
    rows.from_json(batch_session, near, upper.input_ddl).createOrReplaceTempView(quote(upper.input))
    given = rows.from_json(batch_session, touched, upper.input_ddl)
    part = rows.as_json(given.schema, upper.local_sources)
    parts = given.selectExpr("cast(NULL AS STRING) AS row", "cast(NULL AS STRING) AS key", f"{part} AS part").distinct()
    return parts.unionAll(answer(plan_frame(batch_session, upper.app, upper.plan), upper.member, upper.local)).toArrow()


def recompute(batch_session: SparkSession, app: AppContext, member: Member, spans: Mapping[str, Span], clocks: Mapping[str, str]) -> pa.Table:
    """The whole plan over exactly the part of each stream's history that `spans` give, judged by `clocks` as it was when it came."""
    register_history(batch_session, app, member.cut.lower, spans, clocks)
    return answer(plan_frame(batch_session, app, member.cut.lower), member, {}).toArrow()


def recompute_columns(batch_session: SparkSession, app: AppContext, member: Member) -> StructType:
    """The columns of a recomputed view, by analysing its plan over the sources as they are."""
    register_history(batch_session, app, member.cut.lower, {})
    columns = plan_frame(batch_session, app, member.cut.lower).schema
    rows.check_names(columns, member.name)
    return columns


def answer(frame: DataFrame, member: Member, local: Mapping[str, str]) -> DataFrame:
    """`row`; `key`, NULL in a bag; and `part`, in the words of the kept rows."""
    columns = frame.schema
    key = "cast(NULL AS STRING)" if member.key is None else rows.as_json(columns, member.key)
    part = rows.as_json(columns, tuple(local), tuple(local.values()), grouped=True)
    return frame.selectExpr(f"{rows.as_json(columns, rows.visible(columns.names))} AS row", f"{key} AS key", f"{part} AS part")

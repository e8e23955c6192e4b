"""The part of a plan above the cut: evaluated from kept rows, a view's rows, or history, in the same epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.plan.locality import local_columns
from penstock.plan.nodes import Node, Order, names_read
from penstock.schema import quote
from penstock.share.jobs import Member
from penstock.source import Span
from penstock.spark import rows
from penstock.spark.frames import App, plan_frame, register_history, register_tables


@dataclass(frozen=True)
class Upper:
    """One member's upper plan, with the name under which it sees its input."""

    member: Member
    plan: Node
    input: str
    input_ddl: str
    columns: StructType
    local: dict[str, str]

    @property
    def ordered(self) -> bool:
        return isinstance(self.plan, Order) and bool(self.plan.keys)


def open_upper(desk: SparkSession, app: App, member: Member, input_name: str, input_ddl: str) -> Upper:
    """Analyse the plan over an empty input, so that a mistake shows before the first row."""
    assert member.cut.upper is not None
    register_tables(desk, app, names_read(member.cut.upper))
    rows.from_json(desk, [], input_ddl).createOrReplaceTempView(quote(input_name))
    columns = plan_frame(desk, member.cut.upper).schema
    rows.check_names(columns, member.name)
    return Upper(member, member.cut.upper, input_name, input_ddl, columns, _local(member, input_name, input_ddl, columns))


def _local(member: Member, input_name: str, input_ddl: str, columns: StructType) -> dict[str, str]:
    """The view's columns to which its plan is local, each with the kept column it comes from, types unchanged."""
    if member.cut.base is not None or member.cut.upper is None or isinstance(member.cut.upper, Order):
        return {}
    kept = {field.name: field.dataType for field in rows.columns_of(input_ddl).fields}
    stable = member.cut.stable if member.cut.stable is not None else tuple(kept)
    found = local_columns(member.cut.upper, input_name, stable)
    own = {field.name: field.dataType for field in columns.fields}
    return {name: source for name, source in found.items() if name in own and own[name] == kept.get(source)}


def evaluate(desk: SparkSession, upper: Upper, kept: Sequence[str]) -> pa.Table:
    """The upper plan's rows over `kept`."""
    rows.from_json(desk, kept, upper.input_ddl).createOrReplaceTempView(quote(upper.input))
    return _answer(plan_frame(desk, upper.plan), upper.member, upper.local)


def recompute(desk: SparkSession, app: App, member: Member, spans: Mapping[str, Span], clocks: Mapping[str, str]) -> pa.Table:
    """The whole plan over exactly the part of each stream's history that `spans` give, judged by `clocks` as it was when it came."""
    register_history(desk, app, member.cut.lower, spans, clocks)
    return _answer(plan_frame(desk, member.cut.lower), member, {})


def recompute_columns(desk: SparkSession, app: App, member: Member) -> StructType:
    """The columns of a recomputed view, by analysing its plan over the sources as they are."""
    register_history(desk, app, member.cut.lower, {})
    columns = plan_frame(desk, member.cut.lower).schema
    rows.check_names(columns, member.name)
    return columns


def _answer(frame: DataFrame, member: Member, local: Mapping[str, str]) -> pa.Table:
    """`row`; `key`, NULL in a bag; and `part`, in the words of the kept rows."""
    columns = frame.schema
    key = "cast(NULL AS STRING)" if member.key is None else rows.as_json(columns, member.key)
    part = rows.as_json(columns, tuple(local), tuple(local.values()))
    return frame.selectExpr(f"{rows.as_json(columns, rows.visible(columns.names))} AS row", f"{key} AS key", f"{part} AS part").toArrow()

"""An aggregate brought up to date by changed rows: partial results of what changed, and the plan over those and the stored ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.plan.cut.delta import CHANGED, COUNT, PARTIAL, Delta, aggregate_of, delta, merged
from penstock.plan.cut.partials import WEIGHT
from penstock.plan.model.nodes import Aggregate, Item
from penstock.spark.compile import rows
from penstock.spark.compile.operators import plan_frame
from penstock.spark.compile.upper import Upper, answer, shown_of


@dataclass(frozen=True)
class DeltaPlan:
    """The plans of a delta over the rows of an upper plan's input, and the columns of its partial results."""

    upper: Upper
    delta: Delta
    partial_ddl: str


def open_delta(session: SparkSession, upper: Upper) -> DeltaPlan | None:
    """The upper plan by changes, where its aggregates can take rows back and Spark gives the same columns for it; its input is registered."""
    plan = upper.above.plan
    if len(upper.above.inputs) != 1:
        return None
    (input_,) = upper.above.inputs
    node = aggregate_of(plan, input_)
    if node is None or upper.ordered:
        return None

    def type_of(text: str) -> str:
        (field,) = plan_frame(session, upper.app, Aggregate(node.input, (), (Item(text, "t"),))).schema.fields
        return str(field.dataType.simpleString())

    try:
        found = delta(plan, input_, type_of, upper.above.moves)
        if found is None:
            return None
        _weighed(session, upper, [], []).createOrReplaceTempView(CHANGED)
        partial_ddl = rows.ddl(plan_frame(session, upper.app, found.changes).schema)
        rows.from_json(session, [], partial_ddl).createOrReplaceTempView(PARTIAL)
        given = plan_frame(session, upper.app, found.final).schema
    except AnalysisException:  # what the plan names is not to be had in two steps
        return None
    own = {field.name: field.dataType for field in upper.columns.fields if field.name in upper.shown}
    same = {field.name: field.dataType for field in given.fields if field.name in shown_of(given, upper.above)} == own
    return DeltaPlan(upper, found, partial_ddl) if same else None


def partials_of(session: SparkSession, plan: DeltaPlan, old: Sequence[str], new: Sequence[str]) -> pa.Table:
    """What changed, as partial results: `key` and `row` of each group."""
    _weighed(session, plan.upper, old, new).createOrReplaceTempView(CHANGED)
    return _as_rows(plan_frame(session, plan.upper.app, plan.delta.changes), plan.delta).toArrow()


def brought_up(session: SparkSession, plan: DeltaPlan, partials: Sequence[str]) -> pa.Table:
    """Partial results of the same groups, stored and new, added up: what to store of them as `kind` 0, what they are as `kind` 1.

    Of the first `count` says whether the group has rows; the others have `key`, `row` and `part`.
    """
    rows.from_json(session, partials, plan.partial_ddl).createOrReplaceTempView(PARTIAL)
    store = _as_rows(plan_frame(session, plan.upper.app, merged(plan.delta)), plan.delta)
    local = dict(zip(plan.delta.parts, plan.delta.groups, strict=True))
    key = plan.upper.member.key if plan.upper.above.is_view else None
    found = answer(plan_frame(session, plan.upper.app, plan.delta.final), plan.upper.shown, key, local)
    none = "cast(NULL AS BIGINT) AS count"
    return store.selectExpr("row", "key", "key AS part", "count").unionAll(found.selectExpr("row", "key", "part", none)).toArrow()


def _as_rows(frame: DataFrame, found: Delta) -> DataFrame:
    columns = frame.schema
    return frame.selectExpr(f"{rows.as_json(columns, found.groups)} AS key", f"{rows.as_json(columns, columns.names)} AS row", f"{COUNT} AS count")


def _weighed(session: SparkSession, upper: Upper, old: Sequence[str], new: Sequence[str]) -> DataFrame:
    (ddl,) = upper.above.inputs.values()
    gone, come = (rows.from_json(session, lines, ddl).selectExpr("*", f"{weight} AS {WEIGHT}") for lines, weight in ((old, "-1L"), (new, "1L")))
    return gone.unionAll(come)

"""Touched groups as the inputs of the plan above them: every group's lists of rows, spread out again, all of it inside Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StructType

from penstock.plan.cut.gather import ROWS
from penstock.plan.cut.inputs import INPUT
from penstock.plan.model.nodes import names_read
from penstock.share.jobs import Member
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_tables
from penstock.spark.compile.lower import Lower
from penstock.spark.compile.operators import plan_frame
from penstock.spark.compile.upper import answer


def columns_above(session: SparkSession, app: AppContext, lower: Lower) -> StructType:
    """The columns of the view, by analysing its plan over no rows."""
    plan = lower.member.cut.upper
    assert plan is not None
    register_tables(session, app, names_read(plan))
    for field in lower.columns.fields:
        if field.name.startswith(ROWS):
            assert isinstance(field.dataType, ArrayType)
            assert isinstance(field.dataType.elementType, StructType)
            empty = session.createDataFrame([], field.dataType.elementType)
            empty.createOrReplaceTempView(INPUT + field.name.removeprefix(ROWS))
    columns = plan_frame(session, app, plan).schema
    rows.check_names(columns, lower.member.name)
    return columns


def evaluated(groups: DataFrame, app: AppContext, member: Member) -> pa.Table:
    """The plan over the touched `groups`: `row`, `key` and `part` of every row of the result; and of every group a `part` without a row.

    The groups come from Spark's state, which an epoch must ask once only: so they are held while the plan reads them as often as it likes.
    """
    plan, session = member.cut.upper, groups.sparkSession
    assert plan is not None
    held = groups.persist()
    try:
        register_tables(session, app, names_read(plan))
        for name in groups.columns:
            if name.startswith(ROWS):
                held.selectExpr(f"inline({name})").createOrReplaceTempView(INPUT + name.removeprefix(ROWS))
        keys = [label for _, label in member.cut.parts]
        found = plan_frame(session, app, plan)
        touched = held.selectExpr("cast(NULL AS STRING) AS row", "cast(NULL AS STRING) AS key", f"{rows.as_json(groups.schema, keys)} AS part")
        return touched.unionAll(answer(found, rows.visible(found.columns), member.key, dict(member.cut.parts))).toArrow()
    finally:
        held.unpersist()

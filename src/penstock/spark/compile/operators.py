"""A plan as a DataFrame, bottom up: SQL below an operator, the operator applied to it, SQL above over what it gave.

Live, batch, peek, verify and what is evaluated above a cut all come through `plan_frame`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type
from pyspark.sql.types import StructType, _parse_datatype_string

from penstock.plan.cut.times import passes_time
from penstock.plan.cut.tried import TRIED, tried
from penstock.plan.expression.forbid import forbid
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.declare import Function
from penstock.plan.model.nodes import Node, Operate, Scan, rebuild
from penstock.plan.model.text import operator_call, sql
from penstock.schema import quote
from penstock.spark.compile import rows
from penstock.spark.compile.app_functions import load_function, style_of
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.keyed import keyed_frame, user_function
from penstock.spark.compile.patterns import pattern_frame
from penstock.spark.compile.user_code import UserCode, function, operator
from penstock.spark.session.session import ship_app

_SHIPPED = "the files of the app"
_WATERMARK = "spark.watermarkDelayMs"


def plan_frame(spark: SparkSession, app: AppContext, plan: Node) -> DataFrame:
    """The plan over the names registered in this session; the last lock, for here every query becomes Spark's."""
    own = {name.lower() for name in app.declared.functions}
    return _frame(spark, app, tried(plan, own, app.declared.streams) if app.sets_aside else plan)


def _frame(spark: SparkSession, app: AppContext, plan: Node) -> DataFrame:
    text = sql(_without_operators(spark, app, plan))
    forbid(text)
    _register_functions(spark, app, text)
    return spark.sql(text)


def _without_operators(spark: SparkSession, app: AppContext, node: Node) -> Node:
    """The plan with each operator, and all that is below it, as a temporary view of its rows."""
    if not isinstance(node, Operate):
        return rebuild(node, partial(_without_operators, spark, app))
    name = f"__operator_{zlib.crc32(operator_call(node).encode())}"
    if node.pattern is not None:
        found = pattern_frame(spark, app, node, node.pattern, partial(_frame, spark, app))
    elif node.is_keyed:
        code = _code(spark, app, node.function, name)
        found = keyed_frame(spark, app, node, user_function(app, node, code), partial(_frame, spark, app))
    else:
        found = _applied(spark, app, node, _frame(spark, app, node.inputs[0]), name)
    found.createOrReplaceTempView(name)
    return Scan(name, where=node.where)


def _applied(spark: SparkSession, app: AppContext, node: Operate, below: DataFrame, name: str) -> DataFrame:
    columns = rows.columns_of(node.returns.ddl)
    times = tuple(column.name for column in node.returns if passes_time(node, column.name.lower(), app.declared.declarations))
    code = _code(spark, app, node.function, name)
    given = {field.name.lower(): field for field in below.schema.fields}
    found = below.mapInArrow(operator(code, to_arrow_schema(columns, timezone="UTC"), tuple(given[time.lower()].name for time in times)), columns)
    marked = {time: given[time.lower()].metadata for time in times if _WATERMARK in given[time.lower()].metadata}
    # Spark lost the mark of the event time on the way; the times are the same ones, so that its watermark still holds for them.
    shown = [F.col(quote(each)).alias(each, metadata=marked[each]) if each in marked else F.col(quote(each)) for each in node.returns.names]
    return found.select(*shown)


def _register_functions(spark: SparkSession, app: AppContext, text: str) -> None:
    """The app's functions that a text calls, once in each session."""
    found = tokens(text)
    called = {token.value.lower() for token, after in pairwise(found) if token.is_name and after.text == "("}
    for entry in app.declared.functions.values():
        for name in (entry.name.lower(), f"{TRIED}{entry.name.lower()}"):
            if name in called and app.registered.add(spark, name):
                spark.udf.register(name, _udf(spark, app, entry, name))


def _udf(spark: SparkSession, app: AppContext, entry: Function, name: str) -> Callable[..., Any]:
    kind = _parse_datatype_string(entry.returns)
    code = _code(spark, app, entry.target, name, sets_aside=name.startswith(TRIED))
    returned = StructType().add("value", kind).add("error", "string") if code.failed is not None else kind
    made = function(code, to_arrow_type(kind, timezone="UTC"), style_of(code.call) if entry.vectorized else "value")
    return cast(Callable[..., Any], arrow_udf(made, returned))  # type: ignore[call-overload]


def _code(spark: SparkSession, app: AppContext, target: str, place: str, *, sets_aside: bool | None = None) -> UserCode:
    if app.registered.add(spark.sparkContext, _SHIPPED):
        ship_app(spark, app.declared.folder)
    sets_aside = app.sets_aside if sets_aside is None else sets_aside
    folder = app.declared.folder
    return UserCode(load_function(folder, target), target, str(folder), place, app.failed_rows.accumulator(spark) if sets_aside else None)

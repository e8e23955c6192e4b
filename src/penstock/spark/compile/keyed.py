"""A keyed operator as a DataFrame: over a stream with state, over history in one step. Which function it runs is decided here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.errors import NameFault, PlanFault
from penstock.eventtime import interval
from penstock.plan.cut.closed import watermark_of
from penstock.plan.cut.times import keyed_time
from penstock.plan.model.matching import VALUE
from penstock.plan.model.nodes import Item, Node, Operate, Project, names_read
from penstock.plan.model.user_code import digest
from penstock.plan.python.process import ProcessFunction
from penstock.schema import quote
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext
from penstock.spark.compile.user_code import UserCode
from penstock.spark.keyed.advance import KeyedOperator
from penstock.spark.keyed.batch import WATERMARK, on_history
from penstock.spark.keyed.bucket import BucketFunction
from penstock.spark.keyed.columns import Columns
from penstock.spark.keyed.live import BUCKET, Code, on_stream
from penstock.spark.keyed.loop import Kept, Loop
from penstock.spark.keyed.process import Process

_PAST_BUCKETS = 64


@dataclass(frozen=True)
class Running:
    """What an operator runs: the code that answers for it, and how its function and columns are made of those of a row (rows, keys, time).

    `output` is the side output that is asked for; `version` changes with what the function means.
    """

    code: Code
    made: Callable[[pa.Schema, tuple[str, ...], str | None], tuple[BucketFunction, StructType]]
    output: str | None = None
    version: str = ""


def user_function(app: AppContext, node: Operate, code: UserCode) -> Running:
    """A function of the app."""
    columns = rows.columns_of(node.returns.ddl)

    def made(given: pa.Schema, keys: tuple[str, ...], time: str | None) -> tuple[BucketFunction, StructType]:
        key_columns = pa.schema([given.field(key) for key in keys])
        return bucket_function(node, code, given, key_columns, to_arrow_schema(columns, timezone="UTC"), time), columns

    return Running(code, made, node.option("output"), digest(app.declared.folder, node.function))


def keyed_frame(spark: SparkSession, app: AppContext, node: Operate, running: Running, frame: Callable[[Node], DataFrame]) -> DataFrame:
    """The rows of the operator; `frame` compiles what is below it."""
    below = frame(node.inputs[0])
    time = keyed_time(node, app.declared.declarations)
    if time is not None and not below.isStreaming:
        below = frame(_with_watermark(app, node.inputs[0]))
    visible = [name for name in below.columns if name in node.keys or name.startswith(VALUE) or name in rows.visible([name])]
    keys = _named(node, node.keys, visible)
    order = _named(node, node.order or (() if time is None else (time,)), visible)
    timed = None if time is None else _named(node, (time,), visible)[0]
    arrow = to_arrow_schema(below.select(*map(_column, visible)).schema, timezone="UTC")
    function, columns = running.made(arrow, keys, timed)
    code, operator = running.code, KeyedOperator(function, arrow, keys, order, timed, running.output, running.version)
    buckets = (app.buckets or app.settings.number("keyed_buckets")) if below.isStreaming else _PAST_BUCKETS
    hashed = F.expr(f"CAST(pmod(xxhash64({', '.join(map(quote, keys)) or '0'}), {buckets}) AS INT)")
    if below.isStreaming:
        there = below if timed is None else below.where(f"{quote(timed)} IS NOT NULL")
        return on_stream(there.select(hashed.alias(BUCKET), *map(_column, visible)), operator, code, columns, buckets, app.late.accumulator(spark))
    if timed is None:
        return on_history(below.select(hashed.alias(BUCKET), *map(_column, visible)), operator, code, columns)
    there = below.where(f"{quote(timed)} > timestamp'1970-01-01' AND {quote(timed)} <= {WATERMARK}")
    return on_history(there.select(hashed.alias(BUCKET), *map(_column, visible), WATERMARK), operator, code, columns)


def bucket_function(node: Operate, code: UserCode, given: pa.Schema, keys: pa.Schema, returns: pa.Schema, time: str | None) -> BucketFunction:
    """The function of the app as a function of buckets."""
    if inspect.isclass(code.call) and issubclass(code.call, ProcessFunction):
        return Process(code.call(), returns, keys, time, node.option("output"))
    declared = None if node.state is None else to_arrow_schema(_columns(node.state.ddl), timezone="UTC")
    shared = [] if declared is None else [name for name in declared.names if name in keys.names]
    if shared:
        raise PlanFault(f"the state of `{node.function}` has a column `{shared[0]}`, which is a key already", where=node.where)
    ttl = node.option("ttl")
    kept = Kept(keys, declared, None if ttl is None else interval(ttl), time)
    if node.option("vectorized") is None:
        return Loop(code.call, returns, kept)
    if declared is None or ttl is not None:
        missing = "declares no state" if declared is None else "has a ttl, which is judged row by row"
        raise PlanFault(f"`{node.function}` is vectorized and {missing}", where=node.where, hint="declare the columns of its state: 'state n INT'")
    hints = [str(parameter.annotation) for parameter in inspect.signature(code.call).parameters.values()]
    return Columns(code.call, returns, kept, pandas=any("DataFrame" in hint for hint in hints))


def _columns(ddl: str) -> StructType:
    return rows.columns_of(ddl)


def _column(name: str) -> Column:
    return F.col(quote(name))


def _named(node: Operate, names: Sequence[str], visible: Sequence[str]) -> tuple[str, ...]:
    """Columns as the rows below call them; NameFault for one that they do not have."""
    known = {name.lower(): name for name in visible}
    missing = next((name for name in names if name.lower() not in known), None)
    if missing is not None:
        hint = f"there are {', '.join(visible)}"
        raise NameFault(f"`{node.function}` takes its rows by `{missing}`, which they do not have", where=node.where, hint=hint)
    return tuple(known[name.lower()] for name in names)


def _with_watermark(app: AppContext, plan: Node) -> Node:
    """The rows below with the watermark that a live run would have come to."""
    if app.mark_ms is not None:
        return Project(plan, (Item("*"), Item(f"timestamp_millis({app.mark_ms}L)", WATERMARK)))
    streams = app.declared.streams
    text, subs = watermark_of([streams[name] for name in names_read(plan) if name in streams and streams[name].event_time])
    return Project(plan, (Item("*"), Item(text, WATERMARK)), subs)

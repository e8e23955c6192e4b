"""The part of a plan that runs as the streaming query, and how its rows are identified."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.plan.cut.decide import Strategy
from penstock.plan.cut.divide import KEEP
from penstock.plan.cut.steps import ROW, TAG
from penstock.plan.model.keys import ALL_COLUMNS
from penstock.plan.model.nodes import Item, Node, Project, Scan, Union, walk
from penstock.share.jobs import Member
from penstock.spark.compile import rows
from penstock.spark.compile.frames import AppContext, register_live
from penstock.spark.compile.operators import plan_frame

ONCE = "once__"
_ENCODED = pa.schema([("__key", pa.string()), ("__row", pa.string()), ("__keep", pa.bool_())])


@dataclass(frozen=True)
class Lower:
    """A streaming DataFrame, and what is known of its columns."""

    member: Member
    frame: DataFrame
    visible: tuple[str, ...]
    occurrences: tuple[str, ...]

    @property
    def columns(self) -> StructType:
        return self.frame.schema


def open_lower(spark: SparkSession, app: AppContext, member: Member) -> Lower:
    """Compile the job's own plan over live streams."""
    cut = member.cut
    plan = ticker(cut.streams) if cut.strategy is Strategy.RECOMPUTE else cut.lower
    register_live(spark, app, plan, watermarked=cut.watermarked, closes=cut.watermarked and cut.mode == "append")
    if not cut.streams:
        _register_once(spark, app)
    frame = plan_frame(spark, app, plan)
    rows.check_names(frame.schema, member.name)
    occurrences = tuple(part.name for part in walk(plan) if isinstance(part, Scan) and part.name in app.declared.streams)
    return Lower(member, frame, tuple(rows.visible(frame.columns)), occurrences)


def encoded(lower: Lower) -> DataFrame:
    """`__key`, `__row` and `__keep` of every row: what an epoch writes."""
    columns, cut = lower.columns, lower.member.cut
    row = rows.as_json(columns, columns.names if cut.upper is not None else lower.visible)
    return lower.frame.selectExpr(
        f"{_key(lower.member, columns, row)} AS __key",
        f"{row} AS __row",
        f"{_keep(columns.names)} AS __keep",
    )


def collected(rows_of_epoch: DataFrame) -> pa.Table:
    """What `encoded` gives, here."""
    return collected_as(rows_of_epoch, _ENCODED)


def collected_as(rows_of_epoch: DataFrame, columns: pa.Schema) -> pa.Table:
    """Rows with these columns, here. They are known: `toArrow` would ask the JVM for them and for settings in every epoch."""
    batches = rows_of_epoch._collect_as_arrow()  # type: ignore[operator]
    return pa.Table.from_batches(batches) if batches else columns.empty_table()


def tagged(lower: Lower) -> DataFrame:
    """The number of its input and the text of every row: what an epoch adds to the inputs of steps."""
    fields = [field for field in lower.columns.fields if field.name != TAG]
    lines = ", ".join(rows.value_as_json(field.name, field.dataType) for field in fields)
    return lower.frame.selectExpr(TAG, f"coalesce({lines}) AS {ROW}")


def tagged_columns(lower: Lower, number: int) -> str:
    """The columns of the input of this number, as DDL."""
    kind = lower.columns[f"{ROW}{number}"].dataType
    assert isinstance(kind, StructType)
    return rows.ddl(kind)


def _register_once(spark: SparkSession, app: AppContext) -> None:
    """A stream that gets a row at every start, for views over tables alone: the tables may have changed since."""
    folder = app.state / "recorded" / ONCE
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time_ns()
    (folder / f".{now}").write_text("once\n", encoding="ascii")
    (folder / f".{now}").rename(folder / f"{now}.txt")
    spark.readStream.text(str(folder)).createOrReplaceTempView(ONCE)


def ticker(streams: tuple[str, ...]) -> Node:
    """A plan that only takes note of new rows: where everything is computed from history; once a start, where there are no streams."""
    streams = streams or (ONCE,)
    ticks: tuple[Node, ...] = tuple(Project(Scan(name), (Item("1", "tick"),)) for name in streams)
    return ticks[0] if len(ticks) == 1 else Union(ticks)


def _key(member: Member, columns: StructType, row: str) -> str:
    keys = member.cut.keys
    if keys is None:
        return "cast(NULL AS STRING)"
    if keys == ALL_COLUMNS:
        return row
    return rows.as_json(columns, keys, member.key if member.cut.upper is None and member.key is not None else None)


def _keep(names: list[str]) -> str:
    flags = [name for name in names if name.startswith(KEEP)]
    return " AND ".join(flags) if flags else "true"

"""Names as DataFrames: every stream, table and kept result that a plan reads, registered for `spark.sql`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.decode import dead_rows, decode
from penstock.errors import OptionFault
from penstock.plan.declare import Declared, Secret, Stream, Table
from penstock.plan.nodes import Node, names_read
from penstock.plan.text import sql
from penstock.schema import quote
from penstock.settings import Settings
from penstock.source import Limits, Source, SourceSpec, Span
from penstock.source.open import open_source, table_frame
from penstock.spark.gate import gate


@dataclass(frozen=True)
class App:
    """What it takes to open the app's sources."""

    declared: Declared
    settings: Settings
    state: Path
    secret: Callable[[str], str]

    def options(self, options: Mapping[str, object]) -> dict[str, str]:
        """Option values as text, secrets read at the last moment."""
        return {name: self.secret(value.name) if isinstance(value, Secret) else _text(value) for name, value in options.items()}

    def spec(self, item: Stream | Table) -> SourceSpec:
        return SourceSpec(item.name, self.options(item.options), item.schema, self.declared.folder, self.state)

    def source(self, stream: Stream) -> Source:
        return open_source(self.spec(stream))

    @property
    def limits(self) -> Limits:
        return Limits(self.settings.number("batch_rows_max"), self.settings.number("batch_mb_max"), self.settings.number("batch_files_max"))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def plan_frame(spark: SparkSession, plan: Node) -> DataFrame:
    """The plan over the names registered in this session."""
    return spark.sql(sql(plan))


def live_stream(spark: SparkSession, app: App, stream: Stream, *, watermarked: bool) -> DataFrame:
    """Good rows of a stream as they come, through its gate.

    Spark moves nothing across the gate. So a record is decoded once, and a view's filter stays above the watermark, which all
    good rows of the stream move: a filter below it would hold it back.
    """
    raw = app.source(stream).live(spark, app.limits)
    decoded = decode(raw, app.spec(stream), stream.event_time, _max_ahead(stream), words=False)
    if watermarked and stream.event_time:
        time = quote(stream.event_time)
        decoded = decoded.withColumn(stream.event_time, F.expr(f"if(__reason IS NULL, {time}, NULL)"))
        decoded = decoded.withWatermark(stream.event_time, stream.lateness or "0 seconds")
    return decoded.where(gate(stream.name)).select(*_columns(stream))


def history(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = "current_timestamp()") -> DataFrame:
    """Good rows of a stream's past."""
    raw = app.source(stream).history(spark, span)
    return _good(decode(raw, app.spec(stream), stream.event_time, _max_ahead(stream), now, words=False), stream)


def traced(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = "current_timestamp()") -> DataFrame:
    """Good rows of a stream's past, each with its `__position`."""
    raw = app.source(stream).history(spark, span)
    decoded = decode(raw, app.spec(stream), stream.event_time, _max_ahead(stream), now, words=False)
    return decoded.where("__reason IS NULL").select(*_columns(stream), "__position")


def dead(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = "current_timestamp()") -> DataFrame:
    """Records of a stream's past that did not decode: `__position`, `__reason`, `__raw`."""
    decoded = decode(app.source(stream).history(spark, span), app.spec(stream), stream.event_time, _max_ahead(stream), now)
    return dead_rows(decoded)


def _good(decoded: DataFrame, stream: Stream) -> DataFrame:
    return decoded.where("__reason IS NULL").select(*_columns(stream))


def _columns(stream: Stream) -> list[Column]:
    return [F.col(quote(name)) for name in stream.schema.names]


def _max_ahead(stream: Stream) -> str | None:
    value = stream.options.get("max_ahead")
    if isinstance(value, Secret):
        raise OptionFault(f"stream `{stream.name}`: `max_ahead` cannot be a secret", where=stream.where)
    return None if value is None else str(value)


def register_tables(spark: SparkSession, app: App, names: Iterable[str]) -> None:
    for name in names:
        table = app.declared.tables.get(name)
        if table is not None:
            table_frame(spark, app.spec(table)).createOrReplaceTempView(quote(name))


def register_live(spark: SparkSession, app: App, plan: Node, *, watermarked: bool) -> None:
    """Everything that a streaming plan reads."""
    names = names_read(plan)
    register_tables(spark, app, names)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            live_stream(spark, app, stream, watermarked=watermarked).createOrReplaceTempView(quote(name))


def register_history(spark: SparkSession, app: App, plan: Node, spans: Mapping[str, Span], *, now: str = "current_timestamp()") -> None:
    """Everything that a plan reads, as of the past; a stream without a span is read whole."""
    names = names_read(plan)
    register_tables(spark, app, names)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            history(spark, app, stream, spans.get(name, Span()), now=now).createOrReplaceTempView(quote(name))

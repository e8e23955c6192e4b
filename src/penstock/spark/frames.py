"""Names as DataFrames: every stream, table and kept result that a plan reads, registered for `spark.sql`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.decode import CLOCK, Rules, dead_rows, decode
from penstock.errors import OptionFault
from penstock.plan.declare import Declared, Secret, Stream, Table, View
from penstock.plan.forbid import forbid
from penstock.plan.nodes import Node, names_read
from penstock.plan.text import sql
from penstock.plan.watermarks import scoped
from penstock.schema import quote
from penstock.settings import Settings
from penstock.source import HasLines, Limits, Source, SourceSpec, Span
from penstock.source.broken import BrokenFiles
from penstock.source.open import open_source, table_frame
from penstock.spark.gate import BARRIER, gate


@dataclass(frozen=True)
class App:
    """What it takes to open the app's sources."""

    declared: Declared
    settings: Settings
    state: Path
    secret: Callable[[str], str]
    broken: BrokenFiles = field(default_factory=BrokenFiles)
    """The files of its streams and tables that turned out not to be readable to their end."""

    def seen_by(self, view: View) -> App:
        """The app as a view sees it, which may declare event times of its own: they judge which records are dated too far ahead."""
        return replace(self, declared=replace(self.declared, declarations=scoped(view, self.declared.declarations)))

    def options(self, options: Mapping[str, object]) -> dict[str, str]:
        """Option values as text, secrets read at the last moment."""
        return {name: self.secret(value.name) if isinstance(value, Secret) else _text(value) for name, value in options.items()}

    def spec(self, item: Stream | Table) -> SourceSpec:
        return SourceSpec(item.name, self.options(item.options), item.schema.given, self.declared.folder, self.state, self.broken)

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
    """The plan over the names registered in this session; the last lock, for here every query becomes Spark's."""
    text = sql(plan)
    forbid(text)
    return spark.sql(text)


def live_stream(spark: SparkSession, app: App, stream: Stream, *, watermarked: bool, closes: bool) -> DataFrame:
    """Good rows of a stream as they come, through its gate, which Spark moves nothing across: a record is decoded once.

    Where the watermark `closes` windows, a view's filter is kept above it: below, the rows that it drops would not move the
    watermark on. Elsewhere the watermark only tells what may be forgotten, and Spark may filter first, which is quicker.
    """
    good = _decoded(app, stream, app.source(stream).live(spark, app.limits)).where(gate(stream.name)).select(*_columns(stream))
    if watermarked and stream.event_time and stream.lateness:
        good = good.withWatermark(stream.event_time, stream.lateness)
    return good.where(BARRIER) if closes else good


def history(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = CLOCK) -> DataFrame:
    """Good rows of a stream's past."""
    decoded = _decoded(app, stream, app.source(stream).history(spark, span), now)
    return decoded.where("__reason IS NULL").select(*_columns(stream))


def traced(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = CLOCK) -> DataFrame:
    """Good rows of a stream's past, each with its `__position` and the record itself, `__raw`."""
    decoded = _decoded(app, stream, app.source(stream).history(spark, span), now)
    return decoded.where("__reason IS NULL").select(*_columns(stream), "__position", "__raw")


def dead(spark: SparkSession, app: App, stream: Stream, span: Span, *, now: str = CLOCK) -> DataFrame:
    """Records of a stream's past that did not decode: `__position`, `__reason`, `__raw`."""
    source = app.source(stream)
    written = source.written if isinstance(source, HasLines) else stream.schema.given
    return dead_rows(_decoded(app, stream, source.history(spark, span), now, words=True), app.spec(stream), written)


def _decoded(app: App, stream: Stream, raw: DataFrame, now: str = CLOCK, *, words: bool = False) -> DataFrame:
    """Records with the columns that they hold, their fault if they have one, and the columns that are computed from them."""
    computed = {column.name: f"CAST(({column.computed}) AS {column.type})" for column in stream.schema if column.computed is not None}
    return decode(raw, app.spec(stream), Rules(stream.event_time, _max_ahead(stream), now, computed, words))


def _columns(source: Stream | Table) -> list[Column]:
    return [F.col(quote(name)) for name in source.schema.names]


def _max_ahead(stream: Stream) -> str | None:
    value = stream.options.get("max_ahead")
    if isinstance(value, Secret):
        raise OptionFault(f"stream `{stream.name}`: `max_ahead` cannot be a secret", where=stream.where)
    return None if value is None else str(value)


def _good_rows(spark: SparkSession, app: App, table: Table) -> DataFrame:
    """A table's rows; what is good in its files is told as it is for a stream, whichever columns are asked for."""
    found = table_frame(spark, app.spec(table))
    if "__position" not in found.columns:
        return found
    return decode(found, app.spec(table), Rules(words=False)).where("__reason IS NULL").select(*_columns(table))


def register_tables(spark: SparkSession, app: App, names: Iterable[str]) -> None:
    for name in names:
        table = app.declared.tables.get(name)
        if table is not None:
            _good_rows(spark, app, table).createOrReplaceTempView(quote(name))


def register_live(spark: SparkSession, app: App, plan: Node, *, watermarked: bool, closes: bool) -> None:
    """Everything that a streaming plan reads."""
    names = names_read(plan)
    register_tables(spark, app, names)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            live_stream(spark, app, stream, watermarked=watermarked, closes=closes).createOrReplaceTempView(quote(name))


def register_history(spark: SparkSession, app: App, plan: Node, spans: Mapping[str, Span], clocks: Mapping[str, str] | None = None) -> None:
    """Everything that a plan reads, as of the past; a stream without a span is read whole, and judged by the clock on the wall without one."""
    names = names_read(plan)
    register_tables(spark, app, names)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            found = history(spark, app, stream, spans.get(name, Span()), now=(clocks or {}).get(name, CLOCK))
            found.createOrReplaceTempView(quote(name))

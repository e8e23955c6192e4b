"""Names as DataFrames: every stream, table and kept result that a plan reads, registered for `SparkSession.sql`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.decode import CLOCK, Rules, dead_rows, decode
from penstock.errors import OptionFault
from penstock.plan.model.declare import Declared, Secret, Stream, Table, View
from penstock.plan.model.nodes import Node, names_read
from penstock.plan.model.watermarks import scoped
from penstock.schema import Schema, quote
from penstock.settings import Settings
from penstock.source import HasLines, Limits, Source, SourceSpec, Span
from penstock.source.files.broken import BrokenFiles
from penstock.source.files.source import Files
from penstock.source.open import open_source, table_frame
from penstock.spark.compile.app_functions import Registered
from penstock.spark.compile.counted import BARRIER, good_record, observed
from penstock.spark.compile.failed_rows import FailedRows, LateRows
from penstock.spark.compile.table_versions import TableVersions


@dataclass(frozen=True)
class AppContext:
    """What it takes to open the app's sources."""

    declared: Declared
    settings: Settings
    state: Path
    secret: Callable[[str], str]
    broken: BrokenFiles = field(default_factory=BrokenFiles)
    """The files of its streams and tables that turned out not to be readable to their end."""
    sets_aside: bool = True
    """Whether a row for which a Python function raises goes to the dead letters; else it stops the view."""
    failed_rows: FailedRows = field(default_factory=FailedRows)
    registered: Registered = field(default_factory=Registered)
    late: LateRows = field(default_factory=LateRows)
    buckets: int | None = None
    """Into how many buckets a job puts the keys of an operator; None: as the setting says."""
    mark_ms: int | None = None
    """The watermark up to which a keyed operator takes rows of the past; None: that of all rows that are read."""
    versions: TableVersions | None = None
    """Where tables are read in versions that are noted: by a job, and by who proves what it did."""

    def seen_by(self, view: View) -> AppContext:
        """The app as a view sees it, which may declare event times of its own: they judge which records are dated too far ahead."""
        seen = replace(self.declared, declarations=scoped(view, self.declared.declarations))
        return replace(self, declared=seen, sets_aside=view.on_error != "stop")

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


def live_stream(spark: SparkSession, app: AppContext, stream: Stream, *, watermarked: bool, closes: bool) -> DataFrame:
    """Good rows of a stream as they come, through a filter that Spark moves nothing across: a record is decoded once.

    Where the watermark `closes` windows, a view's filter is kept above it: below, the rows that it drops would not move the
    watermark on. Elsewhere the watermark only tells what may be forgotten, and Spark may filter first, which is quicker.
    """
    good = _decoded(app, stream, app.source(stream).live(spark, app.limits)).where(good_record(stream.name)).select(*_columns(stream))
    if watermarked and stream.event_time and stream.lateness:
        good = good.withWatermark(quote(stream.event_time), stream.lateness)
    return good.where(BARRIER) if closes else good


def history(spark: SparkSession, app: AppContext, stream: Stream, span: Span, *, now: str = CLOCK, counted: bool = False) -> DataFrame:
    """Good rows of a stream's past; `counted`: how many records were not good is known once they were read, see `set_aside`."""
    decoded = _decoded(app, stream, app.source(stream).history(spark, span), now)
    return (observed(decoded, stream.name) if counted else decoded).where("__reason IS NULL").select(*_columns(stream))


def traced(spark: SparkSession, app: AppContext, stream: Stream, span: Span, *, now: str = CLOCK) -> DataFrame:
    """Good rows of a stream's past, each with its `__position` and the record itself, `__raw`."""
    decoded = _decoded(app, stream, app.source(stream).history(spark, span), now)
    return decoded.where("__reason IS NULL").select(*_columns(stream), "__position", "__raw")


def dead(spark: SparkSession, app: AppContext, stream: Stream, span: Span, *, now: str = CLOCK) -> DataFrame:
    """Records of a stream's past that did not decode: `__position`, `__reason`, `__raw`."""
    source = app.source(stream)
    written = source.written if isinstance(source, HasLines) else stream.schema.given
    return dead_rows(_decoded(app, stream, source.history(spark, span), now, words=True), app.spec(stream), written)


def unfit(spark: SparkSession, app: AppContext, stream: Stream, lines: Sequence[bytes]) -> int:
    """How many of these lines would be dead letters of the stream."""
    raw = spark.createDataFrame(pa.table({"__value": pa.array(lines, pa.binary())})).selectExpr("__value", "'{}' AS __position")
    return _decoded(app, stream, raw).where("__reason IS NOT NULL").count()


def readable(app: AppContext, stream: Stream, raw: DataFrame, written: Schema | None, *, now: str = CLOCK) -> DataFrame:
    """The `__position` of those of some records (`__value`, `__position`) that decode, as of a moment; `written` as in `decode`."""
    return _decoded(app, stream, raw, now, written=written).where("__reason IS NULL").select("__position")


def _decoded(app: AppContext, stream: Stream, raw: DataFrame, now: str = CLOCK, *, words: bool = False, written: Schema | None = None) -> DataFrame:
    """Records with the columns that they hold, their fault if they have one, and the columns that are computed from them."""
    computed = {column.name: f"CAST(({column.computed}) AS {column.type})" for column in stream.schema if column.computed is not None}
    return decode(raw, app.spec(stream), Rules(stream.event_time, _max_ahead(stream), now, computed, words), written)


def _columns(source: Stream | Table) -> list[Column]:
    return [F.col(quote(name)) for name in source.schema.names]


def _max_ahead(stream: Stream) -> str | None:
    value = stream.options.get("max_ahead")
    if isinstance(value, Secret):
        raise OptionFault(f"stream `{stream.name}`: `max_ahead` cannot be a secret", where=stream.where)
    return None if value is None else str(value)


def dead_of_table(spark: SparkSession, app: AppContext, table: Table) -> DataFrame | None:
    """As `dead`, of a table as it is now; None where it is not made of records."""
    found, spec = table_frame(spark, app.spec(table)), app.spec(table)
    return dead_rows(decode(found, spec, Rules()), spec, Files(spec).written) if "__position" in found.columns else None


def table_rows(spark: SparkSession, app: AppContext, table: Table, *, counted: bool = False) -> DataFrame:
    """A table's rows; what is good in its files is decided as it is for a stream, whichever columns are asked for."""
    spec = app.spec(table)
    found = table_frame(spark, spec) if app.versions is None else app.versions.frame(spark, spec)
    if "__position" not in found.columns:
        return found
    decoded = decode(found, app.spec(table), Rules(words=False))
    return (observed(decoded, table.name) if counted else decoded).where("__reason IS NULL").select(*_columns(table))


def register_tables(spark: SparkSession, app: AppContext, names: Iterable[str], *, counted: bool = False) -> None:
    for name in names:
        table = app.declared.tables.get(name)
        if table is not None:
            table_rows(spark, app, table, counted=counted).createOrReplaceTempView(quote(name))


def register_live(spark: SparkSession, app: AppContext, plan: Node, *, watermarked: bool, closes: bool) -> None:
    """Everything that a streaming plan reads."""
    names = names_read(plan)
    register_tables(spark, app, names)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            live_stream(spark, app, stream, watermarked=watermarked, closes=closes).createOrReplaceTempView(quote(name))


def register_history(
    spark: SparkSession,
    app: AppContext,
    plan: Node,
    spans: Mapping[str, Span],
    clocks: Mapping[str, str] | None = None,
    *,
    counted: bool = False,
) -> None:
    """Everything that a plan reads, as of the past; a stream without a span is read whole, and judged by the clock on the wall without one."""
    names = names_read(plan)
    register_tables(spark, app, names, counted=counted)
    for name in names:
        stream = app.declared.streams.get(name)
        if stream is not None:
            found = history(spark, app, stream, spans.get(name, Span()), now=(clocks or {}).get(name, CLOCK), counted=counted)
            found.createOrReplaceTempView(quote(name))

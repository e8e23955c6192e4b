"""Rows made up from a seed: every value is a Spark expression of the row's number, so it is the same in every run.

A column's expression may use `n` (row number, BIGINT), `key` (BIGINT, by the Zipf law), `r1` to `r6` (DOUBLE, uniform
in [0, 1)) and `at` (TIMESTAMP, with the disorder asked for). Live and history give equal rows, and all views the same
ones. Replayable: yes. Unit of parallelism: a range of row numbers.
"""

from __future__ import annotations

import threading
import time
import zlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.eventtime import interval
from penstock.option import STREAM, moment
from penstock.schema import Column
from penstock.source import Limits, SourceSpec, Span
from penstock.source.files.source import Files
from penstock.source.landing import land
from penstock.source.options import GENERATED, option_value, options_of
from penstock.source.supplier import Supplier, Supply, files_for, landed
from penstock.source.zipf import zipf_key

_RANDOM = tuple(f"r{place}" for place in range(1, 7))
_FIXED_START = datetime(2024, 1, 1, tzinfo=UTC)
_STEP_MICROS = 1_000
_SAMPLE_ROWS = 1_000  # the history of an endless stream that never ran
_DISORDER = 7  # which of the uniform numbers disorders event time; 0 draws the key, 1 to 6 are the user's

_suppliers: dict[Path, Supplier] = {}
_guard = threading.Lock()


class Generator:
    """The connector `generator`."""

    def __init__(self, spec: SourceSpec) -> None:
        self._spec = spec
        rows, rate = self._option("rows"), self._option("rows_per_second")
        self._supply = Supply(int(rows) if rows is not None else None, float(rate or 0) or None)
        self._folder = (spec.state / "recorded" / spec.name).absolute()

    def live(self, spark: SparkSession, limits: Limits) -> DataFrame:
        self._supplier()
        bound = replace(limits, files=files_for(limits.rows, self._supply))
        return self._typed(_numbers(self._ranges().live(spark, bound)))

    def history(self, spark: SparkSession, span: Span) -> DataFrame:
        if not span.whole:
            return self._typed(_numbers(self._ranges().history(spark, span)))
        rows = self._supply.rows if self._supply.rows is not None else landed(self._folder)[1] or _SAMPLE_ROWS
        return self._typed(spark.range(rows).withColumnRenamed("id", "n"))

    def close(self) -> None:
        """Stops the supply of this stream, whoever started it."""
        with _guard:
            supplier = _suppliers.pop(self._folder, None)
        if supplier is not None:
            supplier.stop()

    def caught_up(self, timeout_s: float) -> bool:
        """A run that ends takes all rows of a bounded stream, and about a second's of an endless one."""
        self._supplier().finish(int(self._supply.per_second or 0))
        return True

    def _supplier(self) -> Supplier:
        """The one that supplies this stream in this process; several jobs open the same stream."""
        with _guard:
            supplier = _suppliers.get(self._folder)
            if supplier is None or supplier.supply != self._supply:
                if supplier is not None:
                    supplier.stop()
                supplier = _suppliers[self._folder] = Supplier(self._supply, self._folder)
                supplier.start()
            return supplier

    def _ranges(self) -> Files:
        return Files(replace(self._spec, options={"connector": "files", "path": str(self._folder), "format": "text"}))

    def _typed(self, numbers: DataFrame) -> DataFrame:
        key = zipf_key("__u0", int(self._option("keys") or 1), float(self._option("skew") or 0))
        base = numbers.select(
            F.col("n"),
            F.expr(self._uniform(0)).alias("__u0"),
            F.expr(self._event_time()).alias("at"),
            *(F.expr(self._uniform(place)).alias(name) for place, name in enumerate(_RANDOM, start=1)),
        ).withColumn("key", F.expr(key))
        columns = [F.expr(f"CAST(({self._expression(column)}) AS {column.type})").alias(column.name) for column in self._spec.schema]
        return base.select(*columns, F.expr("to_json(named_struct('row', n))").alias("__position"))

    def _expression(self, column: Column) -> str:
        for name, text in self._spec.options.items():
            if name.lower() == column.name.lower() and name.lower() in _columns_given(self._spec):
                return text
        if GENERATED.get(column.name.lower()) == column.family:
            return column.name.lower()
        return self._by_type(column)

    def _by_type(self, column: Column) -> str:
        """A value for a column without options: one of the key's names, a number up to 100, the time of the row."""
        drawn = self._uniform(zlib.crc32(column.name.lower().encode()))
        label = column.name.replace("\\", "\\\\").replace("'", "\\'")
        choices = {
            "text": f"concat('{label}-', key)",
            "number": f"{drawn} * 100",
            "time": "at",
            "boolean": f"{drawn} < 0.5",
            "binary": f"encode(concat('{label}-', key), 'UTF-8')",
        }
        return choices.get(column.family, "NULL")

    def _uniform(self, place: int) -> str:
        """53 bits of a hash of the row's number: uniform in [0, 1)."""
        return f"(shiftrightunsigned(xxhash64(n, {int(self._option('seed') or 0)}L, {place}), 11) * 1.1102230246251565E-16D)"

    def _event_time(self) -> str:
        given, step, rate = self._option("start"), self._option("step"), self._supply.rate
        begin = moment(given) if given else (datetime.fromtimestamp(first_start(self._folder), UTC) if rate else _FIXED_START)
        micros = round(begin.timestamp() * 1_000_000)
        each = interval(step) if step else (1_000_000 / rate if rate else _STEP_MICROS)
        moved = f"n * {each}L" if isinstance(each, int) else f"CAST(n * {each!r}D AS BIGINT)"
        disorder = interval(self._option("disorder") or "0 seconds")
        back = f" - CAST({self._uniform(_DISORDER)} * {disorder} AS BIGINT)" if disorder else ""
        return f"timestamp_micros({micros}L + {moved}{back})"

    def _option(self, name: str) -> str | None:
        return option_value(self._spec.options, "generator", name)


def first_start(folder: Path) -> float:
    """When a rate-limited stream began, in seconds since 1970: asked for the first time it is now, and then stays.

    Event time is counted from this moment, also after a restart.
    """
    kept = folder / "_start"  # hidden from the reader of the ranges beside it
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        land(kept, repr(round(time.time(), 3)).encode())
    return float(kept.read_text(encoding="utf-8"))


def _columns_given(spec: SourceSpec) -> set[str]:
    """The columns that have an expression: options that are not options of the connector itself."""
    known = {option.name for option in options_of(STREAM, "generator")}
    return {name.lower() for name in spec.options} - known


def _numbers(ranges: DataFrame) -> DataFrame:
    """`first end` lines as the row numbers between."""
    bounds = ranges.selectExpr("split(__value, ' ') AS __bounds")
    return bounds.selectExpr("explode(sequence(cast(__bounds[0] AS BIGINT), cast(__bounds[1] AS BIGINT) - 1)) AS n")

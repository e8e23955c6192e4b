"""The same queries by plain PySpark: Structured Streaming as the Spark guide has it, where it takes the query."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock.bench.nexmark.generate import STREAMS
from penstock.bench.nexmark.queries import HERE, statement
from penstock.bench.ysb import plain_session

# Results that change while they grow, for which Spark has the output mode `update`: their keys, by which the last row counts.
_KEYS = {
    "q4": ["category"],
    "q11": ["bidder", "starttime"],
    "q12": ["bidder", "starttime"],
    "q15": ["day"],
    "q16": ["channel", "day"],
    "q17": ["auction", "day"],
}
_OWN_TEXT = {
    "q12": """SELECT bidder, count(*) AS bid_count, w.start AS starttime, w.end AS endtime
              FROM (SELECT bidder, window(dateTime, '10 seconds') AS w FROM bid) GROUP BY bidder, w"""
}
_NO_WINDOW_FUNCTION = "Spark's SQL has no TUMBLE and no HOP in FROM"


def run(folder: Path, queries: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each query with its seconds and its rows, or with the reason why Spark refused it."""
    spark = plain_session()
    declared = (HERE / "streams.sql").read_text(encoding="utf-8")
    for stream in STREAMS:
        (columns,) = re.findall(rf"CREATE STREAM {stream} \((.*?),\s+WATERMARK", declared, re.DOTALL)
        spark.readStream.schema(columns).json(str(folder / stream)).withWatermark("dateTime", "4 seconds").createOrReplaceTempView(stream)
    spark.read.schema("key BIGINT, value STRING").option("header", True).csv(str(folder / "side_input.csv")).createOrReplaceTempView("side_input")
    warm = False
    for query in queries:
        text = _OWN_TEXT.get(query) or statement(query).partition(" AS\n")[2].rstrip().rstrip(";")
        if "FROM TABLE(" in text:
            yield query, {"refused": _NO_WINDOW_FUNCTION}
            continue
        found = _run(spark, folder, query, text)
        if not warm and "refused" not in found:
            warm, found = True, _run(spark, folder, query, text)
        yield query, found
    spark.stop()


def _run(spark: Any, folder: Path, query: str, text: str) -> dict[str, Any]:
    from pyspark.errors import AnalysisException, StreamingQueryException
    from pyspark.sql import DataFrame

    parts: list[Any] = []

    def keep(batch: DataFrame, number: int) -> None:
        parts.append(batch.toPandas())

    began = time.monotonic()
    try:
        writer = spark.sql(text).writeStream.foreachBatch(keep).outputMode("update" if query in _KEYS else "append").trigger(availableNow=True)
        writer.option("checkpointLocation", str(folder / f"pyspark-{query}-{time.monotonic_ns()}")).start().awaitTermination()
    except (AnalysisException, StreamingQueryException) as refusal:
        return {"refused": " ".join(str(refusal).split("SQLSTATE")[0].split())[:200]}
    return {"seconds": time.monotonic() - began, "rows": _united(parts, _KEYS.get(query))}


def _united(parts: Sequence[Any], keys: Sequence[str] | None) -> Any:
    import pandas as pd

    rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return rows.drop_duplicates(subset=list(keys), keep="last") if keys and len(rows) else rows

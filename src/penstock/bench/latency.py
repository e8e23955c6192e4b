"""The floor of a micro-batch: a hundred rows at a time, one batch right after the other.

A batch lasts from one entry in the checkpoint's commit log to the next, which takes in all that Spark and the sink do. Each
process runs both cases four times, each time with a new checkpoint. The last run counts: a stream runs for months, and its JVM
is busy with compiling for the first minutes only. The first run is shown beside it, as `cold`. Plain PySpark has Spark's default
settings, but no more shuffle partitions than cores.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle, percentile
from penstock.bench.ysb import plain_session, stamp
from penstock.observe.request import RunRequest

SYSTEMS = ("penstock", "pyspark")
CASES = ("stateless", "windowed")
_ROWS = 100
_RUNS = 4
_COLD = 5
_COLUMNS = "k STRING, v BIGINT, at TIMESTAMP"
_APP = """
CREATE STREAM readings (k STRING, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
  WITH (connector = 'files', path = '{input}', format = 'json');
CREATE MATERIALIZED VIEW stateless AS SELECT k, v * 2 AS v FROM readings WHERE v % 2 = 0;
CREATE MATERIALIZED VIEW windowed AS SELECT window, k, sum(v) AS total FROM readings GROUP BY window(at, '10 seconds'), k;
"""


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """p50 and p95 of both cases on both systems; the ratio is that of the medians, the smaller of the two cases."""
    batches = max((events or 10_000) // _ROWS, _COLD + 10)
    write_readings(folder / "in", batches)
    found = alternately(SYSTEMS, rounds, lambda system: in_child("penstock.bench.latency", system, str(folder)), report)
    figures, cold = ({case: _figures(case, kind, found) for case in CASES} for kind in ("ms", "cold_ms"))
    ratios = {case: round(figures[case]["pyspark"]["p50_ms"] / figures[case]["penstock"]["p50_ms"], 2) for case in CASES}
    ratios_p95 = {case: round(figures[case]["pyspark"]["p95_ms"] / figures[case]["penstock"]["p95_ms"], 2) for case in CASES}
    sums = {(run["stateless"], run["windowed"]) for runs in found.values() for run in runs}
    rates = {system: round(_ROWS / middle(figures[case][system]["p50_ms"] for case in CASES) * 1000) for system in SYSTEMS}
    detail = {"latency": figures, "cold": cold, "ratio_p50": ratios, "ratio_p95": ratios_p95, "rows_per_batch": _ROWS}
    return Outcome("latency", batches * _ROWS, rates, {"pyspark": min(ratios.values())}, len(sums) == 1, detail)


def _figures(case: str, kind: str, found: Mapping[str, list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """p50 and p95 of each system, of the batches of all rounds together."""
    times = {system: [ms for run in runs for ms in run[kind][case]] for system, runs in found.items()}
    return {system: {"p50_ms": round(middle(ms), 1), "p95_ms": round(percentile(ms, 0.95), 1)} for system, ms in times.items()}


def write_readings(folder: Path, batches: int) -> None:
    folder.mkdir()
    for number in range(batches):
        rows = range(number * _ROWS, (number + 1) * _ROWS)
        lines = (f'{{"k":"k{row % 10}","v":{row},"at":"{stamp(1_700_000_000_000 + row * 10)}"}}\n' for row in rows)
        (folder / f"{number:05d}.json").write_text("".join(lines), encoding="utf-8")


def batch_times(checkpoint: Path) -> list[float]:
    """Milliseconds from one commit to the next, without those of the start."""
    entries = sorted((entry for entry in (checkpoint / "commits").iterdir() if entry.name.isdigit()), key=lambda entry: int(entry.name))
    stamps = [entry.stat().st_mtime_ns for entry in entries]
    return [(later - earlier) / 1e6 for earlier, later in pairwise(stamps)][_COLD:]


def _keep(found: dict[str, Any], case: str, times: list[float]) -> None:
    """The times of the first run and of the last one so far."""
    found["cold_ms"].setdefault(case, times)
    found["ms"][case] = times


def run_penstock(folder: Path) -> dict[str, Any]:
    from penstock.catalog import Catalog
    from penstock.settings import load
    from penstock.spark.session.session import open_session
    from penstock.wiring import open_app

    found: dict[str, Any] = {"ms": {}, "cold_ms": {}}
    session = open_session(load(), folder / "session", app_name="bench")
    for case in CASES * _RUNS:
        app = folder / f"{case}.sql"
        views = _APP.format(input=folder / "in").split(";")
        app.write_text(";".join([views[0], views[1 + CASES.index(case)], ""]), encoding="utf-8")
        state = folder / f"penstock-{case}-{time.monotonic_ns()}"
        engine = open_app(app, state=state, overrides={"batch_files_max": "1"}, session=session)
        engine.run(RunRequest(drain=True))
        current = Catalog(state).current(case)
        assert current is not None
        _keep(found, case, batch_times(current[1]))
        column = "v" if case == "stateless" else "total"
        found[case] = sum(json.loads(line)[column] for line in engine.peek(case).lines)
        engine.close()
    return found


def run_pyspark(folder: Path) -> dict[str, Any]:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    spark = plain_session()
    found: dict[str, Any] = {"ms": {}, "cold_ms": {}}
    for case in CASES * _RUNS:
        seen: dict[object, int] = {}

        def keep(batch: DataFrame, number: int, seen: dict[object, int] = seen, case: str = case) -> None:
            for row in batch.collect():
                seen[(len(seen),) if case == "stateless" else (row.k, row.window.start)] = row.v

        readings = spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
        plain = readings.where("v % 2 = 0").selectExpr("k", "v * 2 AS v")
        windowed = readings.withWatermark("at", "10 seconds").groupBy(F.window("at", "10 seconds"), "k").agg(F.sum("v").alias("v"))
        checkpoint = folder / f"pyspark-{case}-{time.monotonic_ns()}"
        writer = (plain if case == "stateless" else windowed).writeStream.foreachBatch(keep)
        writer = writer.outputMode("append" if case == "stateless" else "update").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
        _keep(found, case, batch_times(checkpoint))
        found[case] = sum(seen.values())
    spark.stop()
    return found


if __name__ == "__main__":
    answer({"penstock": run_penstock, "pyspark": run_pyspark}[sys.argv[1]](Path(sys.argv[2])))

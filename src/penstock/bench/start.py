"""How long a person waits: from the start of the process to the first row of a windowed result.

Penstock is `penstock run` on an app with a console sink; beside it a plain PySpark script of the same query. The class-data
archive of the JVM is made beforehand, as the set-up of a machine does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, middle
from penstock.bench.latency import write_readings
from penstock.bench.warm import in_one_process
from penstock.bench.ysb import plain_session
from penstock.errors import EngineError

SYSTEMS = ("penstock", "pyspark")
_APP = """
CREATE STREAM readings (k STRING, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
  WITH (connector = 'files', path = '{input}', format = 'json');
CREATE MATERIALIZED VIEW windowed AS SELECT window, k, sum(v) AS total FROM readings GROUP BY window(at, '10 seconds'), k;
CREATE SINK shown FROM windowed WITH (connector = 'console');
"""


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """Seconds to the first row, and the ratio of the medians."""
    from penstock.spark.session.archive import build_archive

    report("making the class-data archive, if there is none")
    build_archive(report)
    write_readings(folder / "in", 5)
    (folder / "app.sql").write_text(_APP.format(input=folder / "in"), encoding="utf-8")
    found = alternately(SYSTEMS, rounds, lambda system: _first_row(system, folder), report)
    seconds = {system: round(middle(run["seconds"] for run in runs), 2) for system, runs in found.items()}
    totals = {run["total"] for runs in found.values() for run in runs}
    rates = {system: round(1 / value, 3) for system, value in seconds.items()}
    ratio = round(seconds["pyspark"] / seconds["penstock"], 2)
    report("asking twice in one process")
    warm = in_one_process(folder)
    agree = len(totals) == 1 and bool(warm["agree"])
    return Outcome("start", 500, rates, {"pyspark": ratio}, agree, {"seconds": seconds, "in_one_process": warm, "runs": found})


def _first_row(system: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "penstock.bench.start", str(folder)]
    if system == "penstock":
        state = folder / f"state{time.monotonic_ns()}"
        command = [sys.executable, "-m", "penstock", "run", str(folder / "app.sql"), "--drain", "--state", str(state)]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        seconds = time.monotonic() - began
        lines = [first, *process.stdout.read().splitlines()]
        message = process.stderr.read()
    rows = [json.loads(line[line.index("{") :]) for line in lines if "{" in line]
    if process.returncode or not rows:
        raise EngineError(f"{system} ended with {process.returncode}: {message.strip()[-800:]}")
    return {"seconds": round(seconds, 2), "total": sum(row["total"] for row in rows)}


def main(folder: Path) -> None:
    """The plain PySpark script."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    spark = plain_session()

    def show(batch: DataFrame, number: int) -> None:
        for row in batch.collect():
            answer({"k": row.k, "total": row.total})

    readings = spark.readStream.schema("k STRING, v BIGINT, at TIMESTAMP").json(str(folder / "in"))
    windowed = readings.withWatermark("at", "10 seconds").groupBy(F.window("at", "10 seconds"), "k").agg(F.sum("v").alias("total"))
    checkpoint = folder / f"pyspark{time.monotonic_ns()}"
    writer = windowed.writeStream.foreachBatch(show).outputMode("update").option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The ad-campaign benchmark (Yahoo, 2015): count the views of each campaign in windows of ten seconds.

Both systems read the same JSON files, in which a time is a number of milliseconds, keep one event in three, join a thousand
ads with their campaigns and count. Each process runs the whole input twice; the second run, with a warm JVM and a new
checkpoint, is the one that counts.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle
from penstock.observe.request import RunRequest

SYSTEMS = ("penstock", "pyspark")
_COLUMNS = "user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, event_time BIGINT, ip STRING"
_APP = """
CREATE STREAM events (user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, event_time BIGINT, ip STRING,
  at AS timestamp_millis(event_time), WATERMARK FOR at AS at - INTERVAL 10 SECONDS
) WITH (connector = 'files', path = '{events}', format = 'json');
CREATE TABLE campaigns (ad_id STRING, campaign_id STRING) WITH (connector = 'files', path = '{campaigns}', format = 'json');
CREATE MATERIALIZED VIEW views AS
  SELECT campaign_id, window, count(*) AS n FROM events JOIN campaigns USING (ad_id)
  WHERE event_type = 'view' GROUP BY campaign_id, window(at, '10 seconds');
"""
_START_MS = 1_700_000_000_000
_FILES = 8


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """Penstock SQL beside hand-written PySpark, the count of every campaign and window compared."""
    count = events or 6_000_000
    report(f"writing {count:,} events")
    write_events(folder, count)
    found = alternately(SYSTEMS, rounds, lambda system: in_child("penstock.bench.ysb", system, str(folder)), report)
    rates = {system: middle(count / run["seconds"] for run in runs) for system, runs in found.items()}
    return Outcome(
        "ysb",
        count,
        {system: round(rate) for system, rate in rates.items()},
        {"pyspark": round(rates["penstock"] / rates["pyspark"], 3)},
        len({run["digest"] for runs in found.values() for run in runs}) == 1,
        {"views": found["penstock"][0]["total"], "runs": {system: [round(run["seconds"], 2) for run in runs] for system, runs in found.items()}},
    )


def write_events(folder: Path, count: int) -> None:
    """The input: a hundred campaigns of ten ads, ten thousand events a second, up to five seconds out of order."""
    import numpy as np

    rng = np.random.default_rng(7)
    (folder / "campaigns.json").write_text("".join(f'{{"ad_id":"ad{ad}","campaign_id":"c{ad // 10}"}}\n' for ad in range(1000)), encoding="utf-8")
    (folder / "events").mkdir()
    kinds, types = ("view", "click", "purchase"), ("banner", "modal", "mail", "mobile", "search")
    for number in range(_FILES):
        rows = range(number * count // _FILES, (number + 1) * count // _FILES)
        n = len(rows)
        ads, kind, kind_of_ad = rng.integers(0, 1000, n), rng.integers(0, 3, n), rng.integers(0, 5, n)
        users, late = rng.integers(0, 2**48, n), rng.integers(0, 5000, n)
        lines = [
            f'{{"user_id":"{user:012x}","page_id":"{user ^ 0x5BD1E995:012x}","ad_id":"ad{ad}","ad_type":"{types[t]}","event_type":"{kinds[k]}",'
            f'"event_time":{_START_MS + row // 10 - wait},"ip":"10.1.{ad % 250}.{t}"}}\n'
            for row, user, ad, t, k, wait in zip(rows, users.tolist(), ads.tolist(), kind_of_ad.tolist(), kind.tolist(), late.tolist(), strict=True)
        ]
        (folder / "events" / f"{number:02d}.json").write_text("".join(lines), encoding="utf-8")


def stamp(ms: int) -> str:
    """ISO 8601 without the cost of a datetime per row."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000))}.{ms % 1000:03d}Z"


def run_penstock(folder: Path) -> dict[str, Any]:
    """The app through Penstock's own engine, results in its store."""
    from penstock.wiring import open_app

    (folder / "app.sql").write_text(_APP.format(events=folder / "events", campaigns=folder / "campaigns.json"), encoding="utf-8")
    found: dict[str, Any] = {}
    from penstock.settings import load
    from penstock.spark.session.session import open_session

    session = open_session(load(), folder / "session", app_name="bench")
    for attempt in range(2):
        engine = open_app(folder / "app.sql", state=folder / f"penstock{time.monotonic_ns()}-{attempt}", session=session)
        began = time.monotonic()
        engine.run(RunRequest(drain=True))
        seconds = time.monotonic() - began
        rows = [json.loads(line) for line in engine.peek("views").lines]
        counts = {(row["campaign_id"], datetime.fromisoformat(row["window"]["start"]).timestamp()): row["n"] for row in rows}
        found = {"seconds": seconds, "total": sum(counts.values()), "digest": digest(counts)}
        engine.close()
    return found


def run_pyspark(folder: Path) -> dict[str, Any]:
    """The same by hand, as the Spark guide would have it: JSON reader, broadcast join, update mode, foreachBatch."""
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F

    spark = plain_session()
    campaigns = spark.read.schema("ad_id STRING, campaign_id STRING").json(str(folder / "campaigns.json"))
    found: dict[str, Any] = {}
    for attempt in range(2):
        counts: dict[tuple[str, float], int] = {}

        def keep(batch: DataFrame, number: int, counts: dict[tuple[str, float], int] = counts) -> None:
            for row in batch.collect():
                counts[(row.campaign_id, row.window.start.timestamp())] = row.n

        events = spark.readStream.schema(_COLUMNS).json(str(folder / "events"))
        views = events.where("event_type = 'view'").select("ad_id", F.timestamp_millis("event_time").alias("at"))
        views = views.withWatermark("at", "10 seconds").join(F.broadcast(campaigns), "ad_id")
        grouped = views.groupBy("campaign_id", F.window("at", "10 seconds")).agg(F.count("*").alias("n"))
        began = time.monotonic()
        writer = grouped.writeStream.foreachBatch(keep).outputMode("update").trigger(availableNow=True)
        writer.option("checkpointLocation", str(folder / f"pyspark{time.monotonic_ns()}-{attempt}")).start().awaitTermination()
        found = {"seconds": time.monotonic() - began, "total": sum(counts.values()), "digest": digest(counts)}
    assert isinstance(spark, SparkSession)
    spark.stop()
    return found


def digest(counts: Mapping[tuple[str, float], int]) -> str:
    """Of the count of each campaign and window, by its start in seconds: equal only where all of them are."""
    return hashlib.sha256(json.dumps(sorted((*group, count) for group, count in counts.items())).encode()).hexdigest()


def plain_session(jars: Sequence[Path] = ()) -> Any:
    """A session as a careful Spark user makes it: defaults, but no more shuffle partitions than cores."""
    import os

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "4g").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", str(os.cpu_count())).config("spark.sql.session.timeZone", "UTC")
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


if __name__ == "__main__":
    answer({"penstock": run_penstock, "pyspark": run_pyspark}[sys.argv[1]](Path(sys.argv[2])))

"""A, then B within ten minutes: Penstock's pattern beside a hand-written interval join on Spark, and Flink's MATCH_RECOGNIZE where PyFlink is.

One event in twenty is an A, about one in thirty a B, the others are neither. A card's visits lie so far apart that an A has one B in time at
most, so that a join, which gives all pairs, gives the same rows. The end of the input holds neither, so that every watermark passes the last
match. Each process runs a small input first, so that JVM and Python workers are warm; the whole input, with new state, is what counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle
from penstock.bench.nexmark.race import flink_python
from penstock.bench.state import digest
from penstock.bench.ysb import plain_session, stamp
from penstock.errors import EngineError
from penstock.observe.request import RunRequest

ROUNDS = 1
CARDS = 20_000
_FILES, _WARM = 8, 40_000
_START_MS = 1_700_000_000_000
_MINUTE = 60_000
_COLUMNS = "id BIGINT, card STRING, kind STRING, at TIMESTAMP"
_APP = """
CREATE STREAM events (id BIGINT, card STRING, kind STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 10 SECONDS)
WITH (connector = 'files', path = '{events}', format = 'json');
CREATE MATERIALIZED VIEW pairs AS
  SELECT a_id, b_id FROM events MATCH_RECOGNIZE (
    PARTITION BY card ORDER BY at
    MEASURES a.id AS a_id, b.id AS b_id
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (a {{- other*? -}} b) WITHIN INTERVAL '10' MINUTE
    DEFINE a AS kind = 'A', b AS kind = 'B');
"""


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """Rows a second of every system, the pairs compared."""
    count = events or 2_000_000
    report(f"writing {count:,} events of {CARDS:,} cards")
    write_events(folder / "events", count, _FILES)
    write_events(folder / "warm", _WARM, 1)
    absent = {} if flink_python() else {"flink": "PyFlink is not installed: `make bench` installs it"}
    systems = [name for name in ("penstock", "interval_join", "flink") if name not in absent]
    found = alternately(systems, rounds, lambda system: run_flink(folder) if system == "flink" else in_child(__name__, system, str(folder)), report)
    rates = {system: middle(count / run["seconds"] for run in runs) for system, runs in found.items()}
    return Outcome(
        "pattern",
        count,
        {system: round(rate) for system, rate in rates.items()},
        {system: round(rates["penstock"] / rates[system], 3) for system in systems[1:]},
        len({run["digest"] for runs in found.values() for run in runs}) == 1,
        {
            "cards": CARDS,
            "matches": found["penstock"][0]["rows"],
            "absent": absent,
            "runs": {system: [round(run["seconds"], 2) for run in runs] for system, runs in found.items()},
        },
    )


def write_events(folder: Path, count: int, files: int) -> None:
    """A visit of a card is an A and, twice in three, a B up to fifteen minutes later; visits of a card begin forty minutes apart and more."""
    import numpy as np

    rng = np.random.default_rng(11)
    visits = count // 20
    each = max(1, -(-visits // CARDS))
    span = each * 60 * _MINUTE
    number = np.arange(visits)
    begin = number // CARDS * 60 * _MINUTE + rng.integers(0, 20 * _MINUTE, visits)
    bought = rng.random(visits) < 2 / 3
    after = begin[bought] + rng.integers(1000, 15 * _MINUTE, int(bought.sum()))
    after += after - begin[bought] == 10 * _MINUTE  # whether ten minutes sharp are within ten minutes is not the same everywhere
    others = count - visits - len(after)
    at = np.concatenate((begin, after, rng.integers(0, span, others)))
    card = np.concatenate((number % CARDS, (number % CARDS)[bought], rng.integers(0, CARDS, others)))
    kind = np.repeat(["A", "B", "C"], [visits, len(after), others])
    order = np.argsort(at + rng.integers(0, 5000, count), kind="stable")
    folder.mkdir()
    for place, part in enumerate(np.array_split(order, files)):
        rows = zip(part.tolist(), card[part].tolist(), kind[part].tolist(), at[part].tolist(), strict=True)
        lines = [f'{{"id":{row},"card":"c{card}","kind":"{kind}","at":"{stamp(_START_MS + at)}"}}\n' for row, card, kind, at in rows]
        (folder / f"{place:02d}.json").write_text("".join(lines), encoding="utf-8")


def _found(seconds: float, pairs: Iterable[tuple[int, int]]) -> dict[str, Any]:
    rows = [(str(first), second) for first, second in pairs]
    return {"seconds": seconds, "rows": len(rows), "digest": digest(rows)}


def run_penstock(folder: Path) -> dict[str, Any]:
    """The app through Penstock's own engine, state in Spark's state store, results in its own."""
    from penstock.settings import load
    from penstock.spark.session.session import open_session
    from penstock.wiring import open_app

    session = open_session(load(), folder / "session", app_name="bench")
    found: dict[str, Any] = {}
    for events in ("warm", "events"):
        home = folder / f"{events}-{time.monotonic_ns()}"
        home.mkdir()
        (home / "app.sql").write_text(_APP.format(events=folder / events), encoding="utf-8")
        engine = open_app(home, state=home / "state", overrides={"batch_files_max": "1"}, session=session)
        began = time.monotonic()
        engine.run(RunRequest(drain=True))
        seconds = time.monotonic() - began
        found = _found(seconds, ((row["a_id"], row["b_id"]) for row in map(json.loads, engine.peek("pairs", None).lines)))
        engine.close()
    return found


def run_join(folder: Path) -> dict[str, Any]:
    """The same by hand: both sides filtered before they are joined, on RocksDB with its changelog, as Penstock has it."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    spark = plain_session()
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    found: dict[str, Any] = {}
    for events in ("warm", "events"):
        rows: list[tuple[int, int]] = []

        def keep(batch: DataFrame, number: int, rows: list[tuple[int, int]] = rows) -> None:
            rows.extend((row.a_id, row.b_id) for row in batch.collect())

        stream = spark.readStream.schema(_COLUMNS).option("maxFilesPerTrigger", "1").json(str(folder / events)).withWatermark("at", "10 seconds")
        first = stream.where("kind = 'A'").select(F.col("card").alias("a_card"), F.col("id").alias("a_id"), F.col("at").alias("a_at"))
        second = stream.where("kind = 'B'").select(F.col("card").alias("b_card"), F.col("id").alias("b_id"), F.col("at").alias("b_at"))
        joined = first.join(second, F.expr("a_card = b_card AND b_at > a_at AND b_at <= a_at + INTERVAL 10 MINUTES")).select("a_id", "b_id")
        began = time.monotonic()
        writer = joined.writeStream.foreachBatch(keep).outputMode("append").trigger(availableNow=True)
        writer.option("checkpointLocation", str(folder / f"join{time.monotonic_ns()}")).start().awaitTermination()
        found = _found(time.monotonic() - began, rows)
    spark.stop()
    return found


def run_flink(folder: Path) -> dict[str, Any]:
    """Flink's side, by its own interpreter."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(flink_python()), str(Path(__file__).parent / "flink_pattern.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
    if done.returncode:
        raise EngineError(f"Flink failed: {done.stderr.strip()[-800:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return _found(found["seconds"], map(tuple, found["pairs"]))


if __name__ == "__main__":
    answer({"penstock": run_penstock, "interval_join": run_join}[sys.argv[1]](Path(sys.argv[2])))

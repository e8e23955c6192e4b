"""A running count of every key, kept in Python: Penstock's function with state beside PySpark's transformWithState, and Bytewax where it is there.

All read the same JSON files and give a row for every fourth event of a key. Penstock runs its function row by row and as columns. Each process
runs a small input first, so that JVM and Python workers are warm; the whole input, with new state, is what counts. Bytewax keeps no state on
disk here.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle
from penstock.bench.ysb import plain_session
from penstock.errors import EngineError
from penstock.observe.request import RunRequest

ROUNDS = 1
KEYS = 200_000
_FILES, _WARM = 4, 20_000
_EACH = 4
_APP = """
CREATE STREAM events (card STRING, amount DOUBLE) WITH (connector = 'files', path = '{events}', format = 'json');
CREATE MATERIALIZED VIEW counts AS SELECT * FROM map_with_state(events PARTITION BY card, 'counting:{function}',
  'returns card STRING, n BIGINT', 'state {state}', 'arrival'{more});
"""
_COUNTING = f"""
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def scalar(row, state):
    n = (state or 0) + 1
    return ({{"card": row["card"], "n": n}} if n % {_EACH} == 0 else None), n


def columns(rows, state):
    card = rows["card"].combine_chunks()
    ends = pc.run_end_encode(card).run_ends.to_numpy()
    starts = np.concatenate(([0], ends[:-1]))
    first = card.take(pa.array(starts))
    place = pc.index_in(first, state["card"].combine_chunks())
    kept = pc.fill_null(state["n"].combine_chunks().take(place), 0).to_numpy(zero_copy_only=False)
    n = np.arange(len(card)) - np.repeat(starts, ends - starts) + np.repeat(kept, ends - starts) + 1
    given = pa.array(n % {_EACH} == 0)
    out = pa.table({{"card": card, "n": n}}).filter(given)
    return out, pa.table({{"card": first, "n": n[ends - 1]}})
"""
_BYTEWAX = f"""
import glob, hashlib, json, sys, time
import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.connectors.files import FileSource
from bytewax.testing import run_main, TestingSink

def flow_of(folder, out):
    flow = Dataflow("counts")
    streams = [op.input(f"in{{n}}", flow, FileSource(path, batch_size=10000)) for n, path in enumerate(sorted(glob.glob(folder + "/*.json")))]
    merged = op.merge("merge", *streams)
    keyed = op.map("parse", merged, lambda line: (json.loads(line)["card"], 1))
    counted = op.stateful_map("count", keyed, lambda n, one: ((n or 0) + 1, (n or 0) + 1))
    kept = op.filter("each", counted, lambda pair: pair[1] % {_EACH} == 0)
    op.output("out", kept, TestingSink(out))
    return flow

run_main(flow_of(sys.argv[2], []))
out = []
began = time.monotonic()
run_main(flow_of(sys.argv[1], out))
seconds = time.monotonic() - began
print(json.dumps({{"seconds": seconds, "rows": len(out), "digest": hashlib.sha256(json.dumps(sorted(out)).encode()).hexdigest()}}))
"""


def measure(folder: Path, events: int | None, rounds: int, report: Report) -> Outcome:
    """Rows a second of every system, what they gave compared."""
    count = events or 400_000
    report(f"writing {count:,} events of {KEYS:,} keys")
    write_events(folder / "events", count, _FILES)
    write_events(folder / "warm", _WARM, 1)
    systems = ["penstock", "penstock_vectorized", "transform_with_state", *(["bytewax"] if _bytewax() is not None else [])]
    if "bytewax" not in systems:
        report("Bytewax is left out: it is not installed; `make bench ARGS=state` does that")
    found = alternately(systems, rounds, lambda system: _run(system, folder), report)
    rates = {system: middle(count / run["seconds"] for run in runs) for system, runs in found.items()}
    ratio = {system: round(rates["penstock"] / rates[system], 3) for system in systems[2:]}
    seconds = {system: [round(run["seconds"], 2) for run in runs] for system, runs in found.items()}
    return Outcome(
        "state",
        count,
        {system: round(rate) for system, rate in rates.items()},
        {**ratio, "penstock_vectorized": round(rates["penstock"] / rates["penstock_vectorized"], 3)},
        len({run["digest"] for runs in found.values() for run in runs}) == 1,
        {"keys": KEYS, "rows": found["penstock"][0]["rows"], "runs": seconds},
    )


def write_events(folder: Path, count: int, files: int) -> None:
    """Cards at random, as JSON."""
    import numpy as np

    rng = np.random.default_rng(7)
    folder.mkdir()
    for number in range(files):
        size = (number + 1) * count // files - number * count // files
        cards, amounts = rng.integers(0, KEYS, size).tolist(), rng.integers(1, 10_000, size).tolist()
        lines = [f'{{"card":"c{card}","amount":{amount / 100}}}\n' for card, amount in zip(cards, amounts, strict=True)]
        (folder / f"{number:02d}.json").write_text("".join(lines), encoding="utf-8")


def digest(rows: Iterable[tuple[str, int]]) -> str:
    """Equal only where all rows are."""
    return hashlib.sha256(json.dumps(sorted(rows)).encode()).hexdigest()


def _bytewax() -> str | None:
    """The Python that has Bytewax, of an environment of its own."""
    return next((str(place / "bin" / "python") for place in _environments() if any(place.glob("lib/*/site-packages/bytewax"))), None)


def _environments() -> list[Path]:
    return [folder / ".venv-bytewax" for folder in (Path(sys.prefix).parent, Path.cwd())]


def _peers() -> list[str]:
    """What `make bench ARGS=state` installed for Spark beside Bytewax."""
    return [str(place / "spark") for place in _environments() if (place / "spark").is_dir()]


def _run(system: str, folder: Path) -> dict[str, Any]:
    if system != "bytewax":
        return in_child("penstock.bench.state", system, str(folder))
    command = [_bytewax() or "", "-c", _BYTEWAX, str(folder / "events"), str(folder / "warm")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"Bytewax failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def run_penstock(folder: Path, function: str, more: str) -> dict[str, Any]:
    """The app through Penstock's own engine, state in Spark's state store, results in its own."""
    from penstock.settings import load
    from penstock.spark.session.session import open_session
    from penstock.wiring import open_app

    session = open_session(load(), folder / "session", app_name="bench")
    found: dict[str, Any] = {}
    for events in ("warm", "events"):
        home = folder / f"{function}-{events}-{time.monotonic_ns()}"
        home.mkdir()
        text = _APP.format(events=folder / events, function=function, state="n BIGINT" if more else "BIGINT", more=more)
        (home / "app.sql").write_text(text, encoding="utf-8")
        (home / "counting.py").write_text(_COUNTING, encoding="utf-8")
        engine = open_app(home, state=home / "state", overrides={"batch_files_max": "1"}, session=session)
        began = time.monotonic()
        engine.run(RunRequest(drain=True))
        seconds = time.monotonic() - began
        rows = [json.loads(line) for line in engine.peek("counts", None).lines]
        found = {"seconds": seconds, "rows": len(rows), "digest": digest((row["card"], row["n"]) for row in rows)}
        engine.close()
    return found


def run_pyspark(folder: Path) -> dict[str, Any]:
    """The same by hand with Spark's newest form of state, on RocksDB with its changelog, as Penstock has it."""
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Count(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.count = handle.getValueState("n", "n BIGINT")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            kept = self.count.get() if self.count.exists() else None
            n = kept[0] if kept is not None else 0
            for _ in rows:
                n += 1
                if n % _EACH == 0:
                    yield Row(card=key[0], n=n)
            self.count.update((n,))

        def close(self) -> None:
            return None

    needed = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # Spark's own form of state needs protobuf, which Penstock does not
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, needed), *_peers()])
    sys.path += _peers()
    spark = plain_session()
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    found: dict[str, Any] = {}
    for events in ("warm", "events"):
        rows: list[tuple[str, int]] = []

        def keep(batch: DataFrame, number: int, rows: list[tuple[str, int]] = rows) -> None:
            rows.extend((row.card, row.n) for row in batch.collect())

        stream = spark.readStream.schema("card STRING, amount DOUBLE").option("maxFilesPerTrigger", "1").json(str(folder / events))
        counted = stream.groupBy("card").transformWithState(Count(), "card STRING, n BIGINT", "Append", "None")
        began = time.monotonic()
        writer = counted.writeStream.foreachBatch(keep).outputMode("append").trigger(availableNow=True)
        writer.option("checkpointLocation", str(folder / f"pyspark{time.monotonic_ns()}")).start().awaitTermination()
        found = {"seconds": time.monotonic() - began, "rows": len(rows), "digest": digest(rows)}
    spark.stop()
    return found


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    place = Path(sys.argv[2])
    if sys.argv[1] == "transform_with_state":
        answer(run_pyspark(place))
    else:
        answer(run_penstock(place, *(("columns", ", 'vectorized'") if sys.argv[1] == "penstock_vectorized" else ("scalar", ""))))

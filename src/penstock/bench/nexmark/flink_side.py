"""Flink SQL's side of the race. Runs by the interpreter of `.venv-flink`, so it imports nothing of Penstock."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_SETTINGS = {
    "parallelism.default": str(os.cpu_count()),
    "table.local-time-zone": "UTC",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "taskmanager.memory.managed.size": "512m",
    "taskmanager.memory.network.max": "256m",
}
_TEXT_FILES = "'connector' = 'filesystem', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"


def environment(folder: Path, streaming: bool) -> Any:
    """A table environment with the three streams and the side input declared."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    made = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    tables = TableEnvironment.create(made)
    for name, value in _SETTINGS.items():
        if streaming or not name.startswith("table.exec.mini"):
            tables.get_config().set(name, value)
    for declared in (HERE / "flink" / "streams.sql").read_text(encoding="utf-8").split(";"):
        if declared.strip():
            tables.execute_sql(declared.replace("{data}", str(folder)))
    return tables


def run(folder: Path, rows: Path, query: str) -> dict[str, Any]:
    """The seconds of a streaming run into nothing; the rows of a batch run go to files."""
    path = HERE / "flink" / f"{query}.sql"
    text = path.read_text(encoding="utf-8").strip().rstrip(";")
    if text.startswith("-- refused:"):
        return {"refused": text.removeprefix("-- refused:").strip()}
    live, batch = environment(folder, streaming=True), environment(folder, streaming=False)
    began = time.monotonic()
    refusal = _refusal(live, f"CREATE TABLE nothing WITH ('connector' = 'blackhole') AS {text}")
    if refusal:
        return {"refused": refusal}
    seconds = time.monotonic() - began
    without_rows = _refusal(batch, f"CREATE TABLE found WITH ({_TEXT_FILES}, 'path' = '{rows / query}') AS {text}")
    return {"seconds": seconds, **({"not_compared": without_rows} if without_rows else {})}


def _refusal(tables: Any, statement: str) -> str:
    """Run a statement to its end; why Flink did not take it, or nothing."""
    try:
        tables.execute_sql(statement).wait()
    except Exception as refusal:
        causes = [line.strip() for line in str(refusal).splitlines() if "Caused by" in line or "Exception:" in line]
        return (causes or [str(refusal)])[-1][:300]
    return ""


if __name__ == "__main__":
    names = sys.argv[3].split(",")
    run(Path(sys.argv[1]), Path(sys.argv[2]) / "warm", names[0])
    found = {name: run(Path(sys.argv[1]), Path(sys.argv[2]), name) for name in names}
    sys.stdout.write(json.dumps(found) + "\n")

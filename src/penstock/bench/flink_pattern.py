"""Flink's side of `bench pattern`. Runs by the interpreter of `.venv-flink`, so it imports nothing of Penstock.

Flink reads the files in no order, so its watermark waits for the whole input: else it drops rows as late.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

_SETTINGS = {"parallelism.default": str(os.cpu_count()), "table.local-time-zone": "UTC", "taskmanager.memory.managed.size": "512m"}
_EVENTS = """
CREATE TABLE events (id BIGINT, card STRING, kind STRING, `at` TIMESTAMP_LTZ(3), WATERMARK FOR `at` AS `at` - INTERVAL '7' DAY)
WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601')
"""
_PAIRS = """
SELECT a_id, b_id FROM (SELECT * FROM events WHERE kind IN ('A', 'B')) MATCH_RECOGNIZE (
  PARTITION BY card ORDER BY `at`
  MEASURES a.id AS a_id, b.id AS b_id
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (a b) WITHIN INTERVAL '10' MINUTE
  DEFINE a AS kind = 'A', b AS kind = 'B')
"""


def run(events: Path) -> tuple[float, list[tuple[int, int]]]:
    """The seconds of a streaming run over a folder of events, and its rows."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in _SETTINGS.items():
        tables.get_config().set(name, value)
    tables.execute_sql(_EVENTS.format(path=events))
    began = time.monotonic()
    with tables.execute_sql(_PAIRS).collect() as found:
        pairs = [(row[0], row[1]) for row in found]
    return time.monotonic() - began, pairs


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    run(folder / "warm")
    taken, rows = run(folder / "events")
    sys.stdout.write(json.dumps({"seconds": taken, "pairs": rows}) + "\n")

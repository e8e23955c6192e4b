"""How long a person waits in one process: the first question, which starts Spark, the same once more, and a stored view's rows."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.bench.frame import answer
from penstock.errors import EngineError

ROWS = 5_000


def in_one_process(folder: Path) -> dict[str, Any]:
    """Seconds of the first and the second `batch` over 5,000 rows, and milliseconds of `rows` of a stored view, in a process of their own."""
    command = [sys.executable, "-m", "penstock.bench.warm", str(folder / f"warm{time.monotonic_ns()}")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"the questions in one process ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(folder: Path) -> None:
    """The process that asks."""
    import penstock as ps

    began = time.monotonic()
    app = ps.App("warm", state=folder)
    readings = app.stream("readings", ps.Memory([{"k": f"k{n % 100}", "v": n} for n in range(ROWS)]))
    app.view("totals", readings.group_by("k").agg(total="sum(v)"))
    first = len(app.batch("totals"))
    first_s = time.monotonic() - began
    second_s, second = _timed(lambda: len(app.batch("totals")))
    app.run(drain=True).wait()
    app.rows("totals")
    stored_s, stored = _timed(lambda: len(app.rows("totals")))
    answer(
        {
            "rows": ROWS,
            "first_batch_s": round(first_s, 2),
            "second_batch_s": round(second_s, 2),
            "stored_rows_ms": round(1000 * stored_s, 1),
            "agree": first == second == stored,
        }
    )


def _timed(ask: Callable[[], int]) -> tuple[float, int]:
    began = time.monotonic()
    found = ask()
    return time.monotonic() - began, found


if __name__ == "__main__":
    main(Path(sys.argv[1]))

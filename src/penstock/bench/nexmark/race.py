"""q0 to q22 over files: Penstock beside plain PySpark, where that takes the query, and beside Flink SQL, where PyFlink is installed.

Each system goes through all queries in one process, after a first query that does not count. Penstock keeps every result in its store and
PySpark collects it; Flink throws it away, as its own Nexmark kit does, and gives its rows for the comparison by a batch run that is not timed.
PyFlink has an environment of its own, `.venv-flink`, which `make bench` makes.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.bench.digest import of_frame, of_lines
from penstock.bench.frame import Outcome, Report, alternately, answer, in_child, middle
from penstock.bench.nexmark.generate import Plan, write, write_side_input
from penstock.bench.nexmark.queries import HERE, NAMES, app
from penstock.errors import EngineError, OptionFault
from penstock.observe.request import RunRequest

ROUNDS = 1
EVENTS = 2_000_000
PEERS = ("pyspark", "flink")
_FILES = 20


def measure(folder: Path, events: int | None, rounds: int, report: Report, *, queries: Sequence[str] = NAMES) -> Outcome:
    """Events a second by query and system; `ratio` is the geometric mean over the queries that both ran."""
    unknown = [name for name in queries if name not in NAMES]
    if unknown:
        raise OptionFault(f"Nexmark has no query `{unknown[0]}`", hint="there are q0 to q22")
    count = events or EVENTS
    report(f"writing {count:,} events")
    write(folder, Plan(count, _FILES))
    write_side_input(folder / "side_input.csv")
    absent = {} if flink_python() else {"flink": "PyFlink is not installed: `make bench` installs it"}
    systems = [name for name in ("penstock", *PEERS) if name not in absent]
    found = alternately(systems, rounds, lambda system: _run(system, str(folder), ",".join(queries)), report)
    table = {query: _row(query, found, count) for query in queries}
    rates = {system: [row["events_per_s"][system] for row in table.values() if system in row["events_per_s"]] for system in systems}
    ratios = {peer: [row["ratio"][peer] for row in table.values() if peer in row["ratio"]] for peer in systems[1:]}
    return Outcome(
        "nexmark",
        count,
        {system: round(_mean(values)) for system, values in rates.items()},
        {peer: round(_mean(values), 3) for peer, values in ratios.items()},
        all(row["equal"] for row in table.values()),
        {
            "at_least_as_fast": {peer: sum(ratio >= 1 for ratio in values) for peer, values in ratios.items()},
            "absent": absent,
            "queries": table,
        },
    )


def _run(system: str, folder: str, queries: str) -> dict[str, Any]:
    return run_flink(folder, queries) if system == "flink" else in_child("penstock.bench.nexmark.race", system, folder, queries)


def _row(query: str, found: Mapping[str, Sequence[Mapping[str, Any]]], count: int) -> dict[str, Any]:
    """What all systems say of one query."""
    ran = {system: [run[query] for run in runs if "seconds" in run[query]] for system, runs in found.items()}
    rates = {system: count / middle(run["seconds"] for run in runs) for system, runs in ran.items() if runs}
    digests = {run["digest"] for runs in ran.values() for run in runs if "digest" in run}
    return {
        "strategy": found["penstock"][0][query].get("strategy"),
        "events_per_s": {system: round(rate) for system, rate in rates.items()},
        "ratio": {peer: round(rates["penstock"] / rates[peer], 3) for peer in PEERS if peer in rates and "penstock" in rates},
        "equal": len(digests) == 1 and "penstock" in rates,
        **{what: _reported(what, query, found) for what in ("digest", "not_compared", "refused")},
    }


def _reported(what: str, query: str, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    """What each system reports in its first run, if it does."""
    return {system: runs[0][query][what] for system, runs in found.items() if what in runs[0][query]}


def _mean(values: Sequence[float]) -> float:
    """The geometric mean: no single query can make it."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else 0.0


def run_penstock(folder: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Each query as an app of its own, to its end."""
    from penstock.settings import load
    from penstock.spark.session.session import open_session
    from penstock.wiring import open_app

    session = open_session(load(), folder / "session", app_name="bench")
    found: dict[str, Any] = {}
    for query in (queries[0], *queries):
        home = folder / f"{query}-{time.monotonic_ns()}"
        home.mkdir()
        (home / "app.sql").write_text(app(folder, [query]), encoding="utf-8")
        engine = open_app(home / "app.sql", session=session)
        began = time.monotonic()
        engine.run(RunRequest(drain=True))
        seconds = time.monotonic() - began
        (explained,) = engine.explain(query)
        found[query] = {"seconds": seconds, "digest": of_lines(engine.peek(query, None).lines), "strategy": str(explained.strategy)}
        engine.close()
    return found


def flink_python() -> Path | None:
    """The interpreter of PyFlink's environment, beside that of Penstock; `PENSTOCK_FLINK_PYTHON` names another."""
    found = Path(os.environ.get("PENSTOCK_FLINK_PYTHON") or Path(sys.prefix).parent / ".venv-flink" / "bin" / "python")
    if not found.exists():
        return None
    return found if subprocess.run([str(found), "-c", "import pyflink"], capture_output=True, check=False).returncode == 0 else None


def run_flink(data: str, queries: str) -> dict[str, Any]:
    """Flink's side runs by its own interpreter and leaves the rows of each query in files."""
    folder = Path(data)
    rows = folder / f"flink-{time.monotonic_ns()}"
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(flink_python()), str(HERE / "flink_side.py"), str(folder), str(rows), queries]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=given)
    if done.returncode:
        raise EngineError(f"Flink failed: {done.stderr.strip()[-800:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    for query, one in found.items():
        if "seconds" in one and "not_compared" not in one:
            files = sorted(path for path in (rows / query).rglob("*") if path.is_file())
            one["digest"] = of_lines(line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    return found


def run_pyspark(folder: Path, queries: Sequence[str]) -> dict[str, Any]:
    from penstock.bench.nexmark.plain import run

    return {query: one if "refused" in one else {"seconds": one["seconds"], "digest": of_frame(one["rows"])} for query, one in run(folder, queries)}


if __name__ == "__main__":
    answer({"penstock": run_penstock, "pyspark": run_pyspark}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3].split(",")))

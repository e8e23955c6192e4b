"""A Spark cluster by one setting: the same app, the same answers, live and over history."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.spark.produce import produce
from penstock.testing import golden
from penstock.testing.cluster import StandaloneCluster

QUERIES = Path(__file__).parent.parent / "queries"
# One for each way in which a view is kept up to date.
CHOSEN = {
    "project_case": "stateless",
    "window_tumbling_close": "incremental",
    "join_streams_inner": "incremental",
    "rank_over_aggregate": "kept",
    "over_running_total": "recompute",
}
SETTINGS = {"driver_memory": "1g", "executor_memory": "700m", "shuffle_partitions": "2", "fast_start": "true"}
# A program of its own, since a process has one Spark session. It drains twice: when half of the files have come, and when all have.
PROGRAM = """
import json, sys, threading
from pathlib import Path
from penstock.wiring import open_app
from penstock.testing import golden

app, settings, views, cases = Path(sys.argv[1]), *(json.loads(argument) for argument in sys.argv[2:])
chosen = [case for case in golden.cases(Path(cases["queries"])) if case.name in cases["names"]] if cases else []
engine = open_app(app, overrides=settings)
rounds = golden.rounds(chosen) if chosen else 1
for number in range(rounds):
    if chosen:
        golden.feed(chosen, app.parent, number + 1)
    if number in (rounds // 2, rounds - 1):
        engine.run(True, threading.Event(), lambda progress: None)
result = {view: {
    "strategy": str(engine.explain(view)[0].strategy),
    "live": list(engine.peek(view, None).lines),
    "batch": list(engine.batch(view).lines),
} for view in views}
result["dead"] = [line for stream in engine.declared.streams for line in engine.peek(stream + "__dead", None).lines]
engine.close()
print(json.dumps(result))
"""


def run(app: Path, master: str, views: list[str], cases: dict[str, object] | None = None) -> dict[str, Any]:
    """What each view of the app holds after a live run and in batch; nothing but `master` tells that there is a cluster."""
    arguments = [str(app), json.dumps({**SETTINGS, "master": master}), json.dumps(views), json.dumps(cases)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=290, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_five_golden_queries_give_the_expected_rows_on_a_cluster(cluster: StandaloneCluster, tmp_path: Path) -> None:
    """Stateless, windowed, joined, cut and recomputed: each equals its expected result, live in two drains and in batch."""
    chosen = [case for case in golden.cases(QUERIES) if case.name in CHOSEN]
    app = golden.prepare(chosen, tmp_path)
    found = run(app, cluster.master, [case.view for case in chosen], {"queries": str(QUERIES), "names": list(CHOSEN)})
    assert {case.name: found[case.view]["strategy"] for case in chosen} == CHOSEN
    for case in chosen:
        for way in ("live", "batch"):
            assert golden.compare(case.expected, found[case.view][way]) == "", f"{case.name} {way}"


def test_a_kafka_app_gives_the_expected_rows_on_a_cluster(cluster: StandaloneCluster, kafka: str, tmp_path: Path) -> None:
    """The executors read the topic, broken records are found, and nothing of the driver's machine is assumed."""
    topic = uuid.uuid4().hex
    words = [f"w{number % 7}" for number in range(500)]
    produce((json.dumps({"word": word}).encode() if number % 20 else b"{" for number, word in enumerate(words)), kafka, topic, partitions=2)
    app = tmp_path / "app.sql"
    app.write_text(
        f"""
        CREATE STREAM words (word STRING) WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}', format = 'json');
        CREATE MATERIALIZED VIEW counts AS SELECT word, count(*) AS n FROM words GROUP BY word;
        CREATE MATERIALIZED VIEW top AS SELECT word, n FROM counts ORDER BY n DESC, word LIMIT 3;
        """,
        encoding="utf-8",
    )
    found = run(app, cluster.master, ["counts", "top"])
    wanted = Counter(word for number, word in enumerate(words) if number % 20)
    for way in ("live", "batch"):
        assert {row["word"]: row["n"] for row in map(json.loads, found["counts"][way])} == wanted
        best = sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
        assert [(row["word"], row["n"]) for row in map(json.loads, found["top"][way])] == best
    assert len(found["dead"]) == 25

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

import pytest

from penstock.dev.produce import produce
from penstock.testing import golden
from penstock.testing.cluster import StandaloneCluster

QUERIES = Path(__file__).parent.parent / "queries"
# One for each way in which a view is kept up to date.
CHOSEN = {
    "project_case": "stateless",
    "window_tumbling_close": "incremental",
    "join_streams_inner": "incremental",
    "rank_over_aggregate": "kept",
    "over_running_total": "gathered",
}
SETTINGS = {"driver_memory": "1g", "executor_memory": "700m", "shuffle_partitions": "2", "fast_start": "true"}
# A program of its own, since a process has one Spark session. The golden app drains twice: when half of the files have come, and when all have.
PROGRAM = """
import json, sys, threading
from pathlib import Path
from pyspark.sql import functions as F
from penstock.observe.request import RunRequest
from penstock.settings import load
from penstock.spark.session.session import open_session, stop_session
from penstock.testing import golden
from penstock.wiring import open_app

folder, settings, queries, names = Path(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
spark = open_session(load(overrides=settings), folder / "spark", app_name="cluster", needs_kafka=True)
chosen = [case for case in golden.cases(queries) if case.name in names]
rounds = golden.rounds(chosen)
result = {}

def drain(engine):
    engine.run(RunRequest(drain=True))

def keep(engine):
    for view in engine.declared.views:
        strategy = engine.explain(view)[0].strategy
        result[view] = {"strategy": strategy, "live": list(engine.peek(view, None).lines), "batch": list(engine.batch(view).lines)}
    for stream in engine.declared.streams:
        result[stream] = {"dead": list(engine.peek(stream + "__dead", None).lines)}
    engine.close()

market = open_app(folder / "golden", overrides=settings, session=spark)
for number in range(1, rounds + 1):
    golden.feed(chosen, folder / "golden", number)
    if number in (rounds // 2, rounds):
        drain(market)
keep(market)
words = open_app(folder / "words", overrides=settings, session=spark)
drain(words)
keep(words)
where = F.udf(lambda number: __import__("penstock.errors").errors.__file__, "string")
result["python"] = sorted({row.place for row in spark.range(4).select(where("id").alias("place")).collect()})
stop_session()
print(json.dumps(result))
"""
WORDS = [f"w{number % 7}" for number in range(500)]
WORDS_APP = """
CREATE STREAM words (word STRING) WITH (connector = 'kafka', servers = '{servers}', topic = '{topic}', format = 'json');
CREATE MATERIALIZED VIEW counts AS SELECT word, count(*) AS n FROM words GROUP BY word;
CREATE MATERIALIZED VIEW top AS SELECT word, n FROM counts ORDER BY n DESC, word LIMIT 3;
"""
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def found(cluster: StandaloneCluster, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each view holds after a live run and in batch; nothing but `master` tells that there is a cluster."""
    folder, topic = tmp_path_factory.mktemp("apps"), uuid.uuid4().hex
    (folder / "golden").mkdir()
    (folder / "words").mkdir()
    golden.prepare([case for case in golden.cases(QUERIES) if case.name in CHOSEN], folder / "golden")
    (folder / "words" / "app.sql").write_text(WORDS_APP.format(servers=kafka, topic=topic), encoding="utf-8")
    produce((json.dumps({"word": word}).encode() if number % 20 else b"{" for number, word in enumerate(WORDS)), kafka, topic, partitions=2)
    arguments = [str(folder), json.dumps({**SETTINGS, "master": cluster.master}), str(QUERIES), json.dumps(list(CHOSEN))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", CHOSEN)
def test_a_golden_query_gives_the_expected_rows_on_a_cluster(found: dict[str, Any], name: str) -> None:
    """Stateless, windowed, joined, cut and recomputed: each equals its expected result, live in two drains and in batch."""
    (case,) = (case for case in golden.cases(QUERIES) if case.name == name)
    assert found[case.view]["strategy"] == CHOSEN[name]
    assert golden.compare(case.expected, found[case.view]["live"]) == ""
    assert golden.compare(case.expected, found[case.view]["batch"]) == ""


def test_a_kafka_app_gives_the_expected_rows_on_a_cluster(found: dict[str, Any]) -> None:
    """The executors read the topic, and the broken records are found."""
    wanted = Counter(word for number, word in enumerate(WORDS) if number % 20)
    best = sorted(wanted.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
    for way in ("live", "batch"):
        assert {row["word"]: row["n"] for row in map(json.loads, found["counts"][way])} == wanted
        assert [(row["word"], row["n"]) for row in map(json.loads, found["top"][way])] == best
    assert len(found["words"]["dead"]) == 25


def test_python_on_the_workers_has_the_code_that_the_driver_sent(found: dict[str, Any]) -> None:
    assert found["python"]
    assert all("penstock.zip" in place for place in found["python"])

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from penstock.dev.broker import free_port
from penstock.dev.produce import produce
from penstock.errors import EngineError, StateError
from penstock.settings import load

# Run as a program of its own, so that what reaches its terminal can be seen, and each master has its own JVM.
JOB = """
import json, sys
from pathlib import Path
from pyspark.sql import functions as F
from penstock.settings import load
from penstock.spark.session.session import open_session, stop_session
master, state, servers, topic = sys.argv[1:]
chosen = {"master": master, "driver_memory": "1g", "executor_memory": "700m", "shuffle_partitions": "2", "fast_start": "true"}
spark = open_session(load(overrides=chosen), Path(state), app_name="harness")

@F.udf("string")
def seen_by_worker(value):
    import penstock.errors
    print("a worker's words", file=sys.stderr)
    return "%s %s" % (value, penstock.errors.__file__)

rows = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
        .option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 600).load()
        .selectExpr("CAST(value AS STRING) AS v").groupBy("v").count().withColumn("place", seen_by_worker("v")))
total, places, epochs = {}, set(), []
def keep(batch, epoch):
    epochs.append(epoch)
    for row in batch.toArrow().to_pylist():
        total[row["v"]] = row["count"]
        places.add(row["place"].split()[1])
writer = rows.writeStream.foreachBatch(keep).outputMode("update").option("checkpointLocation", state + "/checkpoints/job")
writer.trigger(availableNow=True).start().awaitTermination()
stop_session()
print(json.dumps({"total": total, "places": sorted(places), "epochs": len(epochs)}))
"""


def run_job(master: str, state: Path, kafka: str) -> tuple[dict[str, object], str]:
    topic = uuid.uuid4().hex
    produce((b"%d" % (n % 10) for n in range(1000)), kafka, topic, partitions=2)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", JOB, master, str(state), kafka, topic]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    log = (state / "logs" / "spark.log").read_text()
    assert done.returncode == 0, done.stderr + log[-3000:]
    return json.loads(done.stdout), done.stderr


def test_a_job_from_kafka_runs_on_one_machine_and_spark_prints_nothing(kafka: str, tmp_path: Path) -> None:
    result, terminal = run_job("local[2]", tmp_path / "state", kafka)
    assert result["total"] == {str(n): 100 for n in range(10)}
    assert isinstance(result["epochs"], int)
    assert result["epochs"] >= 2
    assert terminal == ""
    assert "a worker's words" in (tmp_path / "state" / "logs" / "spark.log").read_text()


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that looks as if it had no session yet, whatever other tests have opened."""
    from pyspark import SparkContext

    from penstock.spark.session import session

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(session, "stop_session", lambda: None)


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path, no_session: None) -> None:
    from penstock.spark.session.session import open_session

    master = f"spark://127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=master):
        open_session(load(overrides={"master": master, "driver_memory": "512m"}), tmp_path, app_name="nowhere")


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path: Path, no_session: None) -> None:
    from penstock.spark.session.session import open_session

    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(StateError, match="state folder"):
        open_session(load(overrides={"master": "local[1]"}), blocked / "state", app_name="blocked")

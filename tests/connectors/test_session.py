from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import StateError, ToolError
from penstock.settings import load
from penstock.spark.session.session import open_session

INTERRUPTED = """
import os, signal, sys, time
from pathlib import Path
from penstock.settings import load
from penstock.spark.session.session import open_session, stop_session
asked = []
signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
chosen = {"master": "local[1]", "driver_memory": "1g", "fast_start": "true", "start_ahead": sys.argv[2]}
spark = open_session(load(overrides=chosen), Path(sys.argv[1]), app_name="interrupted")
done = []
def batch(rows, epoch):
    Path(sys.argv[1], "busy").touch()
    while not asked:
        time.sleep(0.05)
    done.append(rows.toArrow().num_rows)
source = Path(sys.argv[1], "input")
source.mkdir()
(source / "a.txt").write_text("a\\nb\\n")
writer = spark.readStream.text(str(source)).writeStream.foreachBatch(batch).option("checkpointLocation", sys.argv[1] + "/c")
writer.trigger(availableNow=True).start().awaitTermination()
stop_session()
stop_session()
print(asked == [signal.SIGINT], done)
"""


def test_one_session_per_process(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="already"):
        open_session(load(), tmp_path, app_name="second")
    assert spark.range(3).count() == 3


def test_a_small_broadcast_table_is_small_in_memory(spark: SparkSession) -> None:
    def used() -> int:
        jvm = spark._sc._jvm
        assert jvm is not None
        jvm.System.gc()
        return int(jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())

    before = used()
    queries = [spark.range(5).join(spark.range(3).hint("broadcast"), "id") for _ in range(4)]
    assert [len(query.collect()) for query in queries] == [3] * 4
    assert used() - before < 64 << 20


def test_a_local_checkpoint_is_written_through_the_cheap_file_system_and_keeps_its_checksums(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a\nb\na\n")
    seen: list[dict[str, object]] = []
    counts = spark.readStream.text(str(tmp_path / "in")).groupBy("value").count()
    writer = counts.writeStream.foreachBatch(lambda rows, epoch: seen.extend(rows.toArrow().to_pylist())).outputMode("update")
    writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start().awaitTermination()
    assert {row["value"]: row["count"] for row in seen} == {"a": 2, "b": 1}
    assert (tmp_path / "c" / "commits" / ".0.crc").is_file()
    assert list((tmp_path / "c" / "state").rglob("*.changelog")) + list((tmp_path / "c" / "state").rglob("*.zip"))


def test_sql_cannot_read_a_path(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("secret")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM text.`{tmp_path}/a.txt`")


@pytest.mark.parametrize("start_ahead", ["true", "false"])
def test_ctrl_c_reaches_penstock_and_not_the_jvm_so_that_a_batch_can_end(tmp_path: Path, start_ahead: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", INTERRUPTED, str(tmp_path), start_ahead]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True) as child:
        deadline = time.monotonic() + 200
        while not (tmp_path / "busy").exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out.strip(), err) == (0, "True [2]", "")


def test_without_java_the_session_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from penstock.settings import load; from penstock.spark.session.session import open_session\n"
        "from penstock.errors import ToolError\n"
        "try: open_session(load(), Path(sys.argv[1]), app_name='x')\n"
        "except ToolError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAVA_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, capture_output=True, text=True, check=True)
    assert "Java is not installed" in done.stdout
    assert ToolError.exit_code == 6

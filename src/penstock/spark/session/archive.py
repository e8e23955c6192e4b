"""A class-data archive of the JVM: the classes that every run loads, mapped into memory instead of parsed again.

The archive is an offer. It belongs to one Spark, one JVM, one set of jars and one kind of processor, which its name says;
where it is absent or does not fit, the JVM starts as usual and nothing is reported.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import ToolError
from penstock.settings import Settings
from penstock.spark.session.jars import cache_folder, connector_jars, connectors_at_hand, fill_once, is_locked, lock_of, report_on_stderr, run_tool
from penstock.spark.session.spark_home import RECIPE, real_home

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DUMP_TO = "PENSTOCK_ARCHIVE_TO"
ARCHIVE_SECONDS_MAX = 600.0
_FILE = "classes.jsa"
_NOBODY = "127.0.0.1:1"
# The JVM's own log would print thousands of lines about classes that cannot be archived, on stdout.
_SILENT = "-Xlog:disable"
# Few cores do better without a collector that works beside them, and with a compiler that spends its time on what is really hot:
# four times the JVM's own thresholds, which the loops over rows of a long run still pass at once. Until that compiler has the time,
# code runs without the counters that it would want (the two delays), a third faster.
_THRIFTY = (
    "-XX:+UseParallelGC",
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
    "-XX:Tier3DelayOn=0",
    "-XX:Tier3DelayOff=0",
)
# One compiler alone is given a fifth of the room for code that two have, and searches it for what could go after every few queries.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")

# Ends by stop_session, which waits until the JVM, and with it the archive, is done.
_REHEARSAL = """
import shutil
import subprocess
import sys
from pathlib import Path
from penstock.settings import load
from penstock.spark.session.archive import rehearse
from penstock.spark.session.session import open_session, stop_session
folder = Path(sys.argv[1])
rehearse(open_session(load(overrides={"master": "local[2]", "driver_memory": "1g"}), folder / "state", app_name="rehearsal"), folder)
stop_session()
"""


def archive_options(settings: Settings) -> list[str]:
    """The JVM options for a quick start; none of them can keep the JVM from starting."""
    options = [_SILENT, *_THRIFTY, *(_QUICK if settings.flag("fast_start") else ())]
    if not settings.flag("start_ahead"):
        return options
    dump_to = os.environ.get(DUMP_TO)
    if dump_to:
        return [*options, f"-XX:ArchiveClassesAtExit={dump_to}"]
    archive = archive_path()
    if archive is not None and archive.is_file():
        options += ["-Xshare:auto", f"-XX:SharedArchiveFile={archive}"]
    return options


def archive_path() -> Path | None:
    """Where this machine's archive is or would be; None where there is no Java to ask."""
    java = java_program()
    if java is None:
        return None
    release = java.resolve().parent.parent / "release"
    jvm = release.read_text(errors="replace") if release.is_file() else f"{java.resolve()} {java.resolve().stat().st_mtime_ns}"
    return cache_folder() / "cds" / archive_key(jvm, _class_path()) / _FILE


def archive_key(jvm: str, class_path: list[str]) -> str:
    """A name that changes with whatever would make an archive unfit."""
    parts = [version("pyspark"), platform.machine(), jvm, *_THRIFTY, RECIPE, *class_path]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def build_archive(report: Callable[[str], None]) -> Path:
    """Make the archive by running a small windowed job in a child process (about 40 s), and return its path.

    It is written while the child's JVM ends, in a folder that is then renamed, so that a half-written archive is never read.
    """
    target = archive_path()
    if target is None:
        raise ToolError("Java is not installed", hint="install Java 17, e.g. `apt-get install openjdk-17-jre-headless`")
    if target.is_file():
        return target
    connector_jars()
    report("preparing a quicker start for the next runs (once, about 40 s) ...")
    fill_once(target.parent, _run_rehearsal)
    report("the next runs start quicker")
    return target


def build_behind(report: Callable[[str], None]) -> None:
    """Make the archive in a process of its own, which outlives this one, unless it is there or being made; nobody waits for it."""
    target = archive_path() if connectors_at_hand() else None
    if target is None or target.is_file() or DUMP_TO in os.environ:
        return
    command = [*filter(None, [shutil.which("nice")]), sys.executable, "-m", "penstock.spark.session.archive"]
    try:
        target.parent.parent.mkdir(parents=True, exist_ok=True)
        if is_locked(lock_of(target.parent)):
            return
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    except OSError:  # a cache that cannot be written: the next start is as slow as this one was
        return
    report("preparing a quicker start for the next runs in the background (once, about a minute)")


def _run_rehearsal(into: Path) -> None:
    """Run the child until its JVM has written the archive; ToolError with the last words of one that failed."""
    made = into / _FILE
    with tempfile.TemporaryDirectory() as folder:
        run_tool([sys.executable, "-c", _REHEARSAL, folder], "The rehearsal", "Penstock runs without it", {**os.environ, DUMP_TO: str(made)})
    if not made.is_file():
        raise ToolError("the archive for a quicker start was not written", hint="Penstock runs without it")


def rehearse(session: SparkSession, folder: Path) -> None:
    """What most runs do, in small: decode JSON, filter, window, keep state, join, hand rows to Python, batch over the same files."""
    source = folder / "input"
    source.mkdir()
    for each in range(3):
        lines = (f'{{"k": "{n % 5}", "x": {n}, "at": "2024-01-01T00:0{each}:{n:02d}Z"}}' for n in range(60))
        (source / f"{each}.json").write_text("\n".join(lines))
    schema = "k STRING, x INT, at TIMESTAMP"
    session.createDataFrame([("1", "one"), ("2", "two")], "k STRING, name STRING").createOrReplaceTempView("names")
    session.read.schema(schema).json(str(source)).createOrReplaceTempView("history")
    text = "SELECT window(at, '10 seconds') AS w, name, sum(x) AS total, count(*) AS n FROM {} JOIN names USING (k) WHERE x > 1 GROUP BY 1, 2"
    session.sql(f"SELECT to_json(struct(*)) AS line FROM ({text.format('history')}) ORDER BY line LIMIT 10").toArrow()
    live = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(source)).withWatermark("at", "5 seconds")
    live.createOrReplaceTempView("live")
    query = (
        session.sql(text.format("live"))
        .selectExpr("to_json(struct(*)) AS line")
        .writeStream.foreachBatch(_collect)
        .outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    _ask_for_a_topic(session, folder)


def _ask_for_a_topic(session: SparkSession, folder: Path) -> None:
    """What streams from Kafka need, as far as one gets without a broker: nobody answers, but a third of a second is enough for the classes."""
    from py4j.java_gateway import JVMView
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    jvm = session._jvm
    assert isinstance(jvm, JVMView)
    waits = {"request.timeout.ms": "300", "default.api.timeout.ms": "300"}
    options = {f"kafka.{name}": value for name, value in ({"bootstrap.servers": _NOBODY} | waits).items()}
    topic = session.readStream.format("kafka").options(subscribe="nothing", **options).load().writeStream.foreachBatch(_collect)
    with suppress(PySparkException):
        topic.option("checkpointLocation", str(folder / "topic")).trigger(availableNow=True).start().awaitTermination()
    properties = jvm.java.util.Properties()
    kind = "org.apache.kafka.common.serialization.ByteArray"
    named = {
        "bootstrap.servers": _NOBODY,
        "key.deserializer": f"{kind}Deserializer",
        "value.deserializer": f"{kind}Deserializer",
        "group.id": "nobody",
    }
    for name, value in (named | waits).items():
        properties.setProperty(name, value)
    consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
    consumer.assign(jvm.java.util.List.of(jvm.org.apache.kafka.common.TopicPartition("nothing", 0)))
    with suppress(Py4JError):
        consumer.poll(jvm.java.time.Duration.ofMillis(300))
    consumer.close()


def _collect(rows: DataFrame, epoch: int) -> None:
    rows.toArrow()


def java_program() -> Path | None:
    """The `java` that Spark's own scripts would start."""
    home = os.environ.get("JAVA_HOME")
    if home:
        found = Path(home, "bin", "java")
        return found if found.exists() else None
    on_path = shutil.which("java")
    return Path(on_path) if on_path else None


def _class_path() -> list[str]:
    """The connector jars and Spark's own, with sizes and times: the JVM refuses an archive of other files."""
    jars = [*connector_jars(), *sorted((real_home() / "jars").glob("*.jar"))]
    return [f"{jar}:{jar.stat().st_size}:{jar.stat().st_mtime_ns}" for jar in jars]


if __name__ == "__main__":
    build_archive(report_on_stderr)

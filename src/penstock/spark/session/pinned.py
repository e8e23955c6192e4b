"""Spark's settings, as Penstock pins them: a value made from an app's settings, without a JVM.

The reasons are the design's: state that survives (RocksDB with a change log, checksums), one time zone, few partitions on
one machine, cheap checkpoints on a local disk, and nothing open to the network that need not be.
"""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

from penstock.settings import Settings

PARTITIONS_MAX = 8
# Kafka's client would load any login module or fetch any token address that an option names.
GUARDS = (
    "-Dorg.apache.kafka.disallowed.login.modules=com.sun.security.auth.module.JndiLoginModule,com.sun.security.auth.module.LdapLoginModule",
    "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=none",
)
# A broadcast table, however small, is built in one page of this size: by default 64 MB of the driver's memory each time that a join is run, until
# the JVM collects it. Spark sizes these pages by a configuration of its own, which it reads from the JVM's properties.
PAGE = "2m"
_SECRETS = "(?i)secret|password|passwd|token|access[.]?key|credential|jaas"
_STATE = "spark.sql.streaming.stateStore"

PINNED: tuple[tuple[str, str], ...] = (
    # State that survives, checked when it is read again.
    (f"{_STATE}.providerClass", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"),
    (f"{_STATE}.rocksdb.changelogCheckpointing.enabled", "true"),
    (f"{_STATE}.rocksdb.boundedMemoryUsage", "true"),
    (f"{_STATE}.checkpointFormatVersion", "2"),
    (f"{_STATE}.rowChecksum.enabled", "true"),
    ("spark.sql.streaming.numRecentProgressUpdates", "20"),
    # One meaning everywhere.
    ("spark.sql.session.timeZone", "UTC"),
    ("spark.sql.execution.arrow.pyspark.enabled", "true"),
    ("spark.sql.catalogImplementation", "in-memory"),
    ("spark.driver.maxResultSize", "0"),
    # Files of windows-1252, which Spark reads but otherwise refuses.
    ("spark.sql.legacy.javaCharsets", "true"),
    # Parquet of pandas has times in nanoseconds, for which Spark has no type.
    ("spark.sql.legacy.parquet.nanosAsLong", "true"),
    # Tasks small enough that no core waits long for the last one.
    ("spark.sql.files.maxPartitionBytes", "32m"),
    ("spark.buffer.pageSize", PAGE),
    # Every epoch's plan is put into words for a page that is not shown: in few words.
    ("spark.sql.ui.explainMode", "simple"),
    # What that page would list is kept in the driver's memory: a thousand plans of large views were a gigabyte.
    ("spark.sql.ui.retainedExecutions", "20"),
    ("spark.ui.retainedJobs", "50"),
    ("spark.ui.retainedStages", "50"),
    ("spark.ui.retainedTasks", "1000"),
    # No open port, no usage reports.
    ("spark.ui.enabled", "false"),
    ("spark.ui.showConsoleProgress", "false"),
    ("spark.sql.runSQLOnFiles", "false"),
    ("spark.sql.variable.substitute", "false"),
    ("spark.redaction.regex", _SECRETS),
    ("spark.sql.redaction.options.regex", f"{_SECRETS}|url"),
)
# On a local disk Hadoop starts a helper process for every small file; this pair does not.
_LOCAL_CHECKPOINTS: tuple[tuple[str, str], ...] = (
    ("spark.hadoop.fs.file.impl", "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"),
    ("spark.sql.streaming.checkpointFileManagerClass", "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"),
)


def session_conf(settings: Settings, state: Path, jars: list[Path], java_options: list[str]) -> dict[str, str]:
    """Every Spark setting of a session, ready before its JVM starts."""
    master = settings.text("master")
    conf = dict(PINNED)
    conf["spark.master"] = master
    conf["spark.driver.memory"] = settings.text("driver_memory")
    conf["spark.sql.shuffle.partitions"] = str(shuffle_partitions(settings))
    # Spark looks every 10 ms, which takes it half as long: four idle views over files kept both cores of a small machine busy.
    conf["spark.sql.streaming.pollingDelay"] = f"{settings.number('poll_ms')}ms"
    conf["spark.sql.streaming.stopTimeout"] = f"{round(settings.seconds('stop_timeout_s') * 1000)}ms"
    conf["spark.sql.warehouse.dir"] = (state.absolute() / "warehouse").as_uri()
    conf["spark.driver.extraJavaOptions"] = _joined([*GUARDS, f"-Dspark.buffer.pageSize={PAGE}", *java_options])
    if jars:
        conf.update(_LOCAL_CHECKPOINTS)
        conf["spark.driver.extraClassPath"] = ":".join(map(str, jars))
    conf.update(_on_one_machine() if master.startswith("local") else _on_cluster(settings, jars))
    return conf


def shuffle_partitions(settings: Settings) -> int:
    """As the setting says; 0 means one for each core of a local master, and never more than eight."""
    chosen = settings.number("shuffle_partitions")
    return chosen if chosen > 0 else min(PARTITIONS_MAX, local_cores(settings.text("master")) or PARTITIONS_MAX)


def local_cores(master: str) -> int | None:
    """The cores that a local master uses; None for a cluster."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    if found[1] == "*":
        return len(os.sched_getaffinity(0))
    return int(found[1] or 1)


def driver_address(master: str) -> str | None:
    """This machine's address as the master sees it, or None where Spark finds it by itself (YARN, Kubernetes)."""
    if not master.startswith("spark://"):
        return None
    first = urlsplit(master.split(",")[0])
    try:
        # Nothing is sent: connecting a datagram socket only asks the kernel for the route.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((first.hostname or "127.0.0.1", first.port or 7077))
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _on_one_machine() -> dict[str, str]:
    package_home = str(Path(__file__).parents[3])
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.executorEnv.PYTHONPATH": package_home}


def _on_cluster(settings: Settings, jars: list[Path]) -> dict[str, str]:
    options = [*GUARDS, *(["-XX:TieredStopAtLevel=1"] if settings.flag("fast_start") else [])]
    conf = {"spark.executor.memory": settings.text("executor_memory"), "spark.executor.extraJavaOptions": _joined(options)}
    if jars:
        # Workers without these paths are sent the jars; where the paths exist, they are loaded before anything asks for them.
        conf["spark.jars"] = ",".join(jar.as_uri() for jar in jars)
        conf["spark.executor.extraClassPath"] = ":".join(map(str, jars))
    address = driver_address(settings.text("master"))
    if address is not None:
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = address
    return conf


def _joined(options: list[str]) -> str:
    """One string as Spark's launcher splits it again: an option with a space in it is quoted."""
    return " ".join(f'"{option}"' if " " in option else option for option in options)

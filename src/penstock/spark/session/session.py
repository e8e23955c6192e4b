"""The one Spark session of a process: its pinned settings, its jars, its silence.

Whatever Spark, the JVM or a Python worker would print goes to `logs/spark.log` of the state folder. The JVM runs in a
session of its own, so that Ctrl-C in the terminal stops only Penstock, which stops the queries in order.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.errors import EngineError, StateError, ToolError
from penstock.settings import Settings
from penstock.spark.session.archive import ARCHIVE_SECONDS_MAX, DUMP_TO, java_program
from penstock.spark.session.jars import connector_jars, report_on_stderr
from penstock.spark.session.jvm import driver_conf, jvm_command, log_file, started

_JVM_END_SECONDS_MAX = 20
_quiet: logging.Handler | None = None
# What PySpark asks the JVM for with every expression. py4j keeps none of it: each time the name is searched in all packages and jars.
_ASKED_OFTEN = ("PythonUtils", "PythonSQLUtils", "functions", "org.apache.spark.sql.functions", "org.apache.spark.sql.classic.SparkSession")


def open_session(settings: Settings, state: Path, *, app_name: str, needs_kafka: bool = True) -> SparkSession:
    """Start Spark with the settings of an app and its state folder.

    Without Kafka the session also starts where the connector jars cannot be had, only with slower checkpoints.
    ToolError: no Java, no jars. StateError: the folder cannot be written, or this process has a session already.
    EngineError: Spark does not start.
    """
    if SparkContext._active_spark_context is not None:
        raise StateError("this process has a Spark session already", hint="close it first: one session per process")
    if java_program() is None:
        raise ToolError("Java is not installed, or JAVA_HOME is wrong", hint="install Java 17, e.g. `apt-get install openjdk-17-jre-headless`")
    _probe(settings.text("master"))
    log = _log_file(state)
    jars = _jars(needs_kafka)
    conf = driver_conf(settings, state, jars)
    conf["spark.app.name"] = app_name
    try:
        session = _start(conf, log, quick=settings.flag("start_ahead"))
        if not settings.text("master").startswith("local"):
            _ship_package(session)
    except Exception as error:
        failure = _not_started(error, settings.text("master"), log)
        stop_session()
        raise failure from error
    return session


def stop_session() -> None:
    """Stop the session and its JVM, and wait for both; nothing to do when there is none."""
    context = SparkContext._active_spark_context
    gateway = SparkContext._gateway
    gone = jvm_is_gone()
    try:
        session = None if gone else SparkSession.getActiveSession() or SparkSession._instantiatedSession
        if session is not None:
            session.stop()
        elif context is not None and not gone:
            context.stop()
    except Exception:  # the JVM may be gone already, which is all that is wanted
        logging.getLogger("penstock.spark").debug("Spark had ended before it was stopped", exc_info=True)
    # PySpark keeps the gateway for ever; a later session needs a JVM with its own options.
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    if gateway is None:
        return
    process: subprocess.Popen[bytes] = gateway.proc
    with suppress(Exception):  # as above
        if not gone:
            gateway.shutdown()
    _end(process)


def jvm_is_gone(patience_s: float = 0.0) -> bool:
    """Whether the session's JVM has ended without being asked to, or does so within that time: nothing can run any more."""
    gateway = SparkContext._gateway
    if gateway is None:
        return False
    with suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(patience_s)
        return True
    return False


def _probe(master: str) -> None:
    """Spark itself tries a master that is not there for a minute before it says so."""
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except (OSError, ValueError):
            continue
    raise EngineError(f"no Spark master answers at {master}", hint="is the cluster running, and is the `master` setting right?")


def _start(conf: dict[str, str], log: Path, *, quick: bool) -> SparkSession:
    python, local = sys.executable, conf["spark.master"].startswith("local")
    os.environ["PYSPARK_DRIVER_PYTHON"] = python
    if local:
        os.environ["PYSPARK_PYTHON"] = python
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    else:
        os.environ.setdefault("PYSPARK_PYTHON", python)
    for_spark = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    command = jvm_command(conf) if quick else None
    if command is not None:
        jvm = started(command, log)
        import_module("pyspark.testing.utils")  # PySpark does so with the first value for the JVM, and pandas with it: now, the JVM starts meanwhile
        gateway = jvm.gateway()
    else:
        with log.open("ab") as sink:
            gateway = launch_gateway(for_spark, {"stdout": sink, "stderr": sink, "start_new_session": True})  # type: ignore[no-untyped-call]
    SparkContext._gateway = gateway
    SparkContext._jvm = gateway.jvm
    for name in _ASKED_OFTEN:
        setattr(gateway.jvm, name, getattr(gateway.jvm, name))
    for server in (AccumulatorTCPServer, AccumulatorUnixServer):
        server.handle_error = _lost_connection  # type: ignore[method-assign, assignment]
    with _own_interrupts():
        return SparkSession(SparkContext(conf=for_spark, gateway=gateway))


def _lost_connection(*_: object) -> None:
    """PySpark prints a trace on the terminal when the JVM dies under its connection; the driver itself says that it has."""
    logging.getLogger("pyspark").warning("a connection to the JVM was lost")


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """PySpark takes SIGINT for itself and cancels every job on Ctrl-C, in the middle of a batch: give it back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The JVM ends by itself when its standard input closes; it may write a class-data archive first."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(ARCHIVE_SECONDS_MAX if DUMP_TO in os.environ else _JVM_END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _jars(needs_kafka: bool) -> list[Path]:
    try:
        return connector_jars()
    except ToolError as missing:
        if needs_kafka:
            raise
        report_on_stderr(f"warning: running without the connector jars, checkpoints will be slower: {missing.message}")
        return []


def _log_file(state: Path) -> Path:
    """`logs/spark.log`, made together with its folders; also where PySpark's own Python loggers write from now on."""
    global _quiet
    try:
        log = log_file(state)
        handler = logging.FileHandler(log, encoding="utf-8", delay=False)
    except OSError as error:
        raise StateError(f"cannot write to the state folder {state}: {error.strerror}", hint="choose another with --state DIR") from error
    structured = [PySparkLogger.getLogger(name) for name in ("PySparkLogger", "DataFrameQueryContextLogger", "SQLQueryContextLogger")]
    for logger in [logging.getLogger("py4j"), logging.getLogger("pyspark"), *structured]:
        for other in list(logger.handlers):  # PySpark gives some of its loggers one that writes to the terminal
            logger.removeHandler(other)
        logger.addHandler(handler)
        logger.propagate = False
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    if not logging.getLogger("penstock").propagate and root.handlers in ([], [_quiet]):
        root.handlers = [handler]  # py4j logs a broken connection to the root logger, and so to the terminal
    if _quiet is not None:
        _quiet.close()
    _quiet = handler
    return log


def _ship_package(session: SparkSession) -> None:
    """Executors unpickle functions by the names of Penstock's modules, so they must be able to import them."""
    package = Path(__file__).parents[2]
    archive = Path(session.sparkContext._temp_dir, "penstock.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                pack.write(path, path.relative_to(package.parent))
    session.sparkContext.addPyFile(str(archive))


def ship_app(session: SparkSession, folder: Path) -> None:
    """The Python files of an app, for functions that import one of them only when they run; nothing to do on one machine."""
    if str(session.sparkContext.master).startswith("local"):
        return
    found = [path for path in sorted(folder.rglob("*.py")) if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    archive = Path(session.sparkContext._temp_dir, f"app-{uuid.uuid4().hex[:8]}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as pack:
        for path in found:
            pack.write(path, path.relative_to(folder))
    session.sparkContext.addPyFile(str(archive))


def _not_started(error: Exception, master: str, log: Path) -> Exception:
    if isinstance(error, (ToolError, StateError)):
        return error
    text = error.desc if isinstance(error, PySparkException) and hasattr(error, "desc") else str(error)
    reason = next((line.strip() for line in str(text).splitlines() if line.strip()), type(error).__name__)
    where = "" if master.startswith("local") else f" on {master}"
    return EngineError(f"Spark does not start{where}: {reason}", hint=f"the whole story is in {log}")

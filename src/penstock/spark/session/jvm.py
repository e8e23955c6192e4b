"""The JVM of Spark on one machine, started as soon as its options are known: it comes up while Python still reads the app.

Spark's own scripts start a first JVM, which only prints the command line of the second one, and that one reads its settings once more.
Here Spark is asked for its part of the command line once, and its answer is kept beside the lean home; the settings come from Python.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import EngineError, PenstockError
from penstock.settings import Settings
from penstock.spark.session.archive import archive_options, java_program
from penstock.spark.session.jars import connectors_at_hand
from penstock.spark.session.pinned import session_conf
from penstock.spark.session.spark_home import chosen_home

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

LOG4J = Path(__file__).with_name("log4j2.properties")
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_CONNECTION_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_ASKED_SECONDS_MAX = 60
_LOOK_S = 0.01
_LINES_SHOWN = 4


@dataclass(frozen=True)
class Command:
    """How to start a JVM for a Spark."""

    spark_home: Path
    words: tuple[str, ...]


@dataclass(frozen=True)
class Jvm:
    """One that was started; `connection` is where it writes its port and its secret once it listens, `log` what else it says, from `began_at` on."""

    command: Command
    process: subprocess.Popen[bytes]
    connection: Path
    log: Path
    began_at: int

    def gateway(self) -> JavaGateway:
        """PySpark's connection to it, once it listens."""
        from pyspark.java_gateway import launch_gateway

        try:
            while not self.connection.is_file():
                if self.process.poll() is not None:
                    self.kill()
                    raise EngineError(f"the JVM ended with code {self.process.returncode} before it was up{self._log_tail()}")
                time.sleep(_LOOK_S)
            answer = self.connection.read_bytes()
        finally:
            shutil.rmtree(self.connection.parent, ignore_errors=True)
        length = int.from_bytes(answer[4:8], "big")
        found = {"PYSPARK_GATEWAY_PORT": str(int.from_bytes(answer[:4], "big")), "PYSPARK_GATEWAY_SECRET": answer[8 : 8 + length].decode()}
        os.environ.update(found)
        try:
            gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
        finally:
            for name in found:
                del os.environ[name]
        gateway.proc = self.process
        return gateway

    def _log_tail(self) -> str:
        """`: ` and the first of what it had to say, or nothing."""
        lines = [line.strip() for line in self.log.read_bytes()[self.began_at :].decode("utf-8", "replace").splitlines()]
        return "".join(f"{': ' if number == 0 else '; '}{line}" for number, line in enumerate(list(filter(None, lines))[:_LINES_SHOWN]))

    def kill(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.connection.parent, ignore_errors=True)


_ahead: Jvm | None = None


def start_ahead(settings: Settings, state: Path) -> None:
    """Start the JVM that `open_session` will ask for with the same settings. What hinders it is reported there, not here."""
    global _ahead
    jars = connectors_at_hand()
    if not jars or not settings.text("master").startswith("local") or not settings.flag("start_ahead"):
        return
    with suppress(PenstockError, OSError):
        command = jvm_command(driver_conf(settings, state, jars))
        if command is not None:
            _ahead = _started(command, log_file(state))


def end_ahead() -> bool:
    """End a JVM that nobody asked for after all; whether there was one."""
    global _ahead
    found, _ahead = _ahead, None
    if found is not None:
        found.kill()
    return found is not None


def started(command: Command, log: Path) -> Jvm:
    """The JVM of that command: the one that was started ahead, or a new one."""
    global _ahead
    found, _ahead = _ahead, None
    if found is not None and found.command == command and found.process.poll() is None:
        return found
    if found is not None:
        found.kill()
    return _started(command, log)


def _started(command: Command, log: Path) -> Jvm:
    connection = Path(tempfile.mkdtemp(prefix="penstock-jvm-"), "connection")
    environment = {
        **os.environ,
        "SPARK_HOME": str(command.spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONNECT_MODE": "0",
        _CONNECTION_FILE: str(connection),
    }
    began_at = log.stat().st_size if log.exists() else 0
    with log.open("ab") as sink:
        # It ends when its standard input does. In a session of its own, no Ctrl-C reaches it.
        process = subprocess.Popen(command.words, stdin=subprocess.PIPE, stdout=sink, stderr=sink, env=environment, start_new_session=True)
    return Jvm(command, process, connection, log, began_at)


def jvm_command(conf: dict[str, str]) -> Command | None:
    """How to start a JVM for these settings; None where only Spark's own scripts know that."""
    home, java = chosen_home(conf["spark.master"]), java_program()
    answer = _spark_command(home, java) if home is not None and java is not None else None
    if answer is None or home is None:
        return None
    class_path, *options = answer
    class_path = ":".join([*filter(None, [conf.get("spark.driver.extraClassPath")]), class_path])
    own = [f"-Xmx{conf['spark.driver.memory']}", *shlex.split(conf["spark.driver.extraJavaOptions"])]
    return Command(home, (str(java), "-cp", class_path, *own, *options, _GATEWAY))


def driver_conf(settings: Settings, state: Path, jars: list[Path]) -> dict[str, str]:
    """Every Spark setting of a session of this process."""
    options = [
        f"-Dlog4j2.configurationFile={LOG4J.as_uri()}",
        f"-Dpenstock.log={log_path(state)}",
        f"-Dpenstock.driver={os.getpid()}",
        *(archive_options(settings) if jars else []),
    ]
    return session_conf(settings, state, jars, options)


def log_path(state: Path) -> Path:
    return state.absolute() / "logs" / "spark.log"


def log_file(state: Path) -> Path:
    """`logs/spark.log`, made together with its folders."""
    log = log_path(state)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.parent.mkdir(exist_ok=True)
    log.touch()
    return log


def _spark_command(home: Path, java: Path) -> list[str] | None:
    """The class path, then what else Spark itself wants of a JVM, such as packages to open; it is asked once."""
    kept = home / "java-options"
    if kept.is_file():
        return kept.read_text(encoding="utf-8").splitlines()
    core = next(iter((home / "jars").glob("spark-core_*.jar")), None)
    if core is None:
        return None
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": core.name.removeprefix("spark-core_").split("-")[0]}
    command = [str(java), "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main", _SUBMIT, "pyspark-shell"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_ASKED_SECONDS_MAX, check=True)
        words = [word.strip("\n") for word in done.stdout.split("\0")]
        options = [word for word in words[words.index("-cp") + 1 : words.index(_SUBMIT)] if not word.startswith("-Xmx")]
        making = home / f".java-options.{os.getpid()}"
        making.write_text("\n".join(options), encoding="utf-8")
        making.rename(kept)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return options

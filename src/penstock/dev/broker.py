"""A real single-node Kafka for development, run with the JVM that Spark uses; its data lives in the state folder.

The broker outlives the command that started it. Its process id is kept beside its data, and a process is only ever
stopped when its command line says that it is this broker.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from penstock.errors import ToolError
from penstock.spark.session.archive import java_program
from penstock.spark.session.jars import cache_folder, copy_with_maven, fill_once, report_on_stderr

KAFKA = "4.2.0"
POM = Path(__file__).with_name("broker_pom.xml")
_JAVA_OPTIONS = ("-Xmx512m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_START_SECONDS_MAX = 60.0
_STOP_SECONDS_MAX = 15.0


@dataclass(frozen=True)
class BrokerStatus:
    """What is known of a broker: `servers` is what clients connect to, `pid` its process."""

    running: bool
    servers: str
    pid: int | None


class Broker:
    """The broker of one state folder; `start` and `stop` may be called from different processes."""

    def __init__(self, state: Path) -> None:
        self.folder = state.absolute() / "broker"
        self._properties = self.folder / "server.properties"
        self._pid_file = self.folder / "pid"
        self.log = self.folder / "broker.log"

    def start(self, port: int = 9092, report: Callable[[str], None] = report_on_stderr) -> BrokerStatus:
        """Start it on the loopback address and wait until it answers; port 0 takes a free one. Nothing to do if it runs."""
        status = self.status()
        if status.running:
            return status
        java = _java()
        class_path = f"{_kafka_jars(report)}/*"
        port = port or free_port()
        if not _is_free(port):
            raise ToolError(f"port {port} is in use, so the broker cannot listen on it", hint="choose another with --port, or stop what uses it")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(server_properties(self.folder, port, free_port()))
        self._format(java, class_path)
        process = self._launch([str(java), *_JAVA_OPTIONS, "-cp", class_path, "kafka.Kafka", str(self._properties)])
        self._await_answer(process, port)
        return self.status()

    def stop(self) -> bool:
        """Stop it in order and wait; False when it was not running. What it holds stays for the next start."""
        pid = self._pid()
        if pid is None:
            return False
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS_MAX
        while self._pid() is not None:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                deadline += _STOP_SECONDS_MAX
            _reap(pid)
            time.sleep(0.05)
        self._pid_file.unlink(missing_ok=True)
        return True

    def status(self) -> BrokerStatus:
        pid = self._pid()
        return BrokerStatus(running=pid is not None, servers=self._servers(), pid=pid)

    def _pid(self) -> int | None:
        """The process of this very broker, or None: a number in a file may by now be somebody else's process."""
        try:
            pid = int(self._pid_file.read_text())
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except (OSError, ValueError):
            return None
        return pid if "kafka.Kafka" in arguments and str(self._properties) in arguments else None

    def _servers(self) -> str:
        if not self._properties.is_file():
            return ""
        lines = self._properties.read_text().splitlines()
        return next((line.split("//")[1] for line in lines if line.startswith("advertised.listeners=")), "")

    def _format(self, java: Path, class_path: str) -> None:
        """Give the data folder its identity, once."""
        if (self.folder / "data" / "meta.properties").is_file():
            return
        tool = ["kafka.tools.StorageTool", "format", "-t", str(uuid.uuid4()), "-c", str(self._properties)]
        done = subprocess.run([str(java), "-cp", class_path, *tool], capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            reason = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[0]
            raise ToolError(f"Kafka cannot prepare {self.folder}: {reason}", hint="if its data is not needed, delete that folder")

    def _launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True)
        self._pid_file.write_text(str(process.pid))
        return process

    def _await_answer(self, process: subprocess.Popen[bytes], port: int) -> None:
        deadline = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < deadline and process.poll() is None:
            if _answers(port):
                process.returncode = 0  # it outlives us on purpose: Popen must not warn that it still runs
                return
            time.sleep(0.1)
        process.kill()
        process.wait()
        self._pid_file.unlink(missing_ok=True)
        lines = self.log.read_text(errors="replace").strip().splitlines() or ["its log is empty"]
        raise ToolError(f"the broker did not come up on port {port}: {lines[-1]}", hint=f"its log is {self.log}")


def server_properties(folder: Path, port: int, controller_port: int) -> str:
    """KRaft on one node: broker and controller in one process, loopback only, nothing replicated."""
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / "data"),
        "num.partitions": "2",
        "auto.create.topics.enable": "true",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        # A development broker keeps what it is given until its folder is deleted.
        "log.retention.ms": "-1",
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _answers(port: int) -> bool:
    """The broker says which cluster it is: a listening socket alone is there a second before it serves."""
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}, logger=logging.getLogger("penstock.dev.broker"))
    try:
        return bool(admin.list_topics(timeout=1.0).brokers)
    except KafkaException:
        return False


def _reap(pid: int) -> None:
    """Let a child of this process end for good; the broker of another process is not ours to wait for."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _java() -> Path:
    java = java_program()
    if java is None:
        raise ToolError("Java is not installed, or JAVA_HOME is wrong", hint="install Java 17, e.g. `apt-get install openjdk-17-jre-headless`")
    return java


def _kafka_jars(report: Callable[[str], None]) -> Path:
    folder = cache_folder() / "jars" / f"kafka-{KAFKA}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"

    def fetch(into: Path) -> None:
        report(f"fetching Kafka {KAFKA} with Maven (once, about 43 MB) ...")
        copy_with_maven(POM, into)

    fill_once(folder, fetch)
    return folder

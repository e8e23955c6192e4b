"""A real Spark standalone cluster on this machine, made from the pip package: one master and a few workers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from penstock.dev.broker import free_port
from penstock.errors import ToolError
from penstock.spark.session.spark_home import real_home

_START_SECONDS_MAX = 90.0


class StandaloneCluster:
    """`with StandaloneCluster(workers=2) as cluster:` gives `cluster.master`, a `spark://` address; all is gone afterwards.

    The workers do not share the driver's environment: they find Penstock only by what the driver sends them.
    """

    def __init__(self, workers: int = 2, cores: int = 1, memory: str = "1g") -> None:
        self.workers = workers
        self.cores = cores
        self.memory = memory
        self.master = ""
        self.logs = Path()
        self._master: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        self._folder = Path()

    def __enter__(self) -> StandaloneCluster:
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-cluster-"))
        self.logs = self._folder / "logs"
        self.logs.mkdir()
        try:
            port = free_port()
            self.master = f"spark://127.0.0.1:{port}"
            self._master = self._run("master", "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
            self._await("master", "I have been elected leader", 1)
            for _ in range(self.workers):
                self.add_worker()
            self._await("master", "Registering worker", self.workers)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in [*self._workers, *([self._master] if self._master else [])]:
            _end(process)
        self._workers = []
        self._master = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def add_worker(self) -> int:
        """Start one more worker; its number is returned."""
        number = len(self._workers)
        arguments = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", str(self.cores), "--memory", self.memory]
        place = ["--work-dir", str(self._folder / f"work{number}"), self.master]
        self._workers.append(self._run(f"worker{number}", "worker.Worker", *arguments, *place))
        return number

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors at once, as a lost machine would."""
        process = self._workers[number]
        children = _descendants(process.pid)
        process.kill()
        process.wait()
        for child in children:
            _kill(child)

    def _run(self, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = real_home()
        settings = self._folder / "log4j2.properties"
        settings.write_text(_LOGGING)
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_LAUNCHER_OPTS")}
        environment |= {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile={settings.as_uri()}",
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
        }
        with (self.logs / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=environment,
                start_new_session=True,
            )

    def _await(self, name: str, words: str, times: int) -> None:
        log = self.logs / f"{name}.log"
        deadline = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < deadline:
            if log.read_text(errors="replace").count(words) >= times:
                return
            if any(process.poll() is not None for process in [*self._workers, *([self._master] if self._master else [])]):
                break
            time.sleep(0.1)
        last = [path.read_text(errors="replace").strip().splitlines()[-1:] for path in sorted(self.logs.iterdir())]
        raise ToolError(f"the Spark cluster did not come up: {last}")


_LOGGING = """status = error
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
"""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a daemon, and whatever of its executors outlives it."""
    children = _descendants(process.pid)
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for child in children:
        _kill(child)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """Children, and theirs: executors, and the Python workers of executors."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in task.read_text().split():
                found += [int(child), *_descendants(int(child))]
    return found

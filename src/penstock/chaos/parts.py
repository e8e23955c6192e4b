"""The parts that chaos may hurt because it started them: broker, Postgres, cluster, a small disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.chaos.driver import alive, send_signal
from penstock.dev.broker import Broker
from penstock.errors import ToolError
from penstock.testing.cluster import StandaloneCluster
from penstock.testing.postgres import TemporaryPostgres

_BALLAST = "ballast"


class Server:
    """A process that can be killed, started again, and stopped in its tracks."""

    name = "the server"

    def pids(self) -> list[int]:
        raise ToolError(f"{self.name} has no process")

    def kill(self) -> None:
        """kill -9 of all its processes; returns when they are gone."""
        pids = self.pids()
        for pid in pids:
            send_signal(pid, signal.SIGKILL)
        while any(alive(pid) for pid in pids):
            time.sleep(0.02)

    def start(self) -> None:
        raise ToolError(f"{self.name} cannot be started")

    def freeze(self) -> list[int]:
        """Stop it in its tracks, its connections open; what to wake."""
        pids = self.pids()
        for pid in pids:
            send_signal(pid, signal.SIGSTOP)
        return pids

    def slow(self, seconds: float) -> None:
        """Let it work a tenth of the time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            stopped = self.freeze()
            time.sleep(0.18)
            wake(stopped)
            time.sleep(0.02)


def wake(pids: list[int]) -> None:
    for pid in pids:
        send_signal(pid, signal.SIGCONT)


class OwnBroker(Server):
    """A development broker."""

    name = "the broker"

    def __init__(self, state: Path) -> None:
        self.broker = Broker(state)

    @property
    def servers(self) -> str:
        return self.broker.status().servers

    def pids(self) -> list[int]:
        pid = self.broker.status().pid
        return [] if pid is None else [pid]

    def kill(self) -> None:
        pids = self.pids()
        super().kill()
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)

    def start(self) -> None:
        port = int(self.servers.rpartition(":")[2] or 0)
        self.broker.start(port=port, report=lambda text: None)


class OwnPostgres(Server):
    """A Postgres of ours."""

    name = "Postgres"

    def __init__(self, server: TemporaryPostgres) -> None:
        self.server = server

    def pids(self) -> list[int]:
        return self.server.pids()

    def kill(self) -> None:
        self.server.kill()

    def start(self) -> None:
        self.server.start()


@dataclass
class Parts:
    """What there is of them."""

    broker: OwnBroker | None = None
    postgres: OwnPostgres | None = None
    cluster: StandaloneCluster | None = None
    disk: Path | None = None

    @property
    def servers(self) -> list[Server]:
        return [part for part in (self.broker, self.postgres) if part is not None]

    def offered(self) -> set[str]:
        found = {"broker": self.broker, "postgres": self.postgres, "cluster": self.cluster, "own-disk": self.disk}
        return {name for name, part in found.items() if part is not None} | ({"server"} if self.servers else set())


@contextmanager
def started(folder: Path, *, broker: bool, postgres: bool, cluster: bool, disk: bool) -> Iterator[Parts]:
    """Fresh parts below `folder`; all of them are gone afterwards."""
    parts = Parts()
    with ExitStack() as stack:
        if broker:
            parts.broker = OwnBroker(folder / "kafka")
            stack.callback(parts.broker.broker.stop)
            parts.broker.broker.start(port=0, report=lambda text: None)
        if postgres:
            parts.postgres = OwnPostgres(stack.enter_context(TemporaryPostgres()))
        if cluster:
            parts.cluster = stack.enter_context(StandaloneCluster(workers=2, cores=1, memory="1g"))
        if disk:
            parts.disk = stack.enter_context(_small_disk(folder / "disk"))
        yield parts


def may_mount() -> bool:
    """Whether a small disk can be had: by root, on a machine that lets it."""
    return os.geteuid() == 0 and Path("/proc/filesystems").read_text().find("tmpfs") >= 0


@contextmanager
def _small_disk(place: Path) -> Iterator[Path | None]:
    place.mkdir(parents=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "penstock-chaos", str(place)], capture_output=True, check=False)
    if done.returncode != 0:
        yield None
        return
    try:
        yield place
    finally:
        (place / _BALLAST).unlink(missing_ok=True)
        for _ in range(50):
            if subprocess.run(["umount", str(place)], capture_output=True, check=False).returncode == 0:
                break
            time.sleep(0.2)


def is_locked(database: Path) -> bool:
    """Whether somebody is writing to an SQLite file just now."""
    if not database.is_file():
        return False
    with closing(sqlite3.connect(database, timeout=0.2, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
    return False


def fill(disk: Path) -> None:
    """Take every byte that is left."""
    with suppress(OSError), (disk / _BALLAST).open("ab", buffering=0) as ballast:
        while True:
            ballast.write(b"\0" * (1 << 16))


def free(disk: Path) -> None:
    (disk / _BALLAST).unlink(missing_ok=True)

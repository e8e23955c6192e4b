"""A throwaway PostgreSQL server on the loopback address, for tests that must meet the real one."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg
from psycopg import sql

from penstock.dev.broker import free_port
from penstock.errors import ToolError

_START_SECONDS_MAX = 30.0


class TemporaryPostgres:
    """`with TemporaryPostgres() as server:` runs a server with a random password; nothing of it is left afterwards.

    PostgreSQL refuses to run as root, so for root it runs as `postgres` or, failing that, `nobody`.
    """

    def __init__(self) -> None:
        self.host = "127.0.0.1"
        self.port = 0
        self.user = "penstock"
        self.password = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    def __enter__(self) -> TemporaryPostgres:
        programs = server_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        try:
            self._initialise(programs)
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server on its data again, e.g. after `stop`; the port stays the same."""
        self.port = self.port or free_port()
        options = ["-D", str(self._data), "-h", self.host, "-p", str(self.port), "-k", str(self._folder), "-c", "fsync=off"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(server_programs() / "postgres"), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
                **_as_user(),
            )
        self._await_answer()

    def stop(self, *, at_once: bool = False) -> None:
        """Stop the server and wait; `at_once` as a crash would, so that it recovers when it starts again."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def pids(self) -> list[int]:
        """All of its processes, the first one first."""
        if self._process is None:
            return []
        first = self._process.pid
        below = [int(pid) for path in Path(f"/proc/{first}/task").glob("*/children") for pid in path.read_text().split()]
        return [first, *below]

    def kill(self) -> None:
        """kill -9 of all its processes; `start` then recovers what was committed."""
        if self._process is None:
            return
        pids = self.pids()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        while any(Path(f"/proc/{pid}").exists() for pid in pids):  # they hold the shared memory that the next start needs
            time.sleep(0.02)
        self._process = None

    def parameters(self, database: str = "postgres") -> dict[str, str | int]:
        """What a client needs, by the names that Penstock's `postgres` connector uses."""
        return {"host": self.host, "port": self.port, "database": database, "user": self.user, "password": self.password}

    def new_database(self) -> str:
        """A fresh, empty database; its name is returned."""
        name = f"t{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return name

    def connect(self, database: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(host=self.host, port=self.port, dbname=database, user=self.user, password=self.password, autocommit=True)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _initialise(self, programs: Path) -> None:
        secret = self._folder / "password"
        secret.write_text(self.password)
        account = _account()
        if account is not None:
            for path in (self._folder, secret):
                os.chown(path, account.pw_uid, account.pw_gid)
        options = ["-D", str(self._data), "-U", self.user, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run([str(programs / "initdb"), *options], cwd=self._folder, capture_output=True, text=True, check=False, **_as_user())
        if done.returncode != 0:
            raise ToolError(f"PostgreSQL cannot make its folder: {done.stderr.strip()}")

    def _await_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS_MAX
        while self._process is not None and self._process.poll() is None and time.monotonic() < deadline:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError:
                time.sleep(0.1)
        log = (self._folder / "log").read_text(errors="replace").strip().splitlines()
        raise ToolError(f"PostgreSQL did not come up on port {self.port}: {log[-1] if log else 'its log is empty'}")


def server_programs() -> Path:
    """The folder of `initdb` and `postgres`: on the PATH, or where Debian keeps each version's; the newest wins."""
    on_path = shutil.which("initdb")
    if on_path and Path(on_path).with_name("postgres").exists():
        return Path(on_path).parent
    found = [folder.parent for folder in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if not found:
        raise ToolError("the PostgreSQL server is not installed", hint="`apt-get install postgresql`")
    return max(found, key=lambda folder: float(folder.parent.name))


def _account() -> pwd.struct_passwd | None:
    """The user that the server runs as when we are root; None: as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ToolError("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`")


def _as_user() -> dict[str, Any]:
    account = _account()
    return {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

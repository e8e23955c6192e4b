"""`penstock serve` as a user starts it: its own process, real Spark, real HTTP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx

TOKEN = "a-token-of-the-tests-0123456789"


class Server:
    """A server over one app in a folder of its own; `kill` leaves it no time, `start` lets it go on at the same port."""

    def __init__(self, folder: Path, app: str, *settings: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "app.sql").write_text(app)
        (folder / "token").write_text(TOKEN + "\n")
        self._settings = [part for one in settings for part in ("--set", one)]
        self.url, self._port = "", 0
        self.start()

    def start(self) -> None:
        log = self.folder / "serve.log"
        command = [sys.executable, "-m", "penstock", "serve", str(self.folder / "app.sql"), "--state", str(self.folder / "state")]
        command += ["--listen", f"127.0.0.1:{self._port}", "--token-file", str(self.folder / "token"), "--set", "fast_start=true", *self._settings]
        with log.open("w") as written:
            self.process = subprocess.Popen(command, stdout=written, stderr=written, env={**os.environ}, start_new_session=True)
        self.url = self._announced(log)
        self._port = urlsplit(self.url).port or 0
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(log.read_text())
            if httpx.get(f"{self.url}/health").status_code == 200:
                return
            time.sleep(0.3)
        raise AssertionError(log.read_text())

    def _announced(self, log: Path) -> str:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = [word.rstrip(",") for word in log.read_text().split() if word.startswith("http://127")]
            if found:
                return found[0]
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(log.read_text())

    def kill(self) -> None:
        """Without a word, its JVM too."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=120)

    def until(self, path: str, wanted: object, within_s: float = 60) -> httpx.Response:
        """The rows of a path once they are as wanted."""
        with self.client() as client:
            deadline = time.monotonic() + within_s
            while True:
                found = client.get(path)
                if found.status_code == 200 and found.json()["rows"] == wanted:
                    return found
                assert time.monotonic() < deadline, found.text
                time.sleep(0.2)

    def until_dead(self, stream: str, count: int, within_s: float = 60) -> list[dict[str, object]]:
        """The dead letters of a stream once there are so many."""
        with self.client() as client:
            deadline = time.monotonic() + within_s
            while True:
                found: list[dict[str, object]] = client.get(f"/v1/streams/{stream}/dead").json()["rows"]
                if len(found) == count:
                    return found
                assert time.monotonic() < deadline, found
                time.sleep(0.2)

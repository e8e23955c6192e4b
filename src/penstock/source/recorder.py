"""Lines from a TCP server, landed as files: what came over a socket once can then be read as often as needed.

At most 200 ms or 1 MB of lines wait in memory; a file is there as a whole or not at all. While the disk is full nothing
more is read. What had not been landed when the process died, or was frozen until another took over, is lost: the server cannot be
asked again. Files are numbered on after a restart.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from pathlib import Path

from penstock.source.landing import land

_LOG = logging.getLogger("penstock.source")
_LAND_SECONDS = 0.2
_LAND_BYTES = 1024 * 1024
_READ_BYTES = 65_536
_WAIT_SECONDS_MIN = 0.1
_WAIT_SECONDS_MAX = 5.0
_QUIET_SECONDS = 0.5


class Recorder:
    """One thread that reads `host:port` and lands its lines in `folder`; started and stopped by hand, once each."""

    def __init__(self, host: str, port: int, folder: Path) -> None:
        self.address = (host, port)
        self._folder = folder
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"record {host}:{port}", daemon=True)
        self._heard = False
        self._last_sign = time.monotonic()
        self._connected = False
        self._has_landed = False

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._next = self._free()
        self._thread.start()

    def stop(self) -> None:
        """Lands what was read and ends the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def has_heard(self) -> bool:
        """Whether the server ever answered."""
        return self._heard

    def caught_up(self, timeout_s: float) -> bool:
        """Waits until the server has hung up or been quiet for half a second after a first connection; False: it took too long."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            quiet = time.monotonic() - self._last_sign > _QUIET_SECONDS
            if self._heard and (quiet or not self._connected):
                return True
            time.sleep(0.05)
        return False

    def _run(self) -> None:
        wait = _WAIT_SECONDS_MIN
        while not self._stopping.is_set():
            try:
                with socket.create_connection(self.address, timeout=_WAIT_SECONDS_MAX) as connection:
                    _LOG.info("connected to %s:%d", *self.address)
                    wait = _WAIT_SECONDS_MIN
                    self._record(connection)
            except OSError as error:
                _LOG.warning("cannot read %s:%d: %s; next try in %.1f s", *self.address, error, wait)
            self._stopping.wait(wait)
            wait = min(wait * 2, _WAIT_SECONDS_MAX)

    def _record(self, connection: socket.socket) -> None:
        connection.settimeout(_LAND_SECONDS / 4)
        self._heard = self._connected = True
        self._last_sign = time.monotonic()
        waiting, since = b"", time.monotonic()
        try:
            while not self._stopping.is_set():
                block = self._receive(connection)
                if block == b"":
                    self._land(waiting)  # the sender has ended its last line, if not with a mark
                    waiting = b""
                    break
                if block:
                    since = since if waiting else time.monotonic()
                    waiting += block
                if len(waiting) >= _LAND_BYTES or (waiting and time.monotonic() - since >= _LAND_SECONDS):
                    whole, newline, waiting = waiting.rpartition(b"\n")
                    self._land(whole + newline)
                    since = time.monotonic()
        finally:
            whole, newline, _ = waiting.rpartition(b"\n")
            self._land(whole + newline)
            self._connected = False

    def _receive(self, connection: socket.socket) -> bytes | None:
        """Some bytes, none at the end of the connection, None when nothing came for a while."""
        try:
            block = connection.recv(_READ_BYTES)
        except TimeoutError:
            return None
        self._last_sign = time.monotonic()
        return block

    def _land(self, lines: bytes) -> None:
        if not lines:
            return
        # Line ends are made alike here, on bytes: Spark's text functions would replace bytes that are not UTF-8.
        content = (lines if lines.endswith(b"\n") else lines + b"\n").replace(b"\r\n", b"\n")
        while not self._lands(content):
            if self._has_landed:
                _LOG.warning("another driver has taken over the recording of %s:%d: this one ends", *self.address)
                self._stopping.set()
                return
            self._next = self._free()  # the driver that went before woke up once more: it will find this file, and end
        self._has_landed = True
        self._next += 1

    def _lands(self, content: bytes) -> bool:
        """Tries until the disk takes it; False where the next file is there already. Who is being stopped tries once."""
        wait = _WAIT_SECONDS_MIN
        while True:
            try:
                return land(self._folder / f"{self._next:012d}.txt", content, synced=True)
            except OSError as error:
                if self._stopping.is_set():
                    _LOG.warning("cannot record %s:%d: %s; %d lines are lost", *self.address, error, content.count(b"\n"))
                    return True
                _LOG.warning("cannot record %s:%d: %s; next try in %.1f s", *self.address, error, wait)
            self._stopping.wait(wait)
            wait = min(wait * 2, _WAIT_SECONDS_MAX)

    def _free(self) -> int:
        """The number after the last file."""
        return max((int(path.stem) for path in self._folder.glob("*.txt") if path.stem.isdigit()), default=-1) + 1

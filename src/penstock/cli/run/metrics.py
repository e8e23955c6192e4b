"""`run --metrics`: a small HTTP server beside a run, with `/metrics` for Prometheus and `/health` for whoever restarts it.

It only reads, on the loopback address unless asked otherwise, and ends with the run.
"""

from __future__ import annotations

import errno
import json
import socket
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Self

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from penstock.errors import OptionFault
from penstock.observe.health import health, jobs_as_json
from penstock.observe.prometheus import exposition

if TYPE_CHECKING:
    from penstock.cli.run import Watch
    from penstock.observe.progress import Progress

_LOOPBACK = "127.0.0.1"
_HINT = "e.g. --metrics 9100, or --metrics 0.0.0.0:9100 to be reached from other machines"


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[IPV6]:PORT`, or a port alone, which means the loopback address."""
    host, colon, port = text.strip().rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535 or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        raise OptionFault(f"--metrics wants HOST:PORT or a port, not `{text}`", hint=_HINT)
    return (host.strip("[]") if colon and host else _LOOPBACK), int(port)


class Metrics:
    """Shows the progress to another watch, and serves it as long as the block runs."""

    def __init__(self, at: str, watch: Watch, stalled_after_s: float) -> None:
        self._watch = watch
        self._stalled_after_s = stalled_after_s
        self._progress: Sequence[Progress] = ()
        self._server = _bound(*address(at), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True)

    @property
    def url(self) -> str:
        host, port = str(self._server.server_address[0]), self._server.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._watch.__enter__()
        self._watch.say(f"metrics at {self.url}/metrics, health at {self.url}/health")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._watch.__exit__(kind, error, trace)

    def say(self, message: str) -> None:
        self._watch.say(message)

    def show(self, progress: list[Progress], elapsed_s: float) -> None:
        self._progress = tuple(progress)
        self._watch.show(progress, elapsed_s)

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, content type and body for a path."""
        now, progress = time.time(), self._progress
        if path == "/metrics":
            return 200, CONTENT_TYPE_PLAIN_0_0_4, exposition(progress, now).decode()
        if path == "/health":
            found = health(progress, now, self._stalled_after_s)
            body = {"status": found.status, "reasons": list(found.reasons), "jobs": jobs_as_json(progress)}
            return (200 if found.ok else 503), "application/json", json.dumps(body, ensure_ascii=False) + "\n"
        return 404, "application/json", json.dumps({"error": f"there is no {path}", "hint": "/metrics and /health"}) + "\n"


def _bound(host: str, port: int, metrics: Metrics) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up in the middle is nobody's trouble."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            status, kind, body = metrics.answer(self.path.partition("?")[0])
            content = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_GET

        def version_string(self) -> str:
            return "penstock"

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line."""

    try:
        return Server((host, port), Handler)
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "the port is in use" if taken else getattr(error, "strerror", None) or str(error)
        raise OptionFault(f"--metrics cannot listen on {host}:{port}: {reason}", hint="choose another port; 0 takes a free one") from error

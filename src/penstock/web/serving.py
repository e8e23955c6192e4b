"""The app behind a port, on a thread of its own, beside a run."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from penstock.errors import EngineError, OptionFault
from penstock.web.follow import Feed

LISTEN = "127.0.0.1:8700"
_HINT = f"e.g. --listen {LISTEN}, or a port alone, which means the loopback address"
_STARTS_WITHIN_S = 10.0
_ASKS_WITHIN_S = 20.0


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `[IPV6]:PORT`, or a port alone, which means the loopback address."""
    host, colon, port = text.strip().rpartition(":")
    in_brackets = host.startswith("[") and host.endswith("]")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535 or (":" in host and not in_brackets):
        raise OptionFault(f"--listen wants HOST:PORT or a port, not `{text}`", hint=_HINT)
    return (host.strip("[]") if colon and host else "127.0.0.1"), int(port)


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach it; a name is believed when all that it stands for are."""
    try:
        found: Sequence[str] = [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found)


class Impatient(HttpToolsProtocol):
    """Closes a connection that has not asked for anything in time: one that sends its headers letter by letter would hold it for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(_ASKS_WITHIN_S, self._close_unless_asked)

    def _close_unless_asked(self) -> None:
        if getattr(self, "cycle", None) is None and self.transport.get_protocol() is self and not self.transport.is_closing():
            self.transport.close()


class Serving:
    """A uvicorn server; `start` returns when it listens."""

    def __init__(self, app: FastAPI, host: str, port: int) -> None:
        self._app = app
        self._socket = _bound(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        config = uvicorn.Config(
            app,
            http=Impatient,
            log_config=None,
            access_log=False,
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=2,
            ws_max_size=64 * 1024,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, name="penstock web", daemon=True)

    def start(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise EngineError("the server did not start", hint="the log in the state folder has the details")
            time.sleep(0.02)

    def stop(self) -> None:
        """Ends subscriptions, then the server."""
        feed: Feed = self._app.state.feed
        feed.is_over = True
        feed.ring()
        self._server.should_exit = True
        self._thread.join(5.0)


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(2048)
        return found
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "the port is in use" if taken else getattr(error, "strerror", None) or str(error)
        raise OptionFault(f"--listen cannot listen on {host}:{port}: {reason}", hint="choose another port; 0 takes a free one") from error

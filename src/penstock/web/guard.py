"""What stands before every call: who asks, from where, how often, and how much. Nothing behind it sees a request that is refused here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from fastapi.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.web.access import Access
from penstock.web.answers import refusal, unexpected

_CHANGING = ("POST", "PUT", "DELETE", "PATCH")
_BODY_S = 60.0
SAFE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_HEADERS = tuple((name.encode(), value.encode()) for name, value in SAFE.items())


class Rate:
    """A bucket of `burst` calls that fills with `per_s` a second."""

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s, self._burst = per_s, burst
        self._left, self._at = burst, time.monotonic()

    def wait_s(self) -> float:
        """0, and one call is taken; else how long to wait."""
        now = time.monotonic()
        self._left, self._at = min(self._burst, self._left + (now - self._at) * self._per_s), now
        if self._left < 1:
            return (1 - self._left) / self._per_s
        self._left -= 1
        return 0.0


class Guard:
    """The outermost ASGI app. `is_open` says which paths need no token: they hold no data. `strangers` is the rate of those who try to log in."""

    def __init__(self, inner: ASGIApp, access: Access, *, body_bytes_max: int, rate: Rate, strangers: Rate, is_open: Callable[[str], bool]) -> None:
        self._inner, self._access, self._rate, self._strangers = inner, access, rate, strangers
        self._body_bytes_max = body_bytes_max
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
            started = started or message["type"] in ("http.response.start", "websocket.accept", "websocket.http.response.start")
            await send(message)

        refused = self._refused(scope)
        try:
            if refused is None and scope["type"] == "http" and scope["method"] in _CHANGING:
                read = await self._body(scope, receive)
                if isinstance(read, Response):
                    refused = read
                else:
                    receive = _replayed(read, receive)
            if refused is None:
                await self._inner(scope, receive, with_headers)
                return
        except Exception as error:
            if started:
                raise
            refused = unexpected(error)
        await refused(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if scope["type"] == "websocket" or scope["method"] in _CHANGING:
            strange = _strange(headers, scope)
            if strange is not None:
                return refusal(403, "origin", f"a request from {strange} is not taken", "call it from a program, or from the server's own pages")
        if self._is_open(scope["path"]):
            return _too_often(self._strangers) if scope["type"] == "http" and scope["method"] in _CHANGING else None
        if not self._access.is_allowed(headers.get("authorization"), headers.get("cookie")):
            hint = "send the header `Authorization: Bearer TOKEN` with the token of the token file"
            unknown = refusal(401, "token", "this call needs the token", hint, headers={"WWW-Authenticate": "Bearer"})
            return _too_often(self._strangers) or unknown
        return _too_often(self._rate)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | Response | None:
        """The whole body, bounded in size and time; None when the sender hung up."""
        too_large = refusal(
            413, "too_large", f"the body is larger than {self._body_bytes_max // 2**20} MB", "send it in parts; setting request_mb_max"
        )
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if length.isdigit() and int(length) > self._body_bytes_max:
            return too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_BODY_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    part = message.get("body", b"")
                    size += len(part)
                    if size > self._body_bytes_max:
                        return too_large
                    parts.append(part)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            return refusal(408, "timeout", f"the body did not come within {_BODY_S:g} s", "send it at once")


def _too_often(rate: Rate) -> Response | None:
    wait_s = rate.wait_s()
    if not wait_s:
        return None
    return refusal(429, "rate", "too many calls", "wait as `Retry-After` says", headers={"Retry-After": str(max(1, round(wait_s)))})


def _replayed(body: bytes | None, receive: Receive) -> Receive:
    """The body as one message, then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}] if body is not None else [{"type": "http.disconnect"}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _strange(headers: dict[str, str], scope: Scope) -> str | None:
    """Another site that a browser was sent here from; None for programs and for the server's own pages."""
    if headers.get("sec-fetch-site", "").strip().lower() == "cross-site":
        return "another site"
    origin = headers.get("origin")
    if origin is None:
        return None
    scheme = {"ws": "http", "wss": "https"}.get(scope.get("scheme", "http"), scope.get("scheme", "http"))
    try:
        given = urlsplit(origin.strip())
        own = urlsplit(f"{scheme}://{headers.get('host', '')}")
        same = (given.scheme, given.hostname, given.port or _port(given.scheme)) == (own.scheme, own.hostname, own.port or _port(own.scheme))
    except ValueError:
        same = False
    return None if same and given.hostname else f"the origin {origin[:100]}"


def _port(scheme: str) -> int:
    return 443 if scheme == "https" else 80

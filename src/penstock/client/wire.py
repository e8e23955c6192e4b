"""What both clients share: errors, events as they come over the wire, and how long to wait before the next try."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from penstock.client.answers import Change
from penstock.errors import PenstockError

TIMEOUT = httpx.Timeout(300.0, connect=10.0)
FOLLOW = httpx.Timeout(60.0, connect=10.0)
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)  # each view that is followed holds one
TRY_FOR_S = 120.0
_WAITS_S = (0.1, 0.3, 1.0, 2.0, 5.0)
_LATER = (408, 429, 502, 503, 504)


class ServerError(PenstockError):
    """What a server refused: its HTTP status, and a code that programs can tell apart."""

    def __init__(self, message: str, *, status: int = 0, code: str = "unreachable", hint: str | None = None, place: object = None) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code, self.place = status, code, place

    @property
    def is_temporary(self) -> bool:
        """Whether the same call may do later."""
        return self.status in (0, *_LATER)


def headers_of(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def path_of(view: str, what: str = "") -> str:
    return f"/v1/views/{quote(view, safe='')}{what}"


def check(response: httpx.Response) -> httpx.Response:
    """The answer, or what it says went wrong."""
    if response.is_success:
        return response
    try:
        error = response.json()["error"]
        raise ServerError(error["message"], status=response.status_code, code=error["code"], hint=error["hint"], place=error["where"])
    except (ValueError, KeyError, TypeError):
        raise ServerError(f"the server answered {response.status_code}", status=response.status_code, code="unknown") from None


def unreached(url: str, error: Exception) -> ServerError:
    return ServerError(f"the server at {url} cannot be reached: {error or type(error).__name__}", hint="is it running? `penstock serve` starts it")


def asked(where: str | None, order: str | None = None, limit: int | None = None, offset: int | None = None) -> dict[str, Any]:
    given = {"where": where, "order": order, "limit": limit, "offset": offset}
    return {name: value for name, value in given.items() if value is not None}


class Events:
    """Lines of Server-Sent Events become changes; a snapshot is held back until it is whole, so that a broken one leaves no half."""

    def __init__(self, token: str | None) -> None:
        self.token = token
        self.is_over = self.is_replaced = False
        self._tries, self._lost_at = 0, 0.0
        self._event, self._data = "", list[str]()
        self._id: str | None = None
        self._rows: list[Any] = []

    def wait_s(self, url: str, broke: Exception) -> float:
        """How long to wait before the next try, once the connection broke or could not be made.

        ServerError for what will not change, and where nothing has come for as long as it is tried.
        """
        self._event, self._id, self._data, self._rows = "", None, [], []
        if not self._tries:
            self._lost_at = time.monotonic()
        hopeless = isinstance(broke, ServerError) and not broke.is_temporary
        if hopeless or time.monotonic() - self._lost_at > TRY_FOR_S:
            raise broke if isinstance(broke, ServerError) else unreached(url, broke) from None
        self._tries += 1
        return _WAITS_S[min(self._tries, len(_WAITS_S)) - 1]

    def line(self, line: str) -> list[Change]:
        """The changes that this line completes."""
        self._tries = 0
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._event = value
            elif name == "id":
                self._id = value
            elif name == "data":
                self._data.append(value)
            return []
        if not self._data:
            return []
        event, token, data = self._event, self._id, json.loads("\n".join(self._data))
        self._event, self._id, self._data = "", None, []
        return self._taken(event, token, data)

    def _taken(self, event: str, token: str | None, data: Mapping[str, Any]) -> list[Change]:
        if event == "dropped":
            self.is_over = True
            return []
        if event == "change":
            self.token = token
            return [Change(data["op"], data["key"], data["row"], data["epoch"], token)]
        self._rows += data["rows"]
        if data["more"]:
            return []
        rows, self._rows, self.token = self._rows, [], token
        last, epoch, reason = len(rows) - 1, data["epoch"], data["reason"]
        self.is_replaced = self.is_replaced or reason == "replaced"
        if not rows and reason != "start":
            return [Change("-", None, {}, epoch, token, reason)]  # else nothing would say that what was there is gone
        return [Change("+", None, row, epoch, token if place == last else None, reason) for place, row in enumerate(rows)]

"""A server that runs on a state folder, found by a small file in it: who has the app's files and its token need not start a second JVM."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.change import Rows
from penstock.schema import Column, Schema

_FILE = "server.json"
_ANSWERS_WITHIN_S = 60.0
_IS_THERE_WITHIN_S = 2.0


@dataclass(frozen=True)
class Beside:
    """Where a server listens, and the file with its token."""

    url: str
    token_file: str
    process: int

    def query(self, sql: str) -> Rows | None:
        """One SELECT; None where the server does not give the whole answer, for whatever reason: then it is to be computed here."""
        found = self._called("POST", "/v1/query", {"sql": sql}, _ANSWERS_WITHIN_S)
        if found is None or found.get("truncated", True):
            return None
        schema = Schema(tuple(Column(name, kind) for name, kind in zip(found["columns"], found["types"], strict=True)))
        return Rows(schema, _lines(found["rows"]))

    @property
    def is_there(self) -> bool:
        return self._called("GET", "/v1/status", None, _IS_THERE_WITHIN_S) is not None

    def _called(self, method: str, path: str, body: object, within_s: float) -> dict[str, Any] | None:
        address = urlsplit(self.url)
        try:
            token = Path(self.token_file).read_text(encoding="utf-8").strip()
            connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=within_s)
            try:
                headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                found = json.loads(answer.read())
                return found if answer.status == 200 and isinstance(found, dict) else None
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException):
            return None


def announce(state: Path, url: str, token_file: Path) -> None:
    """From now on the server can be found; only the owner of the state folder can read where its token is."""
    place = Beside(url, str(token_file.absolute()), os.getpid())
    fresh = state / f".{_FILE}"
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(place), file)
    fresh.replace(state / _FILE)


def withdraw(state: Path) -> None:
    """Unless another server has taken the place meanwhile."""
    found = _read(state)
    if found is not None and found.process == os.getpid():
        (state / _FILE).unlink(missing_ok=True)


def announced(state: Path) -> Beside | None:
    """The server of a state folder, if it is alive and on this machine."""
    found = _read(state)
    return found if found is not None and _runs(found.process) and found.is_there else None


def _read(state: Path) -> Beside | None:
    try:
        found = Beside(**json.loads((state / _FILE).read_text(encoding="utf-8")))
        return found if urlsplit(found.url).hostname in ("127.0.0.1", "::1", "localhost") else None
    except (OSError, ValueError, TypeError):
        return None


def _runs(process: int) -> bool:
    """A server that was killed left its file behind, and its port may be another's by now: nobody is given the token there."""
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    return True


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(row, ensure_ascii=False) for row in rows)

"""Who may ask: the token, the cookie of a browser that has shown it, and codes that log in once."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from penstock.errors import OptionFault

COOKIE = "penstock_session"
_SESSION_S = 12 * 3600
_CODE_S = 3600
_LETTERS_MIN = 8


def read_token(file: Path) -> str:
    """The one line of a token file."""
    try:
        lines = file.read_text(encoding="utf-8").strip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise OptionFault(f"the token file {file} cannot be read: {reason}", hint="write one line with a long random token to it") from None
    if len(lines) != 1 or len(lines[0]) < _LETTERS_MIN or not lines[0].isascii() or not lines[0].isprintable() or " " in lines[0]:
        hint = f"one line of at least {_LETTERS_MIN} letters and digits, e.g. made by: openssl rand -hex 32"
        raise OptionFault(f"the token file {file} does not hold a token", hint=hint)
    return lines[0]


def made_token(file: Path) -> str:
    """The token in a file that is the owner's alone; it is made where there is none."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            written.write(secrets.token_urlsafe(32) + "\n")
    return read_token(file)


class Access:
    """Knows the token; a session is a signed time of expiry, so that it outlives a restart of the server and costs no memory."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._codes: dict[str, float] = {}
        self._guard = threading.Lock()

    def is_token(self, given: str) -> bool:
        """Takes as long whatever is given."""
        return hmac.compare_digest(hashlib.sha256(given.encode("utf-8", "replace")).digest(), hashlib.sha256(self._token).digest())

    def is_allowed(self, authorization: str | None, cookie: str | None) -> bool:
        """By `Authorization: Bearer TOKEN`, or by the cookie of a session."""
        kind, _, given = (authorization or "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return cookie is not None and self.is_session(_session_in(cookie))

    def new_session(self) -> str:
        until = str(int(time.time()) + _SESSION_S)
        return f"{until}.{self._signature(until)}"

    def is_session(self, value: str) -> bool:
        until, _, signature = value.partition(".")
        fits = hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(until).encode())
        return fits and until.isdigit() and int(until) > time.time()

    def new_code(self) -> str:
        """A code that `redeem` takes once, within the hour: for the address that a browser is opened with."""
        code = secrets.token_urlsafe(18)
        with self._guard:
            self._codes[code] = time.time() + _CODE_S
        return code

    def redeem(self, code: str) -> bool:
        with self._guard:
            return self._codes.pop(code, 0.0) > time.time()

    def _signature(self, until: str) -> str:
        return hmac.new(self._token, b"session " + until.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def session_cookie(value: str) -> str:
    """The header that sets the cookie of a session."""
    return f"{COOKIE}={value}; Path=/; Max-Age={_SESSION_S}; HttpOnly; SameSite=Strict"


def _session_in(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value

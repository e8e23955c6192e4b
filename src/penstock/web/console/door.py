"""The way in: `/` asks for the token, or takes a code that logs in once; without a session no page is given out."""

from __future__ import annotations

from html import escape
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.web.access import Access, session_cookie
from penstock.web.guard import SAFE

PREFIX = "/console"
router = APIRouter(include_in_schema=False)
_STYLE = """
:root { color-scheme: light dark } body { font: 16px system-ui, sans-serif; margin: 0; min-height: 100vh; display: grid; place-items: center }
form { display: grid; gap: 12px; width: min(22rem, 86vw) } h1 { font-size: 1.5rem; margin: 0 } p { margin: 0 }
input, button { font: inherit; padding: .6rem .7rem; border-radius: 8px; border: 1px solid #8794a5 }
button { background: #1f6fb2; color: #fff; border-color: #1f6fb2; cursor: pointer } .wrong { font-weight: 600 }
"""
# NiceGUI compiles its templates in the browser, which is why its pages may evaluate; everything comes from this server all the same.
_PAGES = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_LOGIN = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


@router.get("/")
def enter(request: Request, code: str = "", wrong: str = "", to: str = "") -> Response:
    """The pages for a session or a code; else a field for the token, and no data."""
    access: Access = request.app.state.access
    if code and access.redeem(code):
        return _let_in(access, to)
    if access.is_allowed(None, request.headers.get("cookie")):
        return RedirectResponse(_own(to), 303)
    message = "This code was used or is too old: use the token." if code else "This is not the token." if wrong else ""
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        # Without a referrer a browser gives no origin with the form either, and the guard would refuse it.
        f'<meta name="referrer" content="same-origin"><link rel="icon" href="data:,">'
        f'<title>Penstock</title><style>{_STYLE}</style><form method="post" action="/login"><h1>Penstock</h1>'
        f'<p class="wrong" role="alert">{message}</p><label for="token">Token: the one line of the token file</label>'
        f'<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>'
        f'<input type="hidden" name="to" value="{escape(_own(to))}"><button>Log in</button></form></html>'
    )
    return HTMLResponse(body, headers={"Content-Security-Policy": _LOGIN, "Cache-Control": "no-store"})


@router.post("/login")
async def log_in(request: Request) -> Response:
    """What the form of `/` sends."""
    access: Access = request.app.state.access
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    to = given.get("to", [""])[0]
    if not access.is_token(given.get("token", [""])[0].strip()):
        return RedirectResponse(f"/?wrong=1&to={quote(_own(to))}", 303)
    return _let_in(access, to)


def _let_in(access: Access, to: str) -> Response:
    return RedirectResponse(_own(to), 303, headers={"Set-Cookie": session_cookie(access.new_session()), "Cache-Control": "no-store"})


def _own(to: str) -> str:
    """A page of the console, whatever was asked for."""
    return to if to.startswith(f"{PREFIX}/") else f"{PREFIX}/"


class Door:
    """Sends a browser without a session from a page to the login, and puts the policy on every page."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner, self._access = inner, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == PREFIX or path.startswith(f"{PREFIX}/")):
            await self._inner(scope, receive, send)
            return
        cookie = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"), None)
        if scope["method"] == "GET" and "/_nicegui" not in path and not self._access.is_allowed(None, cookie):
            await RedirectResponse(f"/?to={quote(path)}", 303, headers=SAFE)(scope, receive, send)
            return

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = _PAGES
            await send(message)

        await self._inner(scope, receive, with_policy)

"""Sessions of browsers: the token, or a code that logs in once, is exchanged for a cookie that no script can read."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from penstock.web.access import COOKIE, Access, session_cookie
from penstock.web.answers import Refused

router = APIRouter()


class Login(BaseModel):
    """The token, or a code that logs in once."""

    token: str = ""
    code: str = ""


@router.post("/v1/session")
def log_in(request: Request, login: Login | None = None) -> Response:
    """Start a session: the token in the body or in `Authorization`."""
    access: Access = request.app.state.access
    given = login or Login()
    if not (access.is_allowed(request.headers.get("authorization"), None) or access.is_token(given.token) or access.redeem(given.code)):
        raise Refused(401, "token", "this is not the token", "it is the one line of the token file", {"WWW-Authenticate": "Bearer"})
    return JSONResponse({"session": True}, headers={"Set-Cookie": session_cookie(access.new_session())})


@router.delete("/v1/session")
def log_out(request: Request) -> Response:
    """End the session of this browser."""
    return JSONResponse({"session": False}, headers={"Set-Cookie": f"{COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"})

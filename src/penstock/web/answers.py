"""One shape for every error, `{"error": {"code", "message", "where", "hint"}}`, and which status each error has."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from types import MappingProxyType

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from penstock import errors
from penstock.errors import PenstockError, UserError, Where, masked, underline

log = logging.getLogger("penstock.web")
_STATUSES: tuple[tuple[type[PenstockError], int, str], ...] = (
    (errors.SyntaxFault, 400, "syntax"),
    (errors.NameFault, 400, "unknown_name"),
    (errors.TypeFault, 400, "type"),
    (errors.PlanFault, 400, "plan"),
    (errors.ForbiddenFault, 400, "forbidden_sql"),
    (errors.OptionFault, 400, "option"),
    (errors.PromiseFault, 400, "promise"),
    (errors.UserError, 400, "wrong"),
    (errors.StateError, 503, "state"),
    (errors.SourceError, 503, "source"),
    (errors.SinkError, 503, "sink"),
    (errors.EngineError, 503, "engine"),
    (errors.ToolError, 503, "tool"),
)
_CODES = {400: "wrong", 404: "not_found", 405: "method", 408: "timeout", 413: "too_large", 429: "rate", 503: "unavailable"}
_TEXTS = ("where", "order")  # what of a URL is SQL
_QUOTED = re.compile(r"`([^`]+)`|'([^']+)'")


class Refused(Exception):
    """An answer that is no success, raised from anywhere below a call."""

    def __init__(self, status: int, code: str, message: str, hint: str | None = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.hint, self.headers = status, code, message, hint, headers


def refusal(
    status: int,
    code: str,
    message: str,
    hint: str | None = None,
    where: object = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, object] = MappingProxyType({}),
) -> JSONResponse:
    """The answer to a call that cannot be done; `more` stands beside the error."""
    body = {**more, "error": {"code": code, "message": masked(message), "where": where, "hint": hint}}
    return JSONResponse(body, status, headers=dict(headers) if headers else None)


def refused(error: PenstockError, sql: str | None = None) -> JSONResponse:
    """The answer to an error; `sql` is the request's own text, in which its place is looked for where the error names none."""
    status, code = next(((status, code) for kind, status, code in _STATUSES if isinstance(error, kind)), (503, "internal"))
    hint = error.hint or (_hint(error) if sql is not None and isinstance(error, UserError) else None)
    return refusal(status, code, error.message, hint, _place(error, sql))


def _place(error: PenstockError, sql: str | None) -> dict[str, object] | None:
    where, excerpt = error.where, error.excerpt
    if where is None or (excerpt is None and sql):
        if sql is None or not isinstance(error, UserError):
            return None if where is None else _spot(where, excerpt or "")
        start, end = _mention(error.message, sql)
        line = sql.count("\n", 0, start) + 1
        found = where or Where("SQL", line, start - sql.rfind("\n", 0, start))
        return _spot(found, excerpt or underline(sql, start, end))
    return _spot(where, excerpt or "")


def _spot(where: Where, excerpt: str) -> dict[str, object]:
    return {"line": where.line, "column": where.column, "excerpt": excerpt}


def _mention(message: str, sql: str) -> tuple[int, int]:
    """Where the first name of a message stands in the SQL; its beginning, where none does."""
    for found in _QUOTED.finditer(message):
        name = found[1] or found[2]
        place = re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", sql)
        if place is not None:
            return place.span()
    return 0, min(len(sql), 1)


def _hint(error: UserError) -> str:
    return "the names of streams, tables and views are in GET /v1/views" if isinstance(error, errors.NameFault) else "docs/sql.md shows every form"


def install(app: FastAPI) -> None:
    """Every way in which a call can end badly has the one shape."""

    @app.exception_handler(Refused)
    async def _refused(request: Request, error: Refused) -> Response:
        return refusal(error.status, error.code, error.message, error.hint, headers=error.headers)

    @app.exception_handler(PenstockError)
    async def _known(request: Request, error: PenstockError) -> Response:
        return refused(error, next((text for name in _TEXTS if (text := request.query_params.get(name))), None))

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0] if error.errors() else {"loc": (), "msg": "malformed"}
        place = ".".join(str(part) for part in first["loc"])
        return refusal(400, "malformed", f"{place}: {first['msg']}", "docs/server.md shows every call; /openapi.json describes them")

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        message = f"there is no {request.url.path}" if error.status_code == 404 else str(error.detail)
        return refusal(error.status_code, _CODES.get(error.status_code, "refused"), message, "/openapi.json lists the calls", headers=error.headers)


def unexpected(error: BaseException) -> JSONResponse:
    """What nobody has foreseen: in the log with all that is known, and never a 500."""
    if isinstance(error, UnicodeError | RecursionError | OverflowError):
        return refusal(400, "malformed", "the request holds text or numbers that cannot be read", "send UTF-8, and SQL of ordinary depth")
    log.error("a call failed: %s", error, exc_info=error)
    return refusal(503, "internal", f"this call failed: {type(error).__name__}", "the log in the state folder has the details")

"""`POST /v1/statements`: CREATE, CREATE OR REPLACE, DROP and ROLLBACK VIEW while the app runs, at an exact epoch.

What a request may say is less than what a file of the app may: it names no file, no code and no secret.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from penstock.errors import ForbiddenFault, InUseFault, PenstockError
from penstock.option import Option
from penstock.plan.added import read_statements
from penstock.plan.model.declare import Function, Secret, View
from penstock.plan.sql.statements import Create, Drop, Rollback
from penstock.sink.options import SINKS
from penstock.source.options import SOURCE_OPTIONS
from penstock.web.answers import Refused, refusal, refused
from penstock.web.host import Host
from penstock.web.query import Asked, forbid_code
from penstock.web.views import host_of

router = APIRouter()
_CONNECTORS = ("kafka", "postgres", "generator", "http", "console")
_DENIED = ("path", "callback", "tls_ca")
_THREAD = ThreadPoolExecutor(1, "penstock statements")  # one after the other; those that wait hold up no other call
_HINT = "write this into the app's files; views, and streams and sinks of kafka, postgres, generator and http, can be made by request"
Made = Create | Drop | Rollback


def allow(statements: list[Made]) -> None:
    """ForbiddenFault for what only the app's own files may say."""
    for statement in statements:
        if not isinstance(statement, Create):
            continue
        declaration = statement.declaration
        if isinstance(declaration, Function):
            raise ForbiddenFault("a request makes no function: code comes from the app's files", where=statement.where, hint=_HINT)
        if isinstance(declaration, View):
            forbid_code(declaration.query)
        connector = str(declaration.options.get("connector", ""))
        if not isinstance(declaration, View) and connector not in _CONNECTORS:
            raise ForbiddenFault(f"a request cannot use the connector '{connector}'", where=statement.where, hint=_HINT)
        secrets = {option.name for option in _options_of(connector) if option.secret}
        for name, value in declaration.options.items():
            if isinstance(value, Secret) or name.lower() in secrets:
                raise ForbiddenFault(f"a request names no secret: `{name}`", where=statement.where, hint=_HINT)
            if name.lower() in _DENIED:
                raise ForbiddenFault(f"a request has no option `{name}`", where=statement.where, hint=_HINT)


def _options_of(connector: str) -> tuple[Option, ...]:
    sink = SINKS.get(connector)
    return (*SOURCE_OPTIONS.get(connector, ()), *(() if sink is None else sink.options))


def execute(host: Host, sql: str) -> int:
    """All statements or none; the epoch as of which they hold, as readers see it."""
    made = read_statements(sql)
    allow(made)
    _known(host, made)
    with host.changing:
        before = {name: host.epoch(name) for name in host.engine.declared.views}
        host.engine.add(sql)
        named = {_name(one).lower() for one in made}
        after = {name: host.epoch(name) for name in host.engine.declared.views}
    touched = [epoch for name, epoch in (before | after).items() if name.lower() in named]
    return max(touched or list(after.values()) or [0], default=0)


def _known(host: Host, made: list[Made]) -> None:
    """404 for the DROP or ROLLBACK of what there is not; what an earlier statement of the request makes is there."""
    names = {name.lower() for name in host.engine.declared.declarations}
    for one in made:
        if isinstance(one, Create):
            names.add(one.declaration.name.lower())
        elif one.name.lower() not in names and not (isinstance(one, Drop) and one.if_exists):
            kind = one.kind if isinstance(one, Drop) else "view"
            raise Refused(404, "not_found", f"the app has no {kind} `{one.name}`", "GET /v1/views lists the views")
        elif isinstance(one, Drop):
            names.discard(one.name.lower())


def _name(one: Made) -> str:
    return one.declaration.name if isinstance(one, Create) else one.name


@router.post("/v1/statements")
async def statements(request: Request, asked: Asked) -> Response:
    """Change the app while it runs; answers when the rows of new views can be read."""
    host = host_of(request)
    if not host.ready:
        raise Refused(503, "starting", "the app's views do not run yet", "send it again in a moment", {"Retry-After": "1"})
    try:
        epoch = await asyncio.get_running_loop().run_in_executor(_THREAD, execute, host, asked.sql)
    except InUseFault as error:
        return refusal(409, "in_use", error.message, error.hint)
    except PenstockError as error:
        return refused(error, asked.sql)
    finally:
        request.app.state.feed.ring()
    return JSONResponse({"epoch": epoch}, headers={"Penstock-Epoch": str(epoch)})

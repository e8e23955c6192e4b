"""`POST /v1/query`: one SELECT over views, tables and history, bounded in time and rows."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from penstock.errors import ForbiddenFault, PenstockError
from penstock.plan.model.nodes import Node, Operate, walk
from penstock.plan.sql.statements import Select, parse
from penstock.web.answers import Refused, refused
from penstock.web.host import Host
from penstock.web.views import host_of

router = APIRouter()
Found = TypeVar("Found")
_AT_ONCE = 4
_LETTERS_MAX = 64 * 2**20


class Asked(BaseModel):
    """Text of SQL."""

    sql: str = Field(min_length=1, max_length=1_000_000)


class Answer(NamedTuple):
    columns: Sequence[tuple[str, str]]
    lines: list[str]
    truncated: bool

    @property
    def body(self) -> str:
        names = json.dumps([name for name, _ in self.columns], ensure_ascii=False)
        types = json.dumps([kind for _, kind in self.columns], ensure_ascii=False)
        return f'{{"columns": {names}, "types": {types}, "rows": [{", ".join(self.lines)}], "truncated": {json.dumps(self.truncated)}}}'


class Queries:
    """Asks the engine on threads of its own; one that takes too long is cancelled in Spark, and not waited for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._threads = ThreadPoolExecutor(_AT_ONCE, "penstock query")
        self._waiting = asyncio.Semaphore(_AT_ONCE)

    async def ask(self, sql: str) -> Answer:
        most = self._host.engine.settings.number("query_rows_max")
        return await self.within_time(lambda: _asked(self._host, sql, most))

    async def within_time(self, asked: Callable[[], Found]) -> Found:
        """What asks Spark something, within the setting query_timeout_s."""
        limit_s = self._host.engine.settings.seconds("query_timeout_s")
        worker: list[int] = []
        ended = threading.Event()

        def work() -> Found:
            worker.append(threading.get_ident())
            try:
                return asked()
            finally:
                ended.set()

        try:
            async with asyncio.timeout(limit_s), self._waiting:
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            if worker and not ended.is_set():
                threading.Thread(target=self._host.engine.cancel, args=(worker[0], ended), name="penstock cancel", daemon=True).start()
            hint = "ask for less, or raise the setting query_timeout_s"
            raise Refused(408, "timeout", f"the query took longer than {limit_s:g} s", hint) from None


def forbid_code(plan: Node) -> None:
    """ForbiddenFault for a query that names Python code: an app's own views may, a request may not."""
    named = next((part for part in walk(plan) if isinstance(part, Operate) and part.pattern is None), None)
    if named is not None:
        raise ForbiddenFault(f"a request names no code: `{named.function}`", where=named.where, hint="views with code belong into the app's files")


def _asked(host: Host, sql: str, most: int) -> Answer:
    for statement in parse(sql, "SQL"):
        if isinstance(statement, Select):
            forbid_code(statement.node)
    found = host.engine.query(sql)
    lines: list[str] = []
    letters, truncated = 0, False
    for line in found.lines:
        letters += len(line)
        truncated = len(lines) == most or (letters > _LETTERS_MAX and bool(lines))
        if truncated:
            break
        lines.append(line)
    return Answer([(column.name, column.type) for column in found.schema], lines, truncated)


@router.post("/v1/query")
async def query(request: Request, asked: Asked) -> Response:
    """One SELECT."""
    if not host_of(request).ready:
        raise Refused(503, "starting", "the app's views do not run yet", "ask again in a moment", {"Retry-After": "1"})
    queries: Queries = request.app.state.queries
    try:
        return Response((await queries.ask(asked.sql)).body, media_type="application/json")
    except PenstockError as error:
        return refused(error, asked.sql)

"""The same verbs for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType
from typing import Any, Self

import httpx

from penstock.client.answers import Change, Row, Rows, Statements, rows_of_query, schema_of
from penstock.client.sync import with_key
from penstock.client.wire import FOLLOW, LIMITS, TIMEOUT, Events, ServerError, asked, check, headers_of, path_of, unreached


class AsyncClient:
    """As `Client`, every verb awaited; `follow` is an asynchronous iterator."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self._url, headers=headers_of(token), timeout=TIMEOUT, limits=LIMITS)

    async def rows(
        self, view: str, where: str | None = None, *, order: str | None = None, limit: int | None = None, offset: int | None = None
    ) -> Rows:
        """A view's rows as of now."""
        found = await self._call("GET", path_of(view, "/rows"), params=asked(where, order, limit, offset))
        schema = schema_of((await self.view(view))["schema"])
        return Rows(found.json()["rows"], lambda: schema, epoch=int(found.headers["Penstock-Epoch"]))

    async def query(self, sql: str) -> Rows:
        """One SELECT."""
        return rows_of_query((await self._call("POST", "/v1/query", json={"sql": sql})).json())

    async def statements(self, sql: str) -> Statements:
        """CREATE, CREATE OR REPLACE, DROP and ROLLBACK VIEW, all or none; returns when they are effective."""
        return Statements((await self._call("POST", "/v1/statements", json={"sql": sql})).json()["epoch"])

    async def follow(self, view: str, resume: str | None = None, *, where: str | None = None) -> AsyncGenerator[Change, None]:
        """The view's rows as `+`, then every change, until the view is dropped; with `resume` the changes after that token."""
        events = Events(resume)
        key = (await self.view(view))["key"]
        while not events.is_over:
            broke: Exception = ConnectionError("it ended the stream")
            try:
                async for change in self._events(view, where, events):
                    if events.is_replaced:
                        events.is_replaced, key = False, (await self.view(view))["key"]
                    yield with_key(change, key)
            except (httpx.TransportError, ServerError) as error:
                broke = error
            if not events.is_over:
                await asyncio.sleep(events.wait_s(self._url, broke))

    async def views(self) -> list[Row]:
        """All views, in short."""
        found: list[Row] = (await self._call("GET", "/v1/views")).json()["views"]
        return found

    async def view(self, name: str) -> Row:
        """One view with its columns, key and status."""
        found: Row = (await self._call("GET", path_of(name))).json()
        return found

    async def send(self, stream: str, lines: str | bytes, *, key: str | None = None) -> Row:
        """Send lines to a stream with connector 'http'; with a `key` it may be sent again."""
        headers = {} if key is None else {"Idempotency-Key": key}
        path = path_of(stream, "/rows").replace("/v1/views/", "/v1/streams/")
        found: Row = (await self._call("POST", path, content=lines, headers=headers)).json()
        return found

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def _call(self, method: str, path: str, **given: Any) -> httpx.Response:
        try:
            return check(await self._http.request(method, path, **given))
        except httpx.TransportError as error:
            raise unreached(self._url, error) from None

    async def _events(self, view: str, where: str | None, events: Events) -> AsyncIterator[Change]:
        headers = {} if events.token is None else {"Last-Event-ID": events.token}
        async with self._http.stream("GET", path_of(view, "/changes"), params=asked(where), headers=headers, timeout=FOLLOW) as response:
            if not response.is_success:
                await response.aread()
            check(response)
            async for line in response.aiter_lines():
                for change in events.line(line):
                    yield change
                if events.is_over:
                    return

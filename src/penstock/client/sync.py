"""The client for ordinary programs."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from types import TracebackType
from typing import Any, Self

import httpx

from penstock.client.answers import Change, Row, Rows, Statements, rows_of_query, schema_of
from penstock.client.wire import FOLLOW, LIMITS, TIMEOUT, Events, ServerError, asked, check, headers_of, path_of, unreached


class Client:
    """A server's views; `url` is where `penstock serve` listens, `token` the one line of its token file."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.Client(base_url=self._url, headers=headers_of(token), timeout=TIMEOUT, limits=LIMITS)

    def rows(self, view: str, where: str | None = None, *, order: str | None = None, limit: int | None = None, offset: int | None = None) -> Rows:
        """A view's rows as of now."""
        found = self._call("GET", path_of(view, "/rows"), params=asked(where, order, limit, offset))
        return Rows(found.json()["rows"], lambda: schema_of(self.view(view)["schema"]), epoch=int(found.headers["Penstock-Epoch"]))

    def query(self, sql: str) -> Rows:
        """One SELECT."""
        return rows_of_query(self._call("POST", "/v1/query", json={"sql": sql}).json())

    def statements(self, sql: str) -> Statements:
        """CREATE, CREATE OR REPLACE, DROP and ROLLBACK VIEW, all or none; returns when they are effective."""
        return Statements(self._call("POST", "/v1/statements", json={"sql": sql}).json()["epoch"])

    def follow(self, view: str, resume: str | None = None, *, where: str | None = None) -> Generator[Change, None, None]:
        """The view's rows as `+`, then every change, until the view is dropped; with `resume` the changes after that token.

        A connection that breaks is made again and goes on with the very next change.
        """
        events = Events(resume)
        key = self.view(view)["key"]
        while not events.is_over:
            broke: Exception = ConnectionError("it ended the stream")
            try:
                for change in self._events(view, where, events):
                    if events.is_replaced:
                        events.is_replaced, key = False, self.view(view)["key"]
                    yield with_key(change, key)
            except (httpx.TransportError, ServerError) as error:
                broke = error
            if not events.is_over:
                time.sleep(events.wait_s(self._url, broke))

    def views(self) -> list[Row]:
        """All views, in short."""
        found: list[Row] = self._call("GET", "/v1/views").json()["views"]
        return found

    def view(self, name: str) -> Row:
        """One view with its columns, key and status."""
        found: Row = self._call("GET", path_of(name)).json()
        return found

    def send(self, stream: str, lines: str | bytes, *, key: str | None = None) -> Row:
        """Send lines to a stream with connector 'http'; with a `key` it may be sent again."""
        headers = {} if key is None else {"Idempotency-Key": key}
        found: Row = self._call("POST", path_of(stream, "/rows").replace("/v1/views/", "/v1/streams/"), content=lines, headers=headers).json()
        return found

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _call(self, method: str, path: str, **given: Any) -> httpx.Response:
        try:
            return check(self._http.request(method, path, **given))
        except httpx.TransportError as error:
            raise unreached(self._url, error) from None

    def _events(self, view: str, where: str | None, events: Events) -> Iterator[Change]:
        headers = {} if events.token is None else {"Last-Event-ID": events.token}
        with self._http.stream("GET", path_of(view, "/changes"), params=asked(where), headers=headers, timeout=FOLLOW) as response:
            if not response.is_success:
                response.read()
            check(response)
            for line in response.iter_lines():
                yield from events.line(line)
                if events.is_over:
                    return


def with_key(change: Change, key: list[str] | None) -> Change:
    """A row of a snapshot has its key too; none where the view was replaced once more, by one with other columns."""
    if change.reason is None or key is None or not change.row.keys() >= set(key):
        return change
    return Change(change.op, {name: change.row[name] for name in key}, change.row, change.epoch, change.token, change.reason)

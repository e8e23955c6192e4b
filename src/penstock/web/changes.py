"""`GET /v1/views/NAME/changes`: a snapshot, then every change, as Server-Sent Events or over a WebSocket on the same path.

Nothing is queued for a subscriber: the next epoch is read when the last one was sent, so one that is slow costs the epoch it is at, and one
that is gone nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from fastapi import APIRouter, Request, WebSocket
from fastapi.responses import Response, StreamingResponse
from starlette.websockets import WebSocketDisconnect

from penstock.change import Change
from penstock.errors import PenstockError
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web.answers import Refused, refusal, refused
from penstock.web.filter import Filter
from penstock.web.follow import Feed
from penstock.web.rows import ran
from penstock.web.views import view_of

router = APIRouter()
QUIET_S = 10.0
_EVENT_ROWS = 1000
_TEXT_BYTES = 64 * 1024


class Event(NamedTuple):
    """One message; `data` is JSON already."""

    event: str
    id: str | None
    data: str

    @property
    def as_sse(self) -> str:
        place = "" if self.id is None else f"id: {self.id}\n"
        return f"event: {self.event}\n{place}data: {self.data}\n\n"

    @property
    def as_message(self) -> str:
        return f'{{"event": "{self.event}", "id": {json.dumps(self.id)}, "data": {self.data}}}'


class Follower:
    """One subscriber of one view."""

    def __init__(self, feed: Feed, view: str, token: str | None, where: str) -> None:
        self.view = view
        self._feed = feed
        self._subscription = Subscription(feed.reads, view, token)
        self._filter = Filter(feed.host, view, ran(feed.host, view), where) if where.strip() else None

    async def check(self) -> None:
        """Raises what Spark finds wrong with the condition, where it is the one to judge."""
        if self._filter is not None and self._filter.asks_spark:
            await asyncio.get_running_loop().run_in_executor(self._feed.judges, self._filter.check)

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Events as they come, those of one epoch together; an empty list when none was given for a while. Ends when the view is dropped."""
        loop = asyncio.get_running_loop()
        quiet_at = loop.time() + QUIET_S
        while not self._feed.is_over:
            bell = self._feed.bell(self.view)
            if self._feed.host.view(self.view) is None:
                yield [Event("dropped", None, json.dumps({"view": self.view}))]
                return
            reading = loop.run_in_executor(self._threads, self._next)
            while not (await asyncio.wait([reading], timeout=quiet_at - loop.time()))[0]:
                yield []
                quiet_at = loop.time() + QUIET_S
            found = reading.result()
            for batch in found or ():
                yield batch
                quiet_at = loop.time() + QUIET_S
            if found is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(quiet_at):
                        await bell.wait()
            if loop.time() >= quiet_at:  # also where news come all the time, and the condition lets none of them pass
                yield []
                quiet_at = loop.time() + QUIET_S

    @property
    def _threads(self) -> ThreadPoolExecutor:
        return self._feed.judges if self._filter is not None and self._filter.asks_spark else self._feed.readers

    def _next(self) -> Iterator[list[Event]] | None:
        found = self._subscription.next_changes()
        if found is None:
            return None
        epochs = self._feed.host.epochs
        if isinstance(found, Snapshot):
            rows = [change.row for change in found.rows]
            kept = self._kept(found.rows)
            epoch = epochs.public(self.view, found.generation, found.epoch)
            return _snapshot(found, rows if kept is None else [row for row, passes in zip(rows, kept, strict=True) if passes], epoch)
        epoch = epochs.public(self.view, found.generation, found.epoch)
        return _changes(found, self._kept(found.changes), epoch)

    def _kept(self, changes: Sequence[Change]) -> list[bool] | None:
        return None if self._filter is None else self._filter.passing([change.row for change in changes])


def _snapshot(found: Snapshot, rows: list[str], epoch: int) -> Iterator[list[Event]]:
    """In events of so many rows; all but the last say that more come."""
    parts = [rows[at : at + _EVENT_ROWS] for at in range(0, len(rows), _EVENT_ROWS)] or [[]]
    for place, part in enumerate(parts):
        more = place + 1 < len(parts)
        head = f'"epoch": {epoch}, "more": {json.dumps(more)}, "reason": "{found.reason}"'
        yield [Event("snapshot", None if more else found.token, f'{{{head}, "rows": [{", ".join(part)}]}}')]


def _changes(found: Changes, kept: list[bool] | None, epoch: int) -> Iterator[list[Event]]:
    waiting: list[Event] = []
    size = 0
    for place, change in enumerate(found.changes):
        if kept is not None and not kept[place]:
            continue
        waiting.append(_change(change, found.token(place), epoch))
        size += len(change.row)
        if size > _TEXT_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _change(change: Change, token: str, epoch: int) -> Event:
    return Event("change", token, f'{{"op": "{change.op}", "key": {change.key or "null"}, "row": {change.row}, "epoch": {epoch}}}')


async def _follower(feed: Feed, name: str, token: str | None, where: str) -> Follower:
    feed.check_room()
    found = await asyncio.get_running_loop().run_in_executor(feed.readers, Follower, feed, view_of(feed.host, name), token, where)
    await found.check()
    return found


@router.get("/v1/views/{name}/changes")
async def changes(request: Request, name: str, where: str = "") -> Response:
    """Follow a view: `snapshot`, then `change` events. `from` or the header `Last-Event-ID` is the token to go on from."""
    feed: Feed = request.app.state.feed
    token = request.headers.get("last-event-id") or request.query_params.get("from") or None
    follower = await _follower(feed, name, token, where)

    async def text() -> AsyncIterator[str]:
        with feed.following(follower.view):
            async for batch in follower.batches():
                yield "".join(event.as_sse for event in batch) if batch else ": nothing new\n\n"

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(text(), media_type="text/event-stream", headers=headers)


@router.websocket("/v1/views/{name}/changes")
async def changes_by_websocket(websocket: WebSocket, name: str) -> None:
    """The same as messages of `{"event", "id", "data"}`."""
    feed: Feed = websocket.app.state.feed
    asked = websocket.query_params
    try:
        follower = await _follower(feed, name, asked.get("from") or None, asked.get("where", ""))
        with feed.following(follower.view):
            await websocket.accept()
            await _sent(websocket, follower)
    except Refused as error:
        await websocket.send_denial_response(refusal(error.status, error.code, error.message, error.hint))
    except PenstockError as error:
        await websocket.send_denial_response(refused(error))


async def _sent(websocket: WebSocket, follower: Follower) -> None:
    """Until the view is dropped or the reader hangs up."""

    async def send() -> None:
        async for batch in follower.batches():
            for event in batch:
                await websocket.send_text(event.as_message)

    async def heard() -> None:
        with suppress(WebSocketDisconnect):
            while True:
                await websocket.receive_text()

    tasks = [asyncio.create_task(send()), asyncio.create_task(heard())]
    done, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    with suppress(WebSocketDisconnect, RuntimeError):
        for task in done:
            task.result()
        if tasks[0] in done:
            await websocket.close()

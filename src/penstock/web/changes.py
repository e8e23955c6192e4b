"""`GET /v1/views/NAME/changes`: a snapshot, then every change, as Server-Sent Events or over a WebSocket on the same path.

Nothing is queued for a subscriber: the next epoch is read when the last one was sent, so one that is slow costs the epoch it is at, and one
that is gone nothing. News are read once for all; only who is elsewhere, or has a condition that takes long, needs a thread for it.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from fastapi import APIRouter, Request, WebSocket
from fastapi.responses import Response, StreamingResponse
from starlette.websockets import WebSocketDisconnect

from penstock.errors import PenstockError
from penstock.plan.expression.judge import Opaque
from penstock.subscribe.shared import AtHand, NotAtHand
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web import events
from penstock.web.answers import Refused, refusal, refused
from penstock.web.events import Batch, Event
from penstock.web.filter import Filter
from penstock.web.follow import Feed
from penstock.web.rows import ran
from penstock.web.views import view_of

router = APIRouter()
log = logging.getLogger("penstock.web")
QUIET_S = 10.0
_AT_ONCE_MAX, _JUDGED_AT_ONCE_MAX = 2000, 200


class Follower:
    """One subscriber of one view."""

    def __init__(self, feed: Feed, view: str, token: str | None, where: str) -> None:
        self.view = view
        self._feed = feed
        self._subscription = Subscription(feed.reads, view, token)
        self._where = where
        self._filter = self._judge()
        self._memory = AtHand(feed.reads, _AT_ONCE_MAX if self._filter is None else _JUDGED_AT_ONCE_MAX)
        self._unjudged: Snapshot | Changes | None = None

    def _judge(self) -> Filter | None:
        """By the columns that the view has now."""
        return Filter(self._feed.host, self.view, ran(self._feed.host, self.view), self._where) if self._where.strip() else None

    async def check(self) -> None:
        """Raises what Spark finds wrong with the condition, where it is the one to judge."""
        if self._filter is not None and self._filter.asks_spark:
            await asyncio.get_running_loop().run_in_executor(self._feed.judges, self._filter.check)

    async def batches(self) -> AsyncIterator[Batch]:
        """Events as they come, those of one epoch together; a comment when none was given for a while.

        Ends when the view is dropped, and when it is replaced by one that the condition does not fit: who comes back is told.
        """
        loop = asyncio.get_running_loop()
        quiet_at = loop.time() + QUIET_S
        while not self._feed.is_over:
            bell = self._feed.bell(self.view)
            if self._feed.host.view(self.view) is None:
                yield Batch((Event("dropped", None, json.dumps({"view": self.view})),))
                return
            try:
                found = self._at_hand()
            except NotAtHand:
                reading = loop.run_in_executor(self._threads, self._read)
                while not (await asyncio.wait([reading], timeout=quiet_at - loop.time()))[0]:
                    yield Batch()
                    quiet_at = loop.time() + QUIET_S
                try:
                    found = reading.result()
                except PenstockError as error:
                    log.info("a subscriber of view `%s` is sent away: %s", self.view, error)
                    return
            for batch in found or ():
                yield batch
                quiet_at = loop.time() + QUIET_S
            await asyncio.sleep(0)  # who catches up with many epochs at hand lets the others have their turn
            if found is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(quiet_at):
                        await bell.wait()
            if loop.time() >= quiet_at:  # also where news come all the time, and the condition lets none of them pass
                yield Batch()
                quiet_at = loop.time() + QUIET_S

    @property
    def _asks_spark(self) -> bool:
        return self._filter is not None and self._filter.asks_spark

    @property
    def _threads(self) -> ThreadPoolExecutor:
        return self._feed.judges if self._asks_spark else self._feed.readers

    def _at_hand(self) -> Iterable[Batch] | None:
        """What comes next, in no time; else NotAtHand, and `_read` gives it."""
        if self._asks_spark:
            raise NotAtHand
        found = self._subscription.at_hand(self._memory)
        if found is None or self._filter is None:
            return None if found is None else self._written(found, None)
        try:
            return self._written(found, self._filter.judged(_rows(found)))
        except Opaque:
            self._unjudged = found
            raise NotAtHand from None

    def _read(self) -> Iterable[Batch] | None:
        found, self._unjudged = self._unjudged or self._subscription.next_changes(), None
        if found is None:
            return None
        if isinstance(found, Snapshot) and found.reason == "replaced":
            self._filter = self._judge()
        return self._written(found, None if self._filter is None else self._filter.passing(_rows(found)))

    def _written(self, found: Snapshot | Changes, kept: list[bool] | None) -> Iterable[Batch]:
        epoch = self._feed.host.epochs.public(self.view, found.generation, found.epoch)
        if isinstance(found, Snapshot):
            return events.snapshot(found, kept, epoch)
        return self._feed.writer.whole(found, epoch) if kept is None else events.changes(found, kept, epoch)


def _rows(found: Snapshot | Changes) -> list[str]:
    return [change.row for change in (found.rows if isinstance(found, Snapshot) else found.changes)]


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

    async def text() -> AsyncIterator[bytes]:
        with feed.following(follower.view):
            async for batch in follower.batches():
                yield batch.as_sse

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
            for message in batch.as_messages:
                await websocket.send_text(message)

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

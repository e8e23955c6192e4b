"""`POST /v1/streams/NAME/rows`: lines for a stream with connector 'http'; the answer comes when they are durable."""

from __future__ import annotations

import threading

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool

from penstock.decode.plain import plainly_good
from penstock.plan.model.declare import Stream
from penstock.source.ingest import Ingest, Taken, landed_in
from penstock.web.answers import Refused
from penstock.web.host import Host
from penstock.web.views import host_of

router = APIRouter()
_KEY_LETTERS_MAX = 500


class Ingests:
    """The landing places of all streams that can be sent to."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._guard = threading.Lock()
        self._open: dict[str, Ingest] = {}

    def take(self, name: str, body: bytes, key: str | None) -> Taken:
        stream = self._stream(name)
        with self._guard:
            ingest = self._open.setdefault(stream.name, Ingest(landed_in(self._host.engine.state, stream.name)))
        return ingest.take(body, key, lambda lines: self._dead_in(stream, lines))

    def _stream(self, name: str) -> Stream:
        engine = self._host.engine
        found = engine.stream_named(name)
        if found is None:
            raise Refused(404, "not_found", f"the app has no stream `{name}`", f"it has {', '.join(engine.declared.streams) or 'none'}")
        stream = engine.declared.streams[found]
        if stream.options.get("connector") != "http":
            message = f"stream `{found}` comes from connector '{stream.options.get('connector')}'"
            raise Refused(409, "connector", message, "declare it WITH (connector = 'http') to send rows to it")
        return stream

    def _dead_in(self, stream: Stream, lines: list[bytes]) -> int:
        """Spark judges only what is not plainly good."""
        unsure = lines
        if stream.options.get("format", "json") == "json" and all(column.computed is None for column in stream.schema):
            good = plainly_good(stream.schema, stream.event_time)
            unsure = [line for line in lines if not good(line)]
        return self._host.engine.unfit(stream.name, unsure) if unsure else 0


@router.post("/v1/streams/{name}/rows")
async def ingest(request: Request, name: str) -> Response:
    """Send rows to a stream, a line for each. The header `Idempotency-Key` makes it safe to send them again."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= _KEY_LETTERS_MAX:
        raise Refused(400, "malformed", f"an Idempotency-Key has 1 to {_KEY_LETTERS_MAX} letters", "send a new one with each request")
    if not host_of(request).ready:
        raise Refused(503, "starting", "the app's views do not run yet", "send it again in a moment", {"Retry-After": "1"})
    ingests: Ingests = request.app.state.ingests
    taken = await run_in_threadpool(ingests.take, name, await request.body(), key)
    return JSONResponse({"rows": taken.rows, "dead": taken.dead})

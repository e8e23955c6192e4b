"""The calls that read: views, their rows, what was set aside, and how the app is."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.concurrency import run_in_threadpool

from penstock.errors import NameFault
from penstock.observe.health import jobs_as_json
from penstock.observe.prometheus import exposition
from penstock.web.answers import Refused, refusal
from penstock.web.host import Host
from penstock.web.rows import LIMIT, LIMIT_MAX, Reading

router = APIRouter()
Limit = Annotated[int, Query(ge=0, le=LIMIT_MAX)]
Offset = Annotated[int, Query(ge=0, le=2**53)]


def host_of(request: Request) -> Host:
    """The app behind this server."""
    found: Host = request.app.state.host
    return found


def view_of(host: Host, name: str) -> str:
    """A view's name as it was declared; 404 where there is none."""
    try:
        return host.engine.view_name(name)
    except NameFault as error:
        raise Refused(404, "not_found", error.message, error.hint) from None


def rows_answer(lines: Iterable[str], epoch: int | None = None) -> Response:
    """`{"rows": [...]}` of rows that are JSON already."""
    headers = {} if epoch is None else {"Penstock-Epoch": str(epoch)}
    return Response(f'{{"rows": [{", ".join(lines)}]}}', media_type="application/json", headers=headers)


@router.get("/health")
def health(request: Request) -> Response:
    """Whether every view runs; needs no token."""
    found = host_of(request).health()
    if found.ok:
        return JSONResponse({"status": found.status})
    return refusal(503, "unavailable", f"the app is not well: {found.status}", "GET /v1/status says why", more={"status": found.status})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    return Response(exposition(host_of(request).progress, time.time()), media_type=CONTENT_TYPE_PLAIN_0_0_4)


@router.get("/v1/status")
def status(request: Request) -> Response:
    """How the app and each of its jobs are."""
    host = host_of(request)
    found = host.health()
    body = {
        "app": host.engine.declared.name,
        "status": found.status,
        "reasons": list(found.reasons),
        "started_at": host.started_at,
        "subscribers": request.app.state.feed.followers,
        "jobs": jobs_as_json(host.progress),
    }
    return JSONResponse(body)


@router.get("/v1/views")
def views(request: Request) -> Response:
    """All views; 503 until they run."""
    host = host_of(request)
    if not host.ready:
        raise Refused(503, "starting", "the app's views do not run yet", "; ".join(host.health().reasons) or None, {"Retry-After": "1"})
    return JSONResponse({"views": [_in_short(host, name) for name in host.engine.declared.views]})


@router.get("/v1/views/{name}")
def view(request: Request, name: str) -> Response:
    """One view: its columns, key, status and the job it is in."""
    host = host_of(request)
    found = view_of(host, name)
    known, declared = host.known(found), host.engine.declared.views[found]
    body = {
        **_in_short(host, found),
        "schema": [] if known is None else [{"name": column.name, "type": column.type} for column in known.schema],
        "key": None if known is None or known.key is None else list(known.key),
        "rows": host.store.count(found),
        "sql": declared.text or None,
        "emit": declared.emit.value,
        "sinks": [sink.name for sink in host.engine.declared.sinks.values() if sink.view == found],
    }
    return JSONResponse(body)


@router.get("/v1/views/{name}/explain")
def explain(request: Request, name: str) -> Response:
    """How a view runs: strategy, stages, cost, guarantee."""
    host = host_of(request)
    (found,) = host.engine.explain(view_of(host, name))
    return JSONResponse({**asdict(found), "text": str(found)})


@router.get("/v1/views/{name}/rows")
async def rows(request: Request, name: str, where: str = "", order: str = "", limit: Limit = LIMIT, offset: Offset = 0) -> Response:
    """The rows of a view as of now."""
    host, queries = host_of(request), request.app.state.queries
    found = await run_in_threadpool(Reading, host, view_of(host, name), where, order)
    lines, epoch = await (queries.within_time if found.asks_spark else run_in_threadpool)(partial(found.rows, limit, offset))
    return rows_answer(lines, epoch)


@router.get("/v1/views/{name}/late")
def late(request: Request, name: str, limit: Limit = LIMIT) -> Response:
    """The late rows of a view that keeps them."""
    host = host_of(request)
    kept = host.view(f"{view_of(host, name)}__late")
    return rows_answer([] if kept is None else Reading(host, kept).rows(limit)[0])


@router.get("/v1/streams/{name}/dead")
def dead(request: Request, name: str, limit: Limit = LIMIT, offset: Offset = 0) -> Response:
    """The records of a stream that did not decode: position, reason, bytes."""
    host = host_of(request)
    stream = host.engine.stream_named(name)
    if stream is None:
        raise Refused(404, "not_found", f"the app has no stream `{name}`", f"it has {', '.join(host.engine.declared.streams) or 'none'}")
    return rows_answer(list(host.engine.peek(f"{stream}__dead", offset + limit).lines)[offset:])


def _in_short(host: Host, name: str) -> dict[str, object]:
    job = host.job_of(name)
    return {
        "name": name,
        "status": "starting" if job is None else job.status,
        "detail": "" if job is None else job.detail,
        "epoch": host.epoch(name),
        "group": name if job is None else job.job,
        "rows_per_s": 0.0 if job is None else round(job.rows_per_s, 1),
        "lag": None if job is None else job.lag,
        "watermark": None if job is None else job.watermark,
    }

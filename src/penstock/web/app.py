"""All calls as one ASGI app over one host.

More can be put on the app that this gives, such as the console's pages: `app.state` has `host`, `feed` and `access`; paths that hold no data and
need no token are added to `app.state.open_paths`, those that end with `/` with all that is below them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from penstock.web import alerts, answers, changes, ingest, query, session, statements, views, webhooks
from penstock.web.access import Access
from penstock.web.follow import Feed
from penstock.web.guard import Guard, Rate
from penstock.web.host import Host
from penstock.web.rates import Rates


def create_app(host: Host, access: Access) -> FastAPI:
    """The server's app; its background work starts and ends with it."""
    settings = host.engine.settings
    feed = Feed(host, settings.number("subscribers_max"))
    hooks, watched = webhooks.Webhooks(host), alerts.Alerts(host.store, host.alert_views)
    open_paths = {"/health", "/v1/session"}

    def is_open(path: str) -> bool:
        return path in open_paths or any(path.startswith(known) for known in open_paths if known.endswith("/") and known != "/")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        feed.start(asyncio.get_running_loop())
        hooks.start()
        watched.start()
        try:
            yield
        finally:
            watched.stop()
            hooks.stop()
            feed.stop()

    app = FastAPI(
        title="Penstock",
        description=f"REST and push of the app `{host.engine.declared.name}`",
        version="1",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.host, app.state.access, app.state.feed, app.state.open_paths = host, access, feed, open_paths
    app.state.queries, app.state.ingests = query.Queries(host), ingest.Ingests(host)
    app.state.webhooks, app.state.alerts, app.state.rates = (
        hooks,
        watched,
        Rates(host.store, lambda: host.progress, lambda: set(host.engine.declared.views)),
    )
    answers.install(app)
    for part in (views, changes, alerts, statements, query, ingest, webhooks, session):
        app.include_router(part.router)
    per_s = settings.number("requests_per_s_max")
    app.add_middleware(
        Guard,
        access=access,
        body_bytes_max=settings.number("request_mb_max") * 2**20,
        rate=Rate(per_s, 5 * per_s),
        strangers=Rate(per_s, 5 * per_s),
        is_open=is_open,
    )
    return app

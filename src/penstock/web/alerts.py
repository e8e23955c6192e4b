"""Alerts: the rows of views that are declared WITH (alert = true), each new until somebody acknowledges it.

An alert is known by its row's key, or by the row itself in a view without one. It is acknowledged until the row is gone from the view: one that
comes back is new again. What is acknowledged is a note in the store with the place in the change log up to which it holds, so a restart neither
forgets it nor misses a row that went and came while the server was down.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from penstock.errors import PenstockError
from penstock.store.protocol import Store
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web.views import host_of, view_of

router = APIRouter()
log = logging.getLogger("penstock.web")
_LOOK_S = 0.5
_ALERTS_MAX = 10_000
_PREFIX = "alerts "


@dataclass(frozen=True)
class Alert:
    """One row of a view of alerts; `seen` tells since when it is known, `acknowledged` when somebody took note of it. Both ISO 8601, UTC."""

    view: str
    id: str
    row: str
    seen: str
    acknowledged: str | None

    @property
    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "row": json.loads(self.row)}


@dataclass
class _Followed:
    """One view: its rows by id, and what is noted of them."""

    following: Subscription
    token: str | None = None
    seen: dict[str, str] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    rows: dict[str, tuple[str, int]] = field(default_factory=dict)


class Alerts:
    """Follows the views that `views` names now on one thread; any thread may ask."""

    def __init__(self, store: Store, views: Callable[[], set[str]]) -> None:
        self._store, self._views = store, views
        self._guard = threading.Lock()
        self._followed: dict[str, _Followed] = {}
        self._stop = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="penstock alerts", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def listed(self) -> list[Alert]:
        """The newest first; those that nobody has acknowledged before the others."""
        with self._guard:
            found = [
                Alert(view, name, row, one.seen.get(name, ""), one.acknowledged.get(name))
                for view, one in self._followed.items()
                for name, (row, _) in one.rows.items()
            ]
        found.sort(key=lambda alert: alert.seen, reverse=True)
        return sorted(found, key=lambda alert: alert.acknowledged is not None)

    @property
    def new(self) -> int:
        """How many nobody has acknowledged."""
        with self._guard:
            return sum(len(one.rows) - len(one.acknowledged.keys() & one.rows.keys()) for one in self._followed.values())

    def acknowledge(self, view: str, names: Iterable[str]) -> int:
        """Durable when it returns; how many of them are alerts now."""
        with self._guard:
            one = self._followed.get(view)
            taken = [] if one is None else [name for name in names if name in one.rows]
            if one is not None and taken:
                one.acknowledged |= {name: one.acknowledged.get(name, _now()) for name in taken}
                self._keep(view, one)
            return len(taken)

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            try:
                self.look()
            except Exception as error:  # a store that is out of reach for a while
                log.warning("alerts wait: %s", error)
                self._stop.wait(1.0)

    def look(self) -> None:
        """Takes what is new in each view of alerts."""
        views = self._views()
        with self._guard:
            for gone in self._followed.keys() - views:
                del self._followed[gone]
                self._store.drop_note(f"{_PREFIX}{gone}")
            for view in views:
                one = self._followed.get(view) or self._open(view)
                before = one.token
                while (found := one.following.next_changes()) is not None:
                    _apply(one, found)
                if one.token != before:
                    self._keep(view, one)

    def _open(self, view: str) -> _Followed:
        """From the noted place where there is one: the rows of then are those that were noted, and the log says what came after."""
        noted = self._store.noted(f"{_PREFIX}{view}")
        kept = {} if noted is None else json.loads(noted)
        token = kept.get("token")
        try:
            following = Subscription(self._store, view, token)
        except PenstockError:
            token, following = None, Subscription(self._store, view)
        rows = {name: (row, copies) for name, (row, copies) in kept.get("rows", {}).items()} if token else {}
        one = _Followed(following, token, dict(kept.get("seen", {})), dict(kept.get("acknowledged", {})), rows)
        self._followed[view] = one
        return one

    def _keep(self, view: str, one: _Followed) -> None:
        noted = {"token": one.token, "seen": one.seen, "acknowledged": one.acknowledged, "rows": one.rows}
        self._store.note(f"{_PREFIX}{view}", json.dumps(noted, ensure_ascii=False))


def _apply(one: _Followed, found: Snapshot | Changes) -> None:
    """Rows come and go; what is gone at the end of an epoch is forgotten."""
    if isinstance(found, Snapshot):
        one.rows.clear()
    for op, key, row in found.rows if isinstance(found, Snapshot) else found.changes:
        name = row if key is None else key
        copies = one.rows.pop(name, (row, 0))[1]
        copies = (1 if key is not None else copies + 1) if op == "+" else (0 if key is not None else copies - 1)
        if copies > 0:
            one.rows[name] = (row, copies)
    for oldest in list(one.rows)[: max(0, len(one.rows) - _ALERTS_MAX)]:
        del one.rows[oldest]
    for noted in (one.seen, one.acknowledged):
        for gone in noted.keys() - one.rows.keys():
            del noted[gone]
    for name in one.rows.keys() - one.seen.keys():
        one.seen[name] = _now()
    one.token = found.token if isinstance(found, Snapshot) else found.token(len(found.changes) - 1)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Acknowledged(BaseModel):
    """Alerts of one view that somebody took note of."""

    view: str = Field(min_length=1)
    ids: list[str] = Field(min_length=1, max_length=_ALERTS_MAX)


def alerts_of(request: Request) -> Alerts:
    found: Alerts = request.app.state.alerts
    return found


@router.get("/v1/alerts")
def alerts(request: Request) -> Response:
    """The rows of all views of alerts, those that nobody has acknowledged first."""
    found = alerts_of(request)
    return JSONResponse({"alerts": [alert.as_json for alert in found.listed()], "new": found.new})


@router.post("/v1/alerts/acknowledge")
def acknowledge(request: Request, given: Acknowledged) -> Response:
    """Take note of alerts; they stay acknowledged until their row is gone from the view."""
    found = alerts_of(request)
    return JSONResponse({"acknowledged": found.acknowledge(view_of(host_of(request), given.view), given.ids), "new": found.new})

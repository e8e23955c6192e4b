"""Webhooks: a view's changes by POST, signed, in order; a delivery that is not taken is sent again, and nothing else before it.

Each webhook is a note in the store with the place after its last delivery, so it goes on after a restart. A delivery has one id for all its tries.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import logging
import socket
import ssl
import threading
import time
import uuid
from dataclasses import asdict, dataclass, replace

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from penstock.change import Change
from penstock.errors import OptionFault
from penstock.subscribe.subscription import Changes, Snapshot, Subscription
from penstock.web.answers import Refused
from penstock.web.filter import Filter
from penstock.web.host import Host
from penstock.web.rows import ran
from penstock.web.targets import Target, resolve
from penstock.web.views import host_of, view_of

router = APIRouter()
log = logging.getLogger("penstock.web")
_PREFIX = "webhook "
_CHANGES_MAX = 500
_ANSWERS_WITHIN_S = 10.0
_WAIT_S, _WAIT_S_MAX = 1.0, 300.0
_LOOK_S = 0.5


class NewWebhook(BaseModel):
    """What is delivered where."""

    view: str = Field(min_length=1)
    url: str = Field(min_length=1, max_length=2000)
    where: str = ""
    secret: str = Field(min_length=1, max_length=1000)


@dataclass(frozen=True)
class Webhook:
    """`token` is the place after the last delivery that was taken."""

    id: str
    view: str
    url: str
    where: str
    secret: str
    token: str


class Webhooks:
    """One thread for each webhook."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stop = threading.Event()
        self._gone: dict[str, threading.Event] = {}

    @property
    def allowed(self) -> list[str]:
        return self._host.engine.settings.text("webhook_allow").split(",")

    def start(self) -> None:
        for name, text in self._host.store.notes().items():
            if name.startswith(_PREFIX):
                self._deliver(Webhook(**json.loads(text)))

    def stop(self) -> None:
        self._stop.set()

    def listed(self) -> list[dict[str, str]]:
        """Without their secrets."""
        found = [json.loads(text) for name, text in self._host.store.notes().items() if name.startswith(_PREFIX)]
        return [{name: entry[name] for name in ("id", "view", "url", "where")} for entry in found]

    def add(self, new: NewWebhook, view: str) -> str:
        """Starts with the changes after now."""
        resolve(new.url, self.allowed)
        if new.where.strip():
            Filter(self._host, view, ran(self._host, view), new.where).check()
        now = Subscription(self._host.store, view).next_changes()
        assert isinstance(now, Snapshot)
        made = Webhook(f"wh_{uuid.uuid4().hex}", view, new.url, new.where, new.secret, now.token)
        self._keep(made)
        self._deliver(made)
        return made.id

    def remove(self, name: str) -> bool:
        if self._host.store.noted(f"{_PREFIX}{name}") is None:
            return False
        self._gone.setdefault(name, threading.Event()).set()
        self._host.store.drop_note(f"{_PREFIX}{name}")
        return True

    def _keep(self, webhook: Webhook) -> None:
        self._host.store.note(f"{_PREFIX}{webhook.id}", json.dumps(asdict(webhook)))

    def _deliver(self, webhook: Webhook) -> None:
        gone = self._gone.setdefault(webhook.id, threading.Event())
        threading.Thread(target=self._run, args=(webhook, gone), name=f"penstock {webhook.id}", daemon=True).start()

    def _run(self, webhook: Webhook, gone: threading.Event) -> None:
        while not self._stop.is_set() and not gone.is_set():
            try:
                self._follow(webhook, gone)
                return
            except Exception as error:  # a store out of reach, Spark that starts again: the next try begins at the kept place
                log.warning("webhook %s waits: %s", webhook.id, error)
                self._stop.wait(_WAIT_S)
                kept = self._host.store.noted(f"{_PREFIX}{webhook.id}")
                webhook = webhook if kept is None else Webhook(**json.loads(kept))

    def _follow(self, webhook: Webhook, gone: threading.Event) -> None:
        subscription = Subscription(self._host.store, webhook.view, webhook.token)
        passes = Filter(self._host, webhook.view, ran(self._host, webhook.view), webhook.where) if webhook.where.strip() else None
        while not self._stop.is_set() and not gone.is_set():
            if self._host.view(webhook.view) is None:
                self.remove(webhook.id)
                return
            found = subscription.next_changes(_LOOK_S)
            if found is None:
                continue
            changes = list(found.rows) if isinstance(found, Snapshot) else list(found.changes)
            kept = [True] * len(changes) if passes is None else passes.passing([change.row for change in changes])
            epoch = self._host.epochs.public(webhook.view, found.generation, found.epoch)
            for low in range(0, len(changes), _CHANGES_MAX):
                part = range(low, min(low + _CHANGES_MAX, len(changes)))
                lines = [_change(changes[n], epoch) for n in part if kept[n]]
                last = part[-1] == len(changes) - 1
                after = found.token(part[-1]) if isinstance(found, Changes) else found.token if last else webhook.token
                if lines and not self._sent(webhook, lines, f"{webhook.id}.{found.generation}.{found.epoch}.{_number(found, part[-1])}", gone):
                    return
                webhook = replace(webhook, token=after)
                if not gone.is_set():
                    self._keep(webhook)

    def _sent(self, webhook: Webhook, lines: list[str], place: str, gone: threading.Event) -> bool:
        """Again and again until it is taken; False when it is over before."""
        body = f'{{"view": {json.dumps(webhook.view)}, "changes": [{", ".join(lines)}]}}'.encode()
        name, wait_s = f"msg_{hashlib.sha256(place.encode()).hexdigest()[:32]}", _WAIT_S
        while not self._stop.is_set() and not gone.is_set():
            try:
                status = post(resolve(webhook.url, self.allowed), body, _headers(name, webhook.secret, body))
                if 200 <= status < 300:
                    return True
                reason = f"it answered {status}"
            except (OSError, http.client.HTTPException, OptionFault) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            log.warning("webhook %s of view `%s` was not taken: %s; next try in %.0f s", webhook.id, webhook.view, reason, wait_s)
            if gone.wait(wait_s):
                return False
            wait_s = min(wait_s * 2, _WAIT_S_MAX)
        return False


def _number(found: Snapshot | Changes, place: int) -> int:
    """A change's number in its epoch, the same whatever was read before it."""
    return place + (found.first if isinstance(found, Changes) else 0)


def _change(change: Change, epoch: int) -> str:
    return f'{{"op": "{change.op}", "key": {change.key or "null"}, "row": {change.row}, "epoch": {epoch}}}'


def _headers(name: str, secret: str, body: bytes) -> dict[str, str]:
    at = str(int(time.time()))
    signature = hmac.new(secret.encode(), b".".join((name.encode(), at.encode(), body)), hashlib.sha256).digest()
    signed = f"v1,{base64.b64encode(signature).decode()}"
    return {"Content-Type": "application/json", "webhook-id": name, "webhook-timestamp": at, "webhook-signature": signed}


def post(target: Target, body: bytes, headers: dict[str, str]) -> int:
    """To an address that was checked, by the host's name; redirects are not followed."""
    raw = _connected(target)
    try:
        plain = raw if target.scheme == "http" else ssl.create_default_context().wrap_socket(raw, server_hostname=target.host)
        connection = http.client.HTTPConnection(target.host, target.port, timeout=_ANSWERS_WITHIN_S)
        connection.sock = plain
        connection.request("POST", target.path, body, headers)
        return connection.getresponse().status
    finally:
        raw.close()


def _connected(target: Target) -> socket.socket:
    """To the first address that takes the connection, as browsers do it for a name with several."""
    refused: OSError = ConnectionError(f"{target.host} has no address")
    for address in target.addresses:
        try:
            return socket.create_connection((address, target.port), timeout=_ANSWERS_WITHIN_S)
        except OSError as error:
            refused = error
    raise refused


@router.post("/v1/webhooks")
def create(request: Request, new: NewWebhook) -> Response:
    """Deliver a view's changes by POST from now on."""
    host = host_of(request)
    if not host.ready:
        raise Refused(503, "starting", "the app's views do not run yet", "send it again in a moment", {"Retry-After": "1"})
    webhooks: Webhooks = request.app.state.webhooks
    return JSONResponse({"id": webhooks.add(new, view_of(host, new.view))}, 201)


@router.get("/v1/webhooks")
def listed(request: Request) -> Response:
    """All webhooks, without their secrets."""
    return JSONResponse({"webhooks": request.app.state.webhooks.listed()})


@router.delete("/v1/webhooks/{name}")
def remove(request: Request, name: str) -> Response:
    """End a webhook."""
    if not request.app.state.webhooks.remove(name):
        raise Refused(404, "not_found", f"there is no webhook `{name}`", "GET /v1/webhooks lists them")
    return JSONResponse({"id": name})

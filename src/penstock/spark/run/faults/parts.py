"""The outside systems that a run needs, each looked at every two seconds: brokers, databases, folders, disks.

Spark and its clients wait for minutes before they say that nobody answers. A look here is cheap, in a thread of its own for each part however
many jobs need it, and a part that lets one wait is taken for away as well. What it finds names the part; whether a job can still work is for
the job to find out.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from penstock.errors import OutageError, PenstockError
from penstock.plan.check.files import local_place, plain_part
from penstock.plan.model.declare import Sink, Stream, Table
from penstock.plan.model.nodes import names_read
from penstock.share.jobs import Job
from penstock.sink.kafka.server import login, passes
from penstock.source.kafka.topic import client
from penstock.spark.compile.frames import AppContext
from penstock.store.postgres_server import Connection, PostgresServer

_LOOK_EVERY_S = 2.0
_ANSWER_S = 5.0
_ROOM_BYTES = 1 << 20
_ENDS_WITHIN_S = 1.0


@dataclass(frozen=True)
class Part:
    """`look` raises an OutageError, or an error that fits in a line, where the part is away; `name` tells parts apart."""

    name: str
    look: Callable[[], None]
    close: Callable[[], None] = lambda: None


class _Looked:
    """One part under watch."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._over = threading.Event()
        self._since: float | None = None
        self._found: OutageError | None = None
        self._thread = threading.Thread(target=self._work, name=f"look at {part.name}", daemon=True)
        self._thread.start()

    def trouble(self) -> OutageError | None:
        since = self._since
        if since is not None and time.monotonic() - since > _ANSWER_S:
            return OutageError(f"{self.part.name} does not answer", hint="when it is back, the job goes on by itself")
        return self._found

    def end(self) -> None:
        self._over.set()

    def ended(self) -> None:
        """Wait for the last look, unless it hangs."""
        self._thread.join(_ENDS_WITHIN_S)

    def _work(self) -> None:
        while not self._over.is_set():
            self._since = time.monotonic()
            try:
                self.part.look()
                self._found = None
            except OutageError as error:
                self._found = error
            except PenstockError:  # a login that is refused is the job's to say
                self._found = None
            except OSError as error:
                self._found = OutageError(f"{self.part.name}: {error.strerror or error}", hint="when it is back, the job goes on by itself")
            self._since = None
            self._over.wait(_LOOK_EVERY_S)
        self.part.close()


class Parts:
    """The parts of all jobs, looked at while the block runs."""

    def __init__(self) -> None:
        self._looked: dict[str, _Looked] = {}
        self._of: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def add(self, job: str, parts: Iterable[Part]) -> None:
        """Look at what a job needs; what another needs too is looked at once."""
        with self._lock:
            wanted = {part.name: part for part in parts}
            for name, part in wanted.items():
                if name not in self._looked:
                    self._looked[name] = _Looked(part)
            self._of[job] = tuple(wanted)

    def trouble(self, job: str) -> OutageError | None:
        """The first part of the job that is away; None: all are there, as far as is known."""
        found = (self._looked[name].trouble() for name in self._of.get(job, ()))
        return next((trouble for trouble in found if trouble is not None), None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for looked in self._looked.values():
            looked.end()
        for looked in self._looked.values():
            looked.ended()


def parts_of(app: AppContext, job: Job) -> list[Part]:
    """What a job needs of the world: its streams, tables and sinks, the results store and the disk of the state folder."""
    read = {name for member in job.members for name in names_read(member.view.query)} | set(job.streams)
    entries: list[Stream | Table | Sink] = [*app.declared.streams.values(), *app.declared.tables.values()]
    entries = [entry for entry in entries if entry.name in read]
    entries += [sink for member in job.members for sink in member.sinks]
    found = [part for entry in entries for part in _parts_of_entry(app, entry)]
    store = app.settings.text("store")
    found.append(_disk(app.state, f"the disk of the state folder {app.state}"))
    return [*found, _postgres(PostgresServer.from_url(store, app.secret))] if store else found


def _parts_of_entry(app: AppContext, entry: Stream | Table | Sink) -> Sequence[Part]:
    kind = {Stream: "stream", Table: "table", Sink: "sink"}[type(entry)]
    options = {name.lower(): value for name, value in app.options(entry.options).items()}
    match options.get("connector"):
        case "kafka" if isinstance(entry, Sink):
            return [_kafka(options["servers"], login(options, app.declared.folder, entry.name))]
        case "kafka" if isinstance(entry, Stream):
            return [_kafka(options["servers"], {**client(app.spec(entry)), "log_level": 0})]
        case "postgres":
            return [_postgres(PostgresServer.from_options(options))]
        case "files":
            place = local_place(entry, app.declared)
            what = f"{kind} `{entry.name}`"
            if place is None:
                return []
            return [_folder(plain_part(place), what), *([_disk(place, f"the disk of {place}, of {what}")] if isinstance(entry, Sink) else [])]
        case _:
            return []


def _kafka(servers: str, settings: Mapping[str, Any]) -> Part:
    name = f"Kafka at {servers}"
    known: list[AdminClient] = []
    reasons: list[str] = []

    def heard(error: KafkaError) -> None:
        reasons[:] = [error.str()]

    def look() -> None:
        if not known:
            asked: dict[str, Any] = {**settings, "error_cb": heard, "socket.connection.setup.timeout.ms": 3000}
            known.append(AdminClient(asked))
        reasons.clear()
        answer = known[0].describe_cluster(request_timeout=_ANSWER_S - 2)
        deadline = time.monotonic() + _ANSWER_S - 1
        while not answer.done() and time.monotonic() < deadline:
            known[0].poll(0.05)
        try:
            answer.result(0.01)
        except (KafkaException, TimeoutError) as error:
            if isinstance(error, KafkaException) and not passes(error.args[0]):
                return  # it answers, whatever it thinks of the question
            reason = reasons[0] if reasons else error.args[0].str() if isinstance(error, KafkaException) else "no answer in time"
            raise OutageError(f"{name} does not answer: {reason}", hint="when the broker is back, the job goes on by itself") from None

    return Part(name, look)


def _postgres(server: PostgresServer) -> Part:
    known: list[Connection] = []

    def look() -> None:
        if not known:
            known.append(server.connect("penstock watch"))
        try:
            with server.reported("asking Postgres"):
                known[0].execute("SELECT 1")
        except PenstockError:
            known.pop().close()
            raise

    def close() -> None:
        while known:
            known.pop().close()

    return Part(f"Postgres at {server}", look, close)


def _folder(path: Path, what: str) -> Part:
    """A file or folder that was there and is away, or may not be read; one that never was there may come yet."""
    seen: list[bool] = []

    def look() -> None:
        try:
            path.stat()
            if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            seen[:] = [True]
        except FileNotFoundError:
            if seen:
                raise OutageError(f"{what}: {path} is gone", hint="when it is back, the job goes on by itself") from None
        except OSError as error:
            hint = "when it can be read again, the job goes on by itself"
            raise OutageError(f"{what}: {path} cannot be read: {error.strerror}", hint=hint) from None

    return Part(f"{what} at {path}", look)


def is_full(path: Path) -> bool:
    """Whether this user can write nothing of any size on the disk of a path."""
    place = next(place for place in (path, *path.parents) if place.exists())
    found = os.statvfs(place)
    return found.f_frsize * (found.f_bfree if os.geteuid() == 0 else found.f_bavail) < _ROOM_BYTES


def _disk(path: Path, what: str) -> Part:
    def look() -> None:
        if is_full(path):
            raise OutageError(f"{what} is full", hint="make room on it; the job then goes on by itself")

    return Part(what, look)

"""Opens what chaos runs against: a built-in app with parts of its own, or a user's app with what of it may be hurt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from penstock.chaos import apps, damage
from penstock.chaos.apps import Subject
from penstock.chaos.driver import nobody_runs
from penstock.chaos.feeder import Files, Target, Topics
from penstock.chaos.follow import Log, Seen
from penstock.chaos.parts import OwnBroker, Parts, may_mount, started
from penstock.chaos.sinks import FilesPlace, KafkaPlace, Place, PostgresPlace, Reader, Snapshots, StoreReader, postgres_snapshots, sqlite_snapshots
from penstock.errors import SinkError
from penstock.plan.model.declare import Declared, Emit, Secret
from penstock.schema import Schema
from penstock.settings import Settings
from penstock.share.jobs import Member, jobs
from penstock.sink.options import AT_LEAST_ONCE, EXACTLY_ONCE, delivery_of
from penstock.sink.spec import SinkSpec
from penstock.store.postgres_server import PostgresServer
from penstock.verify.shared import indistinguishable, shared_places
from penstock.verify.tables import sharers_of_table
from penstock.wiring import open_app, secrets

# Small and quick, and patient enough for a part that is away for a while.
QUICK: Mapping[str, str] = {
    "master": "local[2]",
    "driver_memory": "1g",
    "fast_start": "true",
    "shuffle_partitions": "2",
    "trigger": "1 second",
    "restarts_max": "30",
    "restart_backoff_s": "0.5",
}
# The reader follows the change log: an epoch that was dropped before it came to look would pass for one that never was.
_KEPT: Mapping[str, str] = {"changes_kept_epochs": "1000000"}


@dataclass(frozen=True)
class Opened:
    """A subject, the parts that may be hurt, and where its rows go in, if chaos feeds it."""

    subject: Subject
    parts: Parts
    target: Target | None


@contextmanager
def built_in(route: str, folder: Path, *, views: Sequence[str] = apps.VIEWS, disk: bool = False) -> Iterator[Opened]:
    """One of the built-in apps below `folder`, with fresh parts that are gone afterwards."""
    source, sink, *more = route.split("-")
    cluster = "cluster" in more
    home = folder / "app"
    home.mkdir(parents=True)
    with started(folder, broker="kafka" in route, postgres="postgres" in route, cluster=cluster, disk=disk and may_mount()) as parts:
        settings = dict(QUICK)
        if parts.cluster is not None:
            settings["master"] = parts.cluster.master
        if parts.postgres is not None:
            server = parts.postgres.server
            settings["store"] = f"postgres://{server.user}:{server.password}@{server.host}:{server.port}/{server.new_database()}"
        target = _target(source, home, parts)
        (home / "app.sql").write_text(apps.text(_streams(source, parts), {view: _sink(view, sink, parts) for view in views}), encoding="utf-8")
        offered = {*parts.offered(), "feeder", "sink"}
        offered |= {"transactions"} if route == "kafka-kafka" else {"python-worker"} if source == "files" and "joined" in views else set()
        state = (parts.disk or home) / ".penstock"
        name = route if tuple(views) == apps.VIEWS else f"{route} {' '.join(views)}"
        yield Opened(Subject(name, home, state, settings, frozenset(offered), partial(apps.wanted, views=views)), parts, target)


def _streams(source: str, parts: Parts) -> dict[str, str]:
    if source == "files":
        place = "connector = 'files', format = 'json'"
        return {"orders": f"{place}, path = 'in/orders'", "payments": f"{place}, path = 'in/payments.log', tail = 'true'"}
    assert parts.broker is not None
    servers = parts.broker.servers
    return {name: f"connector = 'kafka', servers = '{servers}', topic = '{name}', format = 'json'" for name in ("orders", "payments")}


def _target(source: str, home: Path, parts: Parts) -> Target:
    if source == "files":
        (home / "in/orders").mkdir(parents=True)
        (home / "in/payments.log").touch()
        return Files(home / "in/orders", home / "in/payments.log")
    assert parts.broker is not None
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": parts.broker.servers, "log_level": 0})
    made = admin.create_topics([NewTopic(name, num_partitions=2, replication_factor=1) for name in ("orders", "payments")])
    for topic in made.values():
        topic.result(30)
    return Topics(parts.broker.servers, {name: name for name in ("orders", "payments")})


def _sink(view: str, sink: str, parts: Parts) -> str:
    head = f"CREATE SINK {view}_out FROM {view} WITH ("
    if sink == "kafka":
        assert parts.broker is not None
        return f"{head}connector = 'kafka', servers = '{parts.broker.servers}', topic = '{view}_out', delivery = 'exactly-once');"
    if sink == "postgres":
        assert parts.postgres is not None
        given = {name: str(value) for name, value in parts.postgres.server.parameters().items()}
        place = ", ".join(f"{name} = '{value}'" for name, value in given.items())
        return f"{head}connector = 'postgres', {place}, table = '{view}_out', delivery = 'exactly-once');"
    return f"{head}connector = 'files', path = 'out/{view}', format = 'json', delivery = 'exactly-once');"


def users(app: Path, state: Path | None, settings: Mapping[str, str]) -> Opened:
    """A user's app as it is, but for how long its change logs are kept; of its parts only the development broker of its state folder is ours to hurt.

    StateError while it runs: whatever was done to it then would hurt a driver that is not ours.
    """
    engine = open_app(app, state=state, overrides=settings)
    with nobody_runs(engine.state):
        damage.restore_last(engine.state)  # chaos was killed here before it could
    broker = OwnBroker(engine.state)
    parts = Parts(broker=broker if _uses(engine.declared, broker) else None)
    delivered = [delivery_of(sink.options) for sink in engine.declared.sinks.values()]
    offered = {*parts.offered(), *(["sink"] if EXACTLY_ONCE in delivered else [])}
    if parts.broker is not None and any(
        sink.options.get("connector") == "kafka" and delivery_of(sink.options) == EXACTLY_ONCE for sink in engine.declared.sinks.values()
    ):
        offered.add("transactions")
    return Opened(Subject(engine.declared.name, app, engine.state, {**settings, **_KEPT}, frozenset(offered)), parts, None)


def _uses(declared: Declared, broker: OwnBroker) -> bool:
    status = broker.broker.status()
    options = [*(stream.options for stream in declared.streams.values()), *(sink.options for sink in declared.sinks.values())]
    named = {str(given.get("servers")).replace("localhost", "127.0.0.1") for given in options}
    return status.running and status.servers in named


def reader(subject: Subject, seen: Seen) -> tuple[Reader, frozenset[str]]:
    """The reader of everything that an app shows, and the names of its jobs."""
    engine = open_app(subject.app, state=subject.state, overrides=subject.settings)
    read = secrets(engine.declared.folder)
    found = jobs(engine.declared)
    members = [member for job in found for member in job.members if member.stored]
    keyed = {member.name: member.key is not None for member in members}
    store = StoreReader(_snapshots(engine.settings, subject.state, read), keyed, seen)
    places: list[Place] = []
    left_out: list[str] = []
    shared = shared_places(found)
    for member in members:
        for sink in member.sinks:
            options = {name.lower(): read(value.name) if isinstance(value, Secret) else str(value) for name, value in sink.options.items()}
            spec = SinkSpec(sink.name, member.name, options, Schema(()), member.key, member.append_only, False, engine.declared.folder)
            place = _place(member, spec, store.logs[member.name], seen, marked_only=shared[sink.name].marked_only)
            others = shared[sink.name].others or (_sharers(spec) if isinstance(place, PostgresPlace) else ())
            if place is not None and others:
                left_out.append(f"{place.name} of sink `{sink.name}` is {indistinguishable(others)}")
            elif place is not None:
                places.append(place)
            elif delivery_of(options) == EXACTLY_ONCE:
                left_out.append(f"sink `{sink.name}`: of complete results, csv, parquet, partitions and SQLite only the end is judged, by `verify`")
    unstored = [sink for job in found for member in job.members if not member.stored for sink in member.sinks]
    left_out += [f"sink `{sink.name}`: its view keeps no store, so only the end is judged, by `verify`" for sink in unstored]
    return Reader(store, places, left_out), frozenset(job.name for job in found)


def _snapshots(settings: Settings, state: Path, read: Callable[[str], str]) -> Snapshots:
    address = settings.text("store")
    if not address:
        return sqlite_snapshots(state / "results.db")
    server = PostgresServer.from_url(address)
    named = parse_qs(urlsplit(address).query).get("secret")
    return postgres_snapshots(replace(server, password=read(named[-1])) if named else server)


def _sharers(spec: SinkSpec) -> list[str]:
    try:
        return sharers_of_table(spec)
    except SinkError:  # what is away at the moment is read later
        return []


def _place(member: Member, spec: SinkSpec, log: Log, seen: Seen, *, marked_only: bool) -> Place | None:
    """Where a sink can be read as a stranger would; None where it cannot, or promises nothing that a reader could hold it to."""
    options, delivery = spec.options, delivery_of(spec.options)
    if member.view.emit is Emit.COMPLETE:
        return None
    match options["connector"]:
        case "postgres" if delivery == EXACTLY_ONCE:
            return PostgresPlace(spec.name, options, log, seen)
        case "kafka" if delivery in (EXACTLY_ONCE, AT_LEAST_ONCE):
            return KafkaPlace(spec, log, seen, repeats=delivery == AT_LEAST_ONCE, marked_only=marked_only)
        case "files" if delivery == EXACTLY_ONCE and options.get("format", "json") == "json" and "partition_by" not in options:
            return FilesPlace(spec.folder / options["path"], log, seen, append_only=member.append_only)
        case _:
            return None

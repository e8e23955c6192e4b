"""What `doctor` looks at for one app: its declarations, secrets, brokers, databases, folders and where it keeps its results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from penstock.cli.doctor.checkup import MISSING, OK, WARN, Check, Finding, answers, nearest, room
from penstock.errors import PenstockError
from penstock.globs import matches
from penstock.plan.check.app import check
from penstock.plan.load import load
from penstock.plan.model.declare import Declared, Secret, Sink, Stream, Table
from penstock.plan.model.findings import ERROR
from penstock.settings import Settings
from penstock.sink.options import check_sink_options
from penstock.source.options import check_source_options
from penstock.wiring import secrets

if TYPE_CHECKING:
    from penstock.store.postgres_server import PostgresServer

Options = Mapping[str, str | Secret]


def checks(app: Path, settings: Settings, state: Path) -> Iterator[Check]:
    """The app itself, then every place that it connects to, each once."""
    try:
        declared = load(app)
    except PenstockError as error:
        fault = Finding("app", MISSING, str(error).splitlines()[0], f"`penstock check {app}`")
        yield Check("app", lambda what: fault)
        return
    yield Check("app", partial(_app, app, declared, settings, state))
    read = secrets(declared.folder)
    entries: list[Stream | Table | Sink] = [*declared.streams.values(), *declared.tables.values(), *declared.sinks.values()]
    for name in sorted({value.name for entry in entries for value in entry.options.values() if isinstance(value, Secret)}):
        yield Check(f"secret {name}", partial(_secret, name, read))
    places: dict[str, Check] = {}
    for entry in entries:
        for found in _places(entry, declared, read):
            places.setdefault(found.what, found)
    yield from places.values()
    if address := settings.text("store"):
        yield Check("results store", partial(_store, address, read))


def _app(app: Path, declared: Declared, settings: Settings, state: Path, what: str) -> Finding:
    findings = check(declared, check_source_options, check_sink_options, settings.text("trigger"), state)
    faults = [finding for finding in findings if finding.severity == ERROR]
    if faults:
        return Finding(what, MISSING, f"{len(faults)} error{'s' * (len(faults) > 1)}: {faults[0].message}", f"`penstock check {app}`")
    counts = {"stream": len(declared.streams), "table": len(declared.tables), "view": len(declared.views), "sink": len(declared.sinks)}
    return Finding(what, OK, ", ".join(f"{count} {kind}{'s' * (count != 1)}" for kind, count in counts.items() if count))


def _secret(name: str, read: Callable[[str], str], what: str) -> Finding:
    return Finding(what, OK, "there") if read(name) else Finding(what, WARN, "there, but empty")


def _places(entry: Stream | Table | Sink, declared: Declared, read: Callable[[str], str]) -> Iterator[Check]:
    """Where an entry's rows come from or go to; none for connectors that connect to nothing outside."""
    options, kind = entry.options, "sink" if isinstance(entry, Sink) else "table" if isinstance(entry, Table) else "stream"
    match options.get("connector"):
        case "kafka":
            servers = str(options.get("servers", ""))
            if not servers:
                return  # the app's own check says so
            yield Check(f"brokers {servers}", partial(_brokers, servers), remedy="start them; for development, `penstock broker start`")
        case "postgres":
            where = f"{options.get('host', 'localhost')}:{options.get('port', '5432')}/{options.get('database')}"
            yield Check(f"Postgres {where}", partial(_postgres, options, read))
        case "socket":
            where = f"{options.get('host')}:{options.get('port')}"
            yield Check(f"socket {where}", partial(_listens, str(options.get("host")), str(options.get("port"))))
        case "files" | "sqlite" if isinstance(options.get("path"), str) and "://" not in str(options["path"]):
            place = declared.folder.absolute() / str(options["path"])
            folder = place.parent if options["connector"] == "sqlite" else place
            writes = partial(_written, folder) if isinstance(entry, Sink) else partial(_readable, place, kind)
            yield Check(f"{kind} {entry.name}", writes)


def _brokers(servers: str, what: str) -> Finding:
    """One broker of the list is enough: it names the others."""
    faults = []
    for server in (part.strip().rpartition("//")[2] for part in servers.split(",") if part.strip()):
        host, _, port = server.rpartition(":")
        fault = answers(host or server, int(port) if host and port.isdecimal() else 9092)
        if fault is None:
            return Finding(what, OK, f"{server} answers")
        faults.append(f"{server}: {fault}")
    return Finding(what, MISSING, "; ".join(faults) or "none is named", "start them; for development, `penstock broker start`")


def _postgres(options: Options, read: Callable[[str], str], what: str) -> Finding:
    from penstock.store.postgres_server import PostgresServer

    plain = {name: read(value.name) if isinstance(value, Secret) else value for name, value in options.items()}
    return _connects(PostgresServer.from_options(plain), what)


def _store(address: str, read: Callable[[str], str], what: str) -> Finding:
    from penstock.store.postgres_server import PostgresServer

    named = parse_qs(urlsplit(address).query).get("secret")
    server = PostgresServer.from_url(address)
    return _connects(replace(server, password=read(named[-1])) if named else server, what)


def _connects(server: PostgresServer, what: str) -> Finding:
    if not server.host.startswith("/") and (fault := answers(server.host, int(server.port))) is not None:
        return Finding(what, MISSING, fault, "start it, or name the right `host` and `port`")
    with server.connect() as connection:
        return Finding(what, OK, f"answers, version {connection.info.server_version // 10000}")


def _listens(host: str, port: str, what: str) -> Finding:
    fault = answers(host, int(port))
    return Finding(what, OK, "answers") if fault is None else Finding(what, MISSING, fault, "start what sends the lines; the run waits for it")


def _readable(place: Path, kind: str, what: str) -> Finding:
    found = [place] if place.exists() else [Path(path) for path in matches(str(place))]
    if not found:
        return Finding(what, MISSING if kind == "table" else WARN, f"nothing is at {place} yet", "is `path` right? It is relative to the app")
    closed = next((path for path in found if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0))), None)
    if closed is not None:
        return Finding(what, MISSING, f"{closed} may not be read", "give the user of this process the right to read it")
    return Finding(what, OK, f"{place} can be read")


def _written(folder: Path, what: str) -> Finding:
    found = room(what, folder, "give the sink another `path`")
    return found if found.status != OK or nearest(folder) == folder else Finding(what, OK, f"{folder} can be made")

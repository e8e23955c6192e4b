"""Places that an app both reads and writes, or writes twice: files, topics of Kafka, tables of Postgres.

Rows that a view writes where it reads come back to it: in a stream without end, in a table whenever it is read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.plan.check.files import local_place, normal, plain_part
from penstock.plan.cut.inline import inlined
from penstock.plan.model.declare import Declared, Secret, Sink, Stream, Table
from penstock.plan.model.findings import ERROR, WARNING, Finding
from penstock.plan.model.nodes import names_read

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_NAMED_BY = {"files": "path", "kafka": "topic", "postgres": "table"}
_PORTS = {"kafka": "9092", "postgres": "5432"}


def shared_places(declared: Declared, state: Path | None = None) -> Iterator[Finding]:
    """Findings for each sink whose view would read what it wrote, that writes where another does, or in the state folder or a file."""
    written: dict[Path, str] = {}
    for sink in declared.sinks.values():
        yield from _fed_back(sink, declared)
        place = local_place(sink, declared)
        if place is not None and sink.view in declared.views:
            yield from _wrong_folder(sink, normal(place), written, state)
            written[normal(place)] = sink.name
        if sink.options.get("connector") == "sqlite":
            yield from _wrong_file(sink, normal(declared.folder.absolute() / str(sink.options.get("path"))), state)


def _fed_back(sink: Sink, declared: Declared) -> Iterator[Finding]:
    view = declared.views.get(sink.view)
    sources: dict[str, Stream | Table] = {**declared.streams, **declared.tables}
    own = names_read(inlined(view.query, declared.declarations)) if view is not None else ()
    reader = next((name for name in own if name in sources and _same(sink, sources[name], declared)), None)
    if reader is None or view is None:
        return
    by = str(sink.options["connector"])
    severity, end = (WARNING, "would read its own rows with the next run") if by == "postgres" else (ERROR, "would feed itself")
    message = f"sink `{sink.name}` would write where `{reader}` reads, and view `{view.name}` {end}: {sink.options[_NAMED_BY[by]]}"
    yield Finding(severity, "OptionFault", message, sink.where, hint=f"give the sink a `{_NAMED_BY[by]}` of its own, outside of what is read")


def _same(sink: Sink, source: Stream | Table, declared: Declared) -> bool:
    """Whether a sink writes where a source reads, as far as their options show."""
    if sink.options.get("connector") != source.options.get("connector"):
        return False
    match sink.options.get("connector"):
        case "files":
            written, read = local_place(sink, declared), local_place(source, declared)
            if written is None or read is None or read != plain_part(read):
                return False
            return normal(written).is_relative_to(normal(read)) or normal(read).is_relative_to(normal(written))
        case "kafka":  # all servers of a list are of one cluster
            same_topic = sink.options.get("topic") == source.options.get("topic")
            return same_topic and bool(_servers(sink.options.get("servers")) & _servers(source.options.get("servers")))
        case "postgres":
            return _table(sink.options) == _table(source.options)
        case _:
            return False


def _servers(given: str | Secret | None) -> set[str]:
    return {_server(*part.strip().rpartition(":")[::2], "kafka") for part in given.split(",") if part.strip()} if isinstance(given, str) else set()


def _server(host: str, port: str, kind: str) -> str:
    host, port = (host, port) if host else (port, _PORTS[kind])
    host = host.rpartition("//")[2].strip().lower()
    return f"{'localhost' if host in _LOOPBACK else host}:{port.strip()}"


def _table(options: Mapping[str, str | Secret]) -> tuple[str, str, str]:
    server = _server(str(options.get("host", "localhost")), str(options.get("port", _PORTS["postgres"])), "postgres")
    return server, str(options.get("database")), str(options.get("table")).removeprefix("public.")


def _wrong_file(sink: Sink, place: Path, state: Path | None) -> Iterator[Finding]:
    path = sink.options.get("path")
    if state is not None and place.is_relative_to(state.resolve()):
        message = f"sink `{sink.name}` would write to the app's state folder: {path}"
        yield Finding(ERROR, "OptionFault", message, sink.where, hint="give the sink a `path` outside of it")
    if place.is_dir():
        message = f"sink `{sink.name}` would write to a file, but {path} is a folder"
        yield Finding(ERROR, "OptionFault", message, sink.where, hint="give the sink the `path` of a file, e.g. 'out.db'")


def _wrong_folder(sink: Sink, place: Path, written: Mapping[Path, str], state: Path | None) -> Iterator[Finding]:
    path = sink.options["path"]
    if place in written:
        message = f"sinks `{written[place]}` and `{sink.name}` would write to one folder: {path}"
        yield Finding(ERROR, "OptionFault", message, sink.where, hint="give each sink a `path` of its own")
    if state is not None and place.is_relative_to(state.resolve()):
        message = f"sink `{sink.name}` would write to the app's state folder: {path}"
        yield Finding(ERROR, "OptionFault", message, sink.where, hint="give the sink a `path` outside of it")
    nearest = next((part for part in (place, *place.parents) if part.exists()), None)
    if nearest is not None and not nearest.is_dir():
        message = f"sink `{sink.name}` would write to a folder that cannot be made, for {nearest} is a file: {path}"
        yield Finding(ERROR, "OptionFault", message, sink.where, hint="give the sink the `path` of a folder; its files are made in it")

"""Sinks of one topic or one table: which of them a stranger cannot distinguish, so that nothing of them can be compared."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.share.jobs import Job
from penstock.sink.kafka.records import has_tombstones
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.store.postgres_server import PostgresServer


@dataclass(frozen=True)
class Shared:
    """A sink among others of its place. `others`: those whose rows look like its own; `marked_only`: its own are marked, theirs not."""

    others: tuple[str, ...] = ()
    marked_only: bool = False


def shared_places(jobs: Iterable[Job]) -> dict[str, Shared]:
    """Every sink of an app by its name; what is compared as usual has no others."""
    places: defaultdict[tuple[str, ...], dict[str, bool]] = defaultdict(dict)
    for member in (member for job in jobs for member in job.members):
        for sink in member.sinks:
            options = {name.lower(): value for name, value in sink.options.items()}
            places[_place(sink.name, options)][sink.name] = _marks(options, member.key)
    return {name: _among(name, marked) for marked in places.values() for name in marked}


def indistinguishable(others: Iterable[str]) -> str:
    return f"shared with sink {', '.join(f'`{name}`' for name in others)}, whose rows cannot be distinguished from its own"


def _among(name: str, marked: Mapping[str, bool]) -> Shared:
    unmarked = tuple(other for other in marked if other != name and not marked[other])
    return Shared(marked_only=bool(unmarked)) if marked[name] else Shared(unmarked)


def _marks(options: Mapping[str, object], key: tuple[str, ...] | None) -> bool:
    """Whether every record says which sink it is of."""
    column = options.get("key")
    exact = options["connector"] == "kafka" and delivery_of(options) == EXACTLY_ONCE
    return exact and has_tombstones(key, None if column is None else str(column))


def _place(sink: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Equal for sinks of one place, as far as their options show; `check` sees to it that no two have one folder."""
    match options["connector"]:
        case "kafka":
            servers = sorted(_host(server.strip()) for server in str(options["servers"]).split(","))
            return ("kafka", *servers, str(options["topic"]))
        case "postgres":
            server = [str(options.get(name, getattr(PostgresServer, name))) for name in ("host", "port", "database")]
            schema, _, table = str(options["table"]).rpartition(".")
            return ("postgres", *map(_host, server), schema or "public", table)
        case "sqlite":
            return ("sqlite", os.path.normpath(str(options["path"])), str(options["table"]).lower())
        case _:
            return ("its own", sink)


def _host(address: str) -> str:
    return address.replace("localhost", "127.0.0.1")

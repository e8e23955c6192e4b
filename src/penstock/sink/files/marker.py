"""The file that says whose a sink's folder is and how far it is, and the epochs that lie beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import RefusalError
from penstock.sink.files.partitions import partition_names
from penstock.sink.spec import SinkSpec

MARKER = "_penstock"


@dataclass(frozen=True)
class Marker:
    """What `_penstock` says; `driver` may write. `clearing`: epochs of an earlier generation may still lie about."""

    sink: str
    view: str
    generation: str
    fence: int
    epoch: int
    clearing: bool = False
    driver: str = ""
    partition_by: str = ""


def ledger_of(spec: SinkSpec) -> str:
    """Where the marker of a sink is."""
    return str(spec.folder / spec.options["path"] / MARKER)


def partitioned(spec: SinkSpec) -> str:
    """What the marker says of a sink's partitioning."""
    return ",".join(partition_names(spec.options)).lower()


def epochs_in(folder: Path) -> list[int]:
    """The epochs that a reader finds."""
    found = (path.name.removeprefix("epoch=") for path in folder.glob("epoch=*"))
    return [int(number) for number in found if number.isdecimal()]


def read_marker(folder: Path, spec: SinkSpec) -> Marker | None:
    """What the folder's marker says, None in a new folder; RefusalError when the folder is not this sink's."""
    path = folder / MARKER
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if epochs_in(folder):
            raise RefusalError(
                f"sink `{spec.name}`: {folder} holds epochs, but no file {MARKER} that says whose they are",
                hint="give the sink another `path`, or move the `epoch=...` folders away",
            ) from None
        return None
    try:
        marker = Marker(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise RefusalError(f"sink `{spec.name}`: {path} cannot be read: {error}", hint="empty the folder, or give another `path`") from error
    if (marker.sink, marker.view) != (spec.name, spec.view):
        raise RefusalError(
            f"sink `{spec.name}`: {folder} belongs to sink `{marker.sink}` of view `{marker.view}`",
            hint="give each sink a `path` of its own",
        )
    return marker

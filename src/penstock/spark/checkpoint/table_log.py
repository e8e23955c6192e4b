"""Which version of each table the epochs of a job joined: a line in `tables.log` of the checkpoint for every epoch that joined another one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "tables.log"


@dataclass(frozen=True)
class TableChange:
    """From `epoch` on, `table` was joined in this version."""

    table: str
    version: str
    epoch: int
    whole: bool = False
    """Whether no row is compared with an earlier version any more."""


def read_changes(checkpoint: Path) -> list[TableChange]:
    """All versions in the order in which they were joined, the first of each table included; half a line is none."""
    path = checkpoint / NAME
    found: list[TableChange] = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            found.append(TableChange(entry["table"], entry["version"], entry["epoch"], bool(entry.get("whole"))))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def versions_at(changes: list[TableChange], epoch: int) -> dict[str, str]:
    """The version of each table that `epoch` joined."""
    return {change.table: change.version for change in changes if change.epoch <= epoch}


def needed(checkpoint: Path) -> set[tuple[str, str]]:
    """The tables and versions that `verify`, or an epoch that comes again, may still ask for.

    Of a table that counts as a whole those are the newest and, for sinks that are behind, the one before.
    """
    changes = read_changes(checkpoint)
    whole = {change.table for change in changes if change.whole}
    found = {(change.table, change.version) for change in changes if change.table not in whole}
    for table in whole:
        found |= set(list(dict.fromkeys((table, change.version) for change in reversed(changes) if change.table == table))[:2])
    return found


def add_changes(checkpoint: Path, epoch: int, used: Mapping[str, str], whole: Collection[str] = ()) -> list[TableChange]:
    """Note what an epoch joins before it is committed; the tables that it joins in another version than the epoch before.

    `whole` are the tables of which the newest version counts for all rows.
    """
    known = read_changes(checkpoint)
    before = versions_at(known, epoch - 1)
    again = versions_at([change for change in known if change.epoch == epoch], epoch)
    fresh = [TableChange(name, version, epoch, name in whole) for name, version in used.items() if again.get(name, before.get(name)) != version]
    if fresh:
        with (checkpoint / NAME).open("ab") as log:
            lines = [json.dumps(asdict(change)) for change in fresh]
            log.write(("\n" + "\n".join(lines) + "\n").encode())  # a crash may have left half a line
    return [change for change in fresh if change.table in before]


def changed_tables(checkpoint: Path, upto: int | None = None) -> dict[str, list[TableChange]]:
    """The tables that were joined in more than one version up to an epoch, each with its versions in order."""
    found: dict[str, dict[int, TableChange]] = {}
    for change in read_changes(checkpoint):
        if upto is None or change.epoch <= upto:
            found.setdefault(change.table, {})[change.epoch] = change
    return {name: list(changes.values()) for name, changes in found.items() if len({change.version for change in changes.values()}) > 1}

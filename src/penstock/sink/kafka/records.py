"""Changes of a view as records of a Kafka topic.

A record's value is the row as JSON; its key the view's key, or the column named by `key`. A row taken back in a keyed view
is a tombstone (no value); in a view without a key it is the row again, with the header `penstock-op` set to `-`. Every
record carries `penstock-epoch`; those of a view that only adds rows no `penstock-op`. The order of changes with the same key is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from typing import TypeAlias

from penstock.change import Additions, Change, Epoch
from penstock.errors import RefusalError
from penstock.sink.spec import SinkSpec

Headers = list[tuple[str, str | bytes | None]]


# Records to be: operation, key, value, in the order of a `Change`, which is one as it stands; no value is a tombstone.
Made: TypeAlias = Sequence[tuple[str, str | None, str | None]]


def has_tombstones(key: Sequence[str] | None, column: str | None) -> bool:
    """Whether a record's key, the view's or that of `column`, says which row is gone."""
    return key is not None and (column is None or [column.lower()] == [name.lower() for name in key])


class Records:
    """What a sink's changes become."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._column = self._key_column()
        self.tombstones = has_tombstones(spec.key, self._column)

    def of(self, changes: Sequence[Change]) -> Made:
        if self._column is None and isinstance(changes, Additions):
            return list(zip(repeat("+"), repeat(None), changes.rows, strict=False))
        if self._column is None and not self.tombstones:
            return changes
        return [(change.op, self._key(change), None if change.op == "-" and self.tombstones else change.row) for change in changes]

    def of_complete(self, epoch: Epoch, rows: Sequence[str]) -> Made:
        """Every row again; keyed rows that are gone are in the epoch's changes and become tombstones."""
        gone = [Change("-", self._view_key(change.row), change.row) for change in epoch.changes if change.op == "-" and self.tombstones]
        return self.of([*gone, *(Change("+", self._view_key(row), row) for row in rows)])

    def headers(self, epoch: int, *, owned: bool = False) -> dict[str, Headers]:
        """By operation; `owned` records of a keyed view say whose they are. Each header costs as much as half a record."""
        owner: Headers = [("penstock-sink", self._spec.name)] if owned and self.tombstones else []
        ops = {"+": [], "-": []} if self._spec.append_only else {op: [("penstock-op", op)] for op in "+-"}
        return {op: [("penstock-epoch", str(epoch)), *ops[op], *owner] for op in "+-"}

    def _key(self, change: Change) -> str | None:
        if self._column is None:
            return change.key
        value = json.loads(change.row).get(self._column)
        if value is None:
            return change.key  # the view's own key says that it is NULL; a tombstone without a key would take nothing back
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def _view_key(self, row: str) -> str | None:
        if self._spec.key is None:
            return None
        values = json.loads(row)
        return json.dumps({column: values[column] for column in self._spec.key}, ensure_ascii=False, separators=(",", ":"))

    def _key_column(self) -> str | None:
        wanted = self._spec.options.get("key")
        if wanted is None:
            return None
        found = self._spec.schema.find(wanted)
        if found is None:
            raise RefusalError(
                f"sink `{self._spec.name}`: view `{self._spec.view}` has no column `{wanted}` to take the key from",
                hint=f"it has: {', '.join(self._spec.schema.names)}",
            )
        return found.name

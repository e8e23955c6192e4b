"""Tables that changed while a job ran: every row is compared with what the version of the table gave that its own epoch joined.

A table that is joined with a stream below everything else is given in all of its versions, and the join asks for the one of the row's epoch.
Where a view is computed again as a whole in every epoch, the version of the newest one counts. Where neither holds for a table, the
newest version stands for all, and the verdict names the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import assert_never

from pyspark.sql import DataFrame, SparkSession

from penstock.plan.cut.decide import Strategy
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
    names_read,
    rebuild,
    walk,
)
from penstock.schema import quote
from penstock.share.jobs import Job
from penstock.spark.checkpoint.table_log import TableChange, changed_tables, read_changes, versions_at
from penstock.spark.compile.frames import AppContext, table_rows
from penstock.spark.compile.table_versions import TableVersions

_SIDES = {"inner": "both", "cross": "both", "left": "left", "semi": "left", "anti": "left", "right": "right"}


def version_column(table: str) -> str:
    return f"__v_{table}"


@dataclass(frozen=True)
class Joined:
    """What the epochs up to one joined: the app that reads those versions, the tables that changed, and what there is to say of it."""

    app: AppContext
    changed: Mapping[str, list[TableChange]]
    whole: frozenset[str]
    """Tables of which the newest version counts for all rows."""
    above: frozenset[str] = frozenset()
    """Tables that are joined above the cut, where an epoch may touch only a part of the rows."""

    @classmethod
    def of(cls, app: AppContext, job: Job, checkpoint: Path, epoch: int) -> Joined:
        versions = TableVersions(app.state / "tables", versions_at(read_changes(checkpoint), epoch))
        changed = changed_tables(checkpoint, epoch)
        above = {name for member in job.members for plan in member.cut.above for name in names_read(plan)}
        whole = frozenset(changed if job.cut.strategy is Strategy.RECOMPUTE else ())
        return cls(replace(app, versions=versions), changed, whole, frozenset(above))

    def plan(self, plan: Node) -> tuple[Node, frozenset[str]]:
        """The plan that joins each row with the version of its epoch, and the tables for which that was possible."""
        wanted = {
            name for name, changes in self.changed.items() if name not in self.whole | self.above and all(self._kept(change) for change in changes)
        }
        done: list[str] = []
        found = _versioned(plan, wanted, frozenset(self.app.declared.streams), done)
        scans = [part.name for part in walk(plan) if isinstance(part, Scan)]
        joined = frozenset(name for name in wanted if done.count(name) == scans.count(name))
        if joined == wanted:
            return found, joined
        return _versioned(plan, set(joined), frozenset(self.app.declared.streams), []), joined

    def _kept(self, change: TableChange) -> bool:
        assert self.app.versions is not None
        return self.app.versions.keeps(change.table, change.version)

    def notes(self, joined: frozenset[str]) -> tuple[str, ...]:
        found = []
        for name, changes in self.changed.items():
            since = ", ".join(str(change.epoch) for change in changes[1:])
            head = f"table `{name}` changed at epoch {since}"
            if name in self.whole or name in joined:
                found.append(f"{head}: every row is compared with the version that its epoch joined")
            else:
                found.append(f"{head}: what each row joined is not known for this view, so a difference may come from that")
        return tuple(found)

    def columns(self, joined: frozenset[str], epoch: str) -> Mapping[str, str]:
        """For each table the number of its version in the epoch of a row; `epoch` is that as SQL."""
        found = {}
        for name in sorted(joined):
            later = [change.epoch for change in self.changed[name][1:]]
            found[version_column(name)] = " + ".join(["0", *(f"CASE WHEN {epoch} >= {at} THEN 1 ELSE 0 END" for at in later)])
        return found

    def register(self, spark: SparkSession, joined: frozenset[str]) -> None:
        """The tables that are joined by version, all versions of each in one."""
        for name in joined:
            frames = []
            for number, change in enumerate(self.changed[name]):
                versions = TableVersions(self.app.state / "tables", {name: change.version})
                rows = table_rows(spark, replace(self.app, versions=versions), self.app.declared.tables[name])
                frames.append(rows.selectExpr("*", f"{number} AS {quote(version_column(name))}"))
            reduce(DataFrame.unionByName, frames).createOrReplaceTempView(quote(name))


def _versioned(node: Node, tables: set[str], streams: frozenset[str], done: list[str]) -> Node:
    found = rebuild(node, lambda below: _versioned(below, tables, streams, done))
    if not isinstance(found, Join) or found.kind not in _SIDES:
        return found
    for side, other, may in ((found.right, found.left, "left"), (found.left, found.right, "right")):
        table, stream = _single(side), next((name for name, read in _visible(other).items() if read in streams), None)
        if table is None or table[1] not in tables or stream is None or _SIDES[found.kind] not in ("both", may):
            continue
        done.append(table[1])
        column = version_column(table[1])
        if found.using:
            return replace(found, using=(*found.using, column))
        same = f"{quote(stream)}.{quote(column)} = {quote(table[0])}.{quote(column)}"
        return replace(found, kind="inner" if found.kind == "cross" else found.kind, on=same if found.on is None else f"({found.on}) AND {same}")
    return found


def _single(node: Node) -> tuple[str, str] | None:
    """The name by which expressions know a scan, and what it scans."""
    found = _visible(node) if isinstance(node, (Scan, Alias)) else {}
    return next(iter(found.items())) if len(found) == 1 else None


def _visible(node: Node) -> dict[str, str]:
    """The scans whose columns can be named from above, by the names that they go by there."""
    match node:
        case Scan():
            return {node.name: node.name}
        case Alias():
            return {node.name: node.input.name} if isinstance(node.input, Scan) and not node.columns else {}
        case Filter():
            return _visible(node.input)
        case Join():
            return _visible(node.left) | ({} if node.kind in ("semi", "anti") else _visible(node.right))
        case Project() | Generate() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate():
            return {}
        case _:
            assert_never(node)

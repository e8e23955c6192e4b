"""A job is one streaming query: the view whose plan it runs, and the views that follow that view's rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.plan.cut import Cut, cut
from penstock.plan.declare import Declared, Emit, Secret, Sink, Stream, Table, View
from penstock.plan.keys import ALL_COLUMNS
from penstock.plan.nodes import names_read
from penstock.plan.text import sql
from penstock.plan.watermarks import scoped
from penstock.source.options import meaning_of


@dataclass(frozen=True)
class Member:
    """One view of a job, how it is kept, and the sinks that deliver it."""

    view: View
    cut: Cut
    sinks: tuple[Sink, ...]

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def append_only(self) -> bool:
        """True where rows are only ever added, so that a sink may simply append."""
        return self.cut.adds_only

    @property
    def key(self) -> tuple[str, ...] | None:
        """The view's own columns that identify a row; None: it is a bag."""
        return None if self.cut.visible_key == ALL_COLUMNS else self.cut.visible_key

    @property
    def stored(self) -> bool:
        return self.view.stored


@dataclass(frozen=True)
class Job:
    """`members[0]` owns the streaming query; the others follow, each after the view it reads.

    `old_fingerprint` is what the same job was known by when the address of a source still counted as its meaning.
    """

    name: str
    members: tuple[Member, ...]
    fingerprint: str
    old_fingerprint: str = ""

    def is_known_by(self, fingerprint: str) -> bool:
        """Whether that is what a job of the same meaning was known by."""
        return fingerprint in (self.fingerprint, self.old_fingerprint)

    @property
    def cut(self) -> Cut:
        return self.members[0].cut

    @property
    def streams(self) -> tuple[str, ...]:
        return self.cut.streams


def jobs(declared: Declared) -> tuple[Job, ...]:
    """Every view of the app in exactly one job, in order of declaration."""
    members = {name: _member(view, declared) for name, view in declared.views.items()}
    followers: dict[str, list[Member]] = {}
    for member in members.values():
        if member.cut.base is not None:
            followers.setdefault(_owner(member, members), []).append(member)
    return tuple(
        Job(name, tuple(team), _fingerprint(team, declared, meaning_of), _fingerprint(team, declared, dict))
        for name, member in members.items()
        if member.cut.base is None
        for team in [[member, *_in_reading_order(followers.get(name, []))]]
    )


def _member(view: View, declared: Declared) -> Member:
    sinks = tuple(sink for sink in declared.sinks.values() if sink.view == view.name)
    return Member(view, cut(view, declared.declarations), sinks)


def _owner(member: Member, members: Mapping[str, Member]) -> str:
    while member.cut.base is not None:
        member = members[member.cut.base]
    return member.name


def _in_reading_order(members: list[Member]) -> list[Member]:
    """Each after the one it reads, whatever the order of declaration."""
    names = {member.name for member in members}
    placed: list[Member] = []
    while len(placed) < len(members):
        done = {member.name for member in placed}
        placed += [member for member in members if member.name not in done and (member.cut.base not in names or member.cut.base in done)]
    return placed


def _fingerprint(members: list[Member], declared: Declared, counted: Callable[[Mapping[str, object]], Mapping[str, object]]) -> str:
    """Changes when the job's results could: its plans, its streams' meaning, the `counted` options of the tables' and streams' connectors."""
    parts: list[str] = []
    for member in members:
        parts += [member.name, member.cut.strategy.value, sql(member.cut.lower), member.cut.mode, member.view.emit.value, str(member.stored)]
        parts += [sql(member.cut.upper) if member.cut.upper else ""]
        seen = scoped(member.view, declared.declarations)
        for name in dict.fromkeys((*names_read(member.cut.lower), *(names_read(member.cut.upper) if member.cut.upper else ()))):
            source = seen.get(name)
            if isinstance(source, Stream | Table):
                options = sorted((key, value.name if isinstance(value, Secret) else str(value)) for key, value in counted(source.options).items())
                parts += [source.name, source.schema.ddl, str([column.computed for column in source.schema if column.computed]), str(options)]
            if isinstance(source, Stream):
                parts += [str(source.event_time), str(source.lateness)]
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def outputs(member: Member) -> str:
    """append, update or complete, as Spark's users call it."""
    if member.view.emit is Emit.COMPLETE:
        return "complete"
    return "append" if member.append_only else "update"

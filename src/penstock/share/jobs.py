"""A job is one streaming query: the view whose plan it runs, and the views that follow that view's rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.plan.cut.decide import Cut, Strategy, cut
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import Declared, Emit, Secret, Sink, Stream, Table, View
from penstock.plan.model.keys import ALL_COLUMNS
from penstock.plan.model.nodes import Node, Operate, names_read, walk
from penstock.plan.model.text import sql
from penstock.plan.model.user_code import digest
from penstock.plan.model.watermarks import scoped
from penstock.source.options import meaning_of

_FOLLOWS = "by changes and candidates, of equal groups"  # what is stored to follow rows: a view with state of another kind is evaluated once more


@dataclass(frozen=True)
class Member:
    """One view of a job, how it is kept, and the sinks that deliver it.

    `fingerprint` changes when the part of its plan does that is evaluated above the job's streaming query, from rows that are stored: the
    view can then be evaluated again without reading a stream.
    """

    view: View
    cut: Cut
    sinks: tuple[Sink, ...]
    fingerprint: str = ""

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

    `fingerprint` covers only what the job's checkpoint depends on: the owner's plan below the cut, and what its streams mean. Members come and
    go without it.
    """

    name: str
    members: tuple[Member, ...]
    fingerprint: str

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
    return tuple(_job([member, *_in_reading_order(followers.get(name, []))], declared) for name, member in members.items() if member.cut.base is None)


def _job(group: list[Member], declared: Declared) -> Job:
    known: dict[str, Member] = {}
    for member in group:
        known[member.name] = replace(member, fingerprint=_of_member(member, known, declared))
    return Job(group[0].name, tuple(known.values()), _of_checkpoint(group[0], declared))


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


def _of_checkpoint(owner: Member, declared: Declared) -> str:
    """Changes when what the streaming query gives could."""
    cut = owner.cut
    parts = [owner.name, cut.strategy.value, sql(cut.lower), cut.mode, str(cut.keys), owner.view.emit.value, str(owner.stored)]
    above = () if _from_stored(owner) else cut.above
    parts += map(sql, above)
    read = (cut.lower, *above)
    names = dict.fromkeys(name for plan in read for name in names_read(plan))
    return _hashed([*parts, *_sources(owner, names, declared), *_functions(read, declared)])


def _from_stored(member: Member) -> bool:
    """Whether what is above the cut is evaluated from rows that the store has: then it can change while what is below stays."""
    return member.cut.strategy in (Strategy.KEPT, Strategy.STAGED, Strategy.ON_VIEW)


def _of_member(member: Member, before: Mapping[str, Member], declared: Declared) -> str:
    """Changes when what is made of the stored rows below could; those are what another member says, where it follows one."""
    above, base = member.cut.above, member.cut.base
    if not above or not _from_stored(member):
        return ""
    parts = [_FOLLOWS, member.name, *map(sql, above), member.view.emit.value, before[base].fingerprint if base is not None else ""]
    names = dict.fromkeys(name for plan in above for name in names_read(plan))
    return _hashed([*parts, *_sources(member, names, declared), *_functions(above, declared)])


def _sources(member: Member, names: Iterable[str], declared: Declared) -> Iterator[str]:
    """What the streams and tables among `names` mean, as the view sees them."""
    seen = scoped(member.view, declared.declarations)
    for name in names:
        source = seen.get(name)
        if isinstance(source, Stream | Table):
            options = sorted((key, value.name if isinstance(value, Secret) else str(value)) for key, value in meaning_of(source.options).items())
            yield from (source.name, source.schema.ddl, str([column.computed for column in source.schema if column.computed]), str(options))
        if isinstance(source, Stream):
            yield from (str(source.event_time), str(source.lateness))


def _hashed(parts: Iterable[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:16]


def _functions(plans: Iterable[Node], declared: Declared) -> list[str]:
    """What the Python functions that the plans apply or call say; nothing of an app that declares none."""
    found = {part.function for plan in plans for part in walk(plan) if isinstance(part, Operate) and part.pattern is None}
    called = {call.name.lower() for plan in plans for call in parsed(sql(plan)).calls} if declared.functions else set()
    found |= {entry.target for name, entry in declared.functions.items() if name.lower() in called}
    return [digest(declared.folder, target) for target in sorted(found)]


def outputs(member: Member) -> str:
    """append, update or complete, as Spark's users call it."""
    if member.view.emit is Emit.COMPLETE:
        return "complete"
    return "append" if member.append_only else "update"

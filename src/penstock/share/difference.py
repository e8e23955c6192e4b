"""What becomes of the jobs when an app is declared otherwise while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.plan.model.declare import Declared, Stream, Table, View
from penstock.plan.model.nodes import names_read
from penstock.share.jobs import Job, Member, jobs


@dataclass(frozen=True)
class JobChanges:
    """Each job as it is from now on, those that are `gone` as they were; a job that is in none of these goes on untouched.

    gone        the view that owned it is no more, or follows another one now
    rebuilt     what its checkpoint is for has changed: it starts over from the history of its streams
    reopened    its streaming query goes on from the same checkpoint, opened again: its plan above the cut, its trigger or an address is another
    regrouped   its streaming query goes on as it is; views that follow, or sinks, come, go or change
    added       it is new
    """

    gone: tuple[Job, ...] = ()
    rebuilt: tuple[Job, ...] = ()
    reopened: tuple[Job, ...] = ()
    regrouped: tuple[Job, ...] = ()
    added: tuple[Job, ...] = ()

    def __iter__(self) -> Iterator[Job]:
        """Those that there are from now on and that are touched."""
        return iter((*self.rebuilt, *self.reopened, *self.regrouped, *self.added))


def changed_jobs(before: Declared, after: Declared) -> JobChanges:
    """The difference between two declarations of one app, job by job."""
    old, new = {job.name: job for job in jobs(before)}, {job.name: job for job in jobs(after)}
    both = [(old[name], job) for name, job in new.items() if name in old]
    goes_on = [(was, job) for was, job in both if job.fingerprint == was.fingerprint]
    reopened = [job for was, job in goes_on if _alone(was.members[0]) != _alone(job.members[0]) or _read(was, before) != _read(job, after, was)]
    return JobChanges(
        gone=tuple(job for name, job in old.items() if name not in new),
        rebuilt=tuple(job for was, job in both if job.fingerprint != was.fingerprint),
        reopened=tuple(reopened),
        regrouped=tuple(job for was, job in goes_on if job not in reopened and _by_name(was) != _by_name(job)),
        added=tuple(job for name, job in new.items() if name not in old),
    )


def changed_views(before: Declared, after: Declared) -> tuple[View, ...]:
    """The views that are new or mean something else, also because of what they read."""
    changed = {name for name, found in after.declarations.items() if before.declarations.get(name) != found}
    found: dict[str, View] = {}
    for _ in after.views:  # a view over a changed view has changed, and so on
        found |= {name: view for name, view in after.views.items() if name in changed or any(read in changed for read in names_read(view.query))}
        if found.keys() <= changed:
            break
        changed |= found.keys()
    return tuple(found.values())


def _by_name(job: Job) -> dict[str, Member]:
    return {member.name: member for member in job.members}


def _alone(member: Member) -> Member:
    return replace(member, sinks=())


def _read(job: Job, declared: Declared, others: Job | None = None) -> dict[str, Stream | Table]:
    """The streams and tables that views of the job read; of `others` only those views that it has too."""
    names = None if others is None else {member.name for member in others.members}
    views = [member.view for member in job.members if names is None or member.name in names]
    read = {name: declared.declarations[name] for view in views for name in names_read(view.query)}
    return {name: found for name, found in read.items() if isinstance(found, Stream | Table)}

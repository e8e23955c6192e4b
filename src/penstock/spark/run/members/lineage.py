"""Which generation each view of a job is in, as the results store notes it together with the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.share.jobs import Member
from penstock.store.generations import ViewGeneration, first_of, next_of, note_of, read_generations
from penstock.store.protocol import FenceToken, Store
from penstock.store.writer import EpochWriter


class Lineage:
    """What the store says of the job's views; `committed` is the last epoch in its ledger."""

    def __init__(self, store: Store, token: FenceToken, members: Iterable[Member], committed: int) -> None:
        self._token = token
        self._noted = {view: found for view, found in read_generations(store.notes()).items() if found.job == token.job}
        if committed >= 0 and not any(found.job_generation == token.generation for found in self._noted.values()):
            # The rows were made before views were known on their own, by the same plans; but without what is stored now to follow rows by
            # their changes, so a view that follows is evaluated once more.
            self._noted |= {member.name: first_of(*token[:2], "") for member in members}
            with store.amend(token, committed) as writer:
                for view, found in self._noted.items():
                    writer.note(note_of(view), found.text)

    def is_due(self, member: Member) -> bool:
        """Whether the rows of a view were made by something else than what it is now."""
        there = self._noted.get(member.name)
        return there is None or (there.job_generation, there.fingerprint) != (self._token.generation, member.fingerprint)

    def started(self, member: Member, epoch: int | None = None) -> ViewGeneration:
        """A new generation of a view: together with the job's own, or as of an epoch of it."""
        return first_of(*self._token[:2], member.fingerprint) if epoch is None else next_of(*self._token[:2], member.fingerprint, epoch)

    def name(self, view: str, started: Mapping[str, ViewGeneration]) -> str:
        """What the view's change log and its sinks go by, once those have started."""
        found = started.get(view) or self._noted.get(view)
        return found.name if found is not None and found.job_generation == self._token.generation else self._token.generation

    def names(self, members: Iterable[Member], started: Mapping[str, ViewGeneration]) -> dict[str, str]:
        """The same of several views."""
        return {member.name: self.name(member.name, started) for member in members}

    def lacks(self, members: Iterable[Member]) -> bool:
        """Whether the store has views of the job that are none of its members any more."""
        return not self._noted.keys() <= {member.name for member in members}

    def write(self, writer: EpochWriter, members: Iterable[Member], started: Mapping[str, ViewGeneration]) -> None:
        """In the transaction that writes their rows: note those that start, forget the views that are no more."""
        names = {member.name for member in members}
        for view, found in self._noted.items():
            if view not in names:
                writer.drop(view, note_of(view), found.text)
        for view, found in started.items():
            writer.note(note_of(view), found.text)

    def wrote(self, members: Iterable[Member], started: Mapping[str, ViewGeneration]) -> None:
        """That transaction has committed."""
        names = {member.name for member in members}
        self._noted = {view: found for view, found in {**self._noted, **started}.items() if view in names}

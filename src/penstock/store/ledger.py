"""Who may write a job: the fence that goes up with every driver that takes over, the ledger, and whose rows a job's views hold."""

from __future__ import annotations

from penstock.errors import FencedError
from penstock.store.layout import Session
from penstock.store.protocol import AlreadyCommitted, FenceToken, OwnedByAnother, Position, RowOwner


def take_over(session: Session, job: str, owner: RowOwner) -> Position:
    """Raise the fence; OwnedByAnother, and nothing taken over, where the rows are not this driver's to go on with or to replace."""
    generation = owner.generation
    session.run(
        "INSERT INTO penstock_jobs (job, generation, fence) VALUES (?, ?, 1)"
        " ON CONFLICT (job) DO UPDATE SET fence = penstock_jobs.fence + 1, generation = excluded.generation",
        job,
        generation,
    )
    ((fence,),) = session.fetch("SELECT fence FROM penstock_jobs WHERE job = ?", job)
    last = _last(session, job, generation)
    held = [RowOwner(*row) for row in session.fetch("SELECT generation, folder, place FROM penstock_owners WHERE job = ?", job)]
    if held and held[0].generation != generation and (last is not None or held[0].folder != owner.folder):
        raise OwnedByAnother(held[0])
    return Position(fence, -1 if last is None else last)


def check_fence(session: Session, token: FenceToken, row_lock: str = "") -> None:
    """FencedError where another driver took over; with a `row_lock` none does before the transaction ends."""
    holder = session.fetch(f"SELECT fence, generation FROM penstock_jobs WHERE job = ?{row_lock}", token.job)
    if holder != [(token.fence, token.generation)]:
        raise FencedError(
            f"another driver has taken over job `{token.job}`; this one writes nothing any more",
            hint="only one `penstock run` may use a state folder or a results store at a time",
        )


def begin(session: Session, token: FenceToken, epoch: int, owner: RowOwner) -> None:
    """AlreadyCommitted where the epoch is in the ledger. The first of a generation takes the rows of the one before: from now on they are its own."""
    last = _last(session, token.job, token.generation)
    if last is not None and epoch <= last:
        raise AlreadyCommitted(f"epoch {epoch} of job `{token.job}`")
    if last is None:
        session.run(
            "INSERT INTO penstock_owners (job, generation, folder, place) VALUES (?, ?, ?, ?) ON CONFLICT (job)"
            " DO UPDATE SET generation = excluded.generation, folder = excluded.folder, place = excluded.place",
            token.job,
            *owner,
        )


def enter(session: Session, token: FenceToken, epoch: int) -> None:
    """Put the epoch into the ledger."""
    session.run(
        "INSERT INTO penstock_ledger (job, generation, fence, epoch) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (job, generation) DO UPDATE SET fence = excluded.fence, epoch = excluded.epoch",
        token.job,
        token.generation,
        token.fence,
        epoch,
    )


def _last(session: Session, job: str, generation: str) -> int | None:
    found = session.fetch("SELECT epoch FROM penstock_ledger WHERE job = ? AND generation = ?", job, generation)
    return int(found[0][0]) if found else None

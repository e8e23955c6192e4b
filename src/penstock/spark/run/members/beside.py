"""A view that is replaced is built up beside the old one, which goes on meanwhile, and then takes its place in one transaction.

The new generation is a job of its own under a name that nobody reads, without sinks, until it has taken the history. Its rows, change log and
ledger then get the old one's names in the store, and its checkpoint the old one's place. What was intended is in the catalogue first: a crash
between the store and the catalogue is finished by the next run.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog import Catalog, Swap
from penstock.share.jobs import Job
from penstock.spark.run.members.fleet import Fleet
from penstock.spark.run.outcome import forget_status
from penstock.store.protocol import Store

_NEXT = "__next:"


def built_beside(job: Job) -> Job:
    """The job as it is built up: the view that owns it, alone and under another name."""
    owner = job.members[0]
    view = replace(owner.view, name=f"{_NEXT}{owner.name}")
    return Job(view.name, (replace(owner, view=view, sinks=()),), job.fingerprint)


def replaces(job: Job) -> str | None:
    """The name of the job whose place this one is to take, if it is built up beside another."""
    return job.name.removeprefix(_NEXT) if job.name.startswith(_NEXT) else None


def build(fleet: Fleet, job: Job, catalog: Catalog, store: Store) -> None:
    """Let the new generation take the history; when that fails, nothing of it is left."""
    beside = built_beside(job)
    discard(beside.name, catalog, store)
    fleet.start(beside, catch_up=True)
    try:
        fleet.wait(beside)
    except BaseException:
        fleet.end(beside.name)
        discard(beside.name, catalog, store)
        raise


def take_place(fleet: Fleet, job: Job, catalog: Catalog, store: Store) -> None:
    """End the old one, let the new one take what came meanwhile, and put it in the old one's place."""
    beside = built_beside(job)
    fleet.end(job.name)
    fleet.end(beside.name)
    fleet.start(beside, catch_up=True)
    fleet.wait(beside)
    fleet.end(beside.name)
    generation = catalog.current(beside.name)
    if generation is None or store.committed(beside.name, generation[0]) < 0:  # there was nothing to take: the view is as new
        discard(beside.name, catalog, store)
        return
    swap = Swap(job.name, beside.name, generation[0])
    catalog.intend(swap)
    store.swap(swap.job, swap.beside)
    catalog.swapped(swap)
    forget_status(store, beside.name)


def finish_swaps(catalog: Catalog, store: Store) -> None:
    """What a crash left half done: a swap that the store has made is finished, everything else that was being built up is given up."""
    for swap in catalog.intended():
        if store.committed(swap.job, swap.generation) >= 0:
            catalog.swapped(swap)
        else:
            catalog.give_up(swap)
    for name in catalog.jobs():
        if name.startswith(_NEXT):
            discard(name, catalog, store)


def discard(name: str, catalog: Catalog, store: Store) -> None:
    """Forget a job that was being built up."""
    catalog.drop(name)
    store.drop_job(name)
    store.drop_view(name)
    forget_status(store, name)

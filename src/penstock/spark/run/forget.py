"""What is left behind by jobs that are no more: checkpoints, ledgers, copies of tables, and the rows of views that nobody declares."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.catalog import Catalog
from penstock.plan.model.declare import Declared
from penstock.share.jobs import Job
from penstock.spark.run.job_tables import drop_unneeded
from penstock.spark.run.outcome import forget_status
from penstock.store.protocol import Store


def forget_job(job: Job, declared: Declared, catalog: Catalog, store: Store) -> None:
    """A job has ended for good. Views of it that are still declared keep their rows until the job that they are in now replaces them."""
    catalog.drop(job.name)
    store.drop_job(job.name)
    forget_status(store, job.name)
    for member in job.members:
        if member.name not in declared.views:
            store.drop_view(member.name)


def forget_former_jobs(jobs: Iterable[Job], catalog: Catalog, store: Store) -> None:
    """A view that follows another one now had a job of its own once: going back to its checkpoint would take rows for its own that are not."""
    for job in jobs:
        for member in job.members[1:]:
            if catalog.current(member.name) is not None:
                catalog.drop(member.name)
                store.drop_job(member.name)
    drop_unneeded(catalog.state)


def committed(job: Job, catalog: Catalog, store: Store) -> int:
    """The last epoch of a job in the ledger; -1: there is none."""
    generation = catalog.current(job.name)
    return -1 if generation is None else store.committed(job.name, generation[0])

"""Where a sink stands beside the results store: as of which epoch it is compared, and whether a run would refuse it.

While the app runs all of them move. What is confirmed is looked up before a sink is read, for the sink has it by then; the ledger
is looked up again after, for no sink is further than that.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import StateError
from penstock.share.jobs import Member
from penstock.sink import files_marker
from penstock.sink.kafka_progress import PARTITIONS, PROGRESS
from penstock.sink.kafka_progress import ledger_of as kafka_ledger
from penstock.sink.kafka_server import KafkaServer
from penstock.sink.postgres_sink import ledger_in_words
from penstock.sink.spec import SinkSpec
from penstock.spark.agreement import fault_of_place, furthest, names_in_store, nearest
from penstock.testing.verify.consumed import Life
from penstock.testing.verify.tables import Fetch, confirmed, ledger_epoch, same_since, waiting


@dataclass(frozen=True)
class Known:
    """What the store knew of a sink before the sink was read; `place` is where the sink's own ledger is, or would be."""

    place: str
    confirmed: int
    ledger: int


@dataclass(frozen=True)
class Standing:
    """`epoch`: as of which the sink is compared. `behind`: epochs that wait for it. `fault`: why a run would refuse it."""

    epoch: int
    behind: int = 0
    fault: StateError | None = None


def known(fetch: Fetch, life: Life, spec: SinkSpec, place: str) -> Known:
    """Before the sink is read."""
    names = names_in_store(spec.name, spec.view, spec.options, place)
    return Known(place, confirmed(fetch, names, life.incarnation), ledger_epoch(fetch, life.job.name, life.incarnation))


def standing(fetch: Fetch, life: Life, member: Member, spec: SinkSpec, before: Known, at: int) -> Standing:
    """After the sink was read, and found to be at epoch `at`."""
    ledger = ledger_epoch(fetch, life.job.name, life.incarnation)
    reached, least = furthest(ledger, stored=member.stored), nearest(before.ledger, stored=member.stored)
    fault = fault_of_place(
        spec.name, spec.view, before.place, at=at, confirmed=before.confirmed, ledger=reached, checkpoint=life.checkpoint, least=least
    )
    due = min(max(at, before.confirmed), reached, life.last)  # what it has lost is missed, and what it has too much is found
    if due < 0:
        due = before.ledger  # nothing at all was delivered, which nothing would be equal to
    if not member.stored:
        return Standing(due, fault=fault)
    # An epoch that changed nothing leaves the sink where it was, and Spark may have forgotten that epoch since.
    epoch = ledger if same_since(fetch, member.name, life.incarnation, due) else due
    return Standing(epoch, waiting(fetch, member.name, life.incarnation, due), fault)


def place_of(spec: SinkSpec) -> str:
    """Where a sink's own ledger is, as a run says it; nothing is opened or taken over."""
    match spec.options["connector"]:
        case "files":
            return files_marker.ledger_of(spec)
        case "postgres":
            return ledger_in_words(spec)
        case _:
            return kafka_ledger(spec, KafkaServer(spec).partitions_of(PROGRESS) or PARTITIONS)

"""Where a sink stands beside the results store: as of which epoch it is compared, and whether a run would refuse it.

While the app runs all of them move. What is confirmed is looked up before a sink is read, for the sink has it by then; the ledger
is looked up again after, for no sink is further than that.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import EngineError, StateError
from penstock.share.jobs import Member
from penstock.sink.files import marker as files_marker
from penstock.sink.kafka.progress import PARTITIONS, PROGRESS
from penstock.sink.kafka.progress import ledger_of as kafka_ledger
from penstock.sink.kafka.server import KafkaServer
from penstock.sink.postgres.sink import ledger_in_words
from penstock.sink.spec import SinkSpec
from penstock.sink.sqlite import sink as sqlite
from penstock.spark.checkpoint.agreement import fault_of_place, furthest, names_in_store, nearest
from penstock.verify.consumed import Consumed
from penstock.verify.tables import Fetch, confirmed, ledger_epoch, same_since, waiting


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


def known(fetch: Fetch, consumed: Consumed, spec: SinkSpec, place: str) -> Known:
    """Before the sink is read."""
    names = names_in_store(spec.name, spec.view, spec.options, place)
    return Known(place, confirmed(fetch, names, consumed.view_generation), ledger_epoch(fetch, consumed.job.name, consumed.generation))


def standing(fetch: Fetch, consumed: Consumed, member: Member, spec: SinkSpec, before: Known, at: int) -> Standing:
    """After the sink was read, and found to be at epoch `at`."""
    ledger = ledger_epoch(fetch, consumed.job.name, consumed.generation)
    newest, least = furthest(ledger, stored=member.stored), nearest(before.ledger, stored=member.stored)
    fault = fault_of_place(
        spec.name, spec.view, before.place, at=at, confirmed=before.confirmed, ledger=newest, checkpoint=consumed.checkpoint, least=least
    )
    due = min(max(at, before.confirmed), newest, consumed.last)  # what it has lost is missed, and what it has too much is found
    if due < 0:
        due = before.ledger  # nothing at all was delivered, which nothing would be equal to
    if not member.stored:
        return Standing(due, fault=fault)
    # An epoch that changed nothing leaves the sink where it was, and Spark may have forgotten that epoch since.
    epoch = ledger if same_since(fetch, member.name, consumed.view_generation, due) else due
    return Standing(epoch, waiting(fetch, member.name, consumed.view_generation, due), fault)


def place_of(spec: SinkSpec) -> str:
    """Where a sink's own ledger is, as a run says it; nothing is opened or taken over."""
    match spec.options["connector"]:
        case "files":
            return files_marker.ledger_of(spec)
        case "postgres":
            return ledger_in_words(spec)
        case "sqlite":
            return sqlite.ledger_in_words(spec)
        case "kafka":
            return kafka_ledger(spec, KafkaServer(spec).partitions_of(PROGRESS) or PARTITIONS)
        case other:
            raise EngineError(f"a {other} sink has no ledger")

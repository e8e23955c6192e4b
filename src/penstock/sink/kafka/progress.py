"""The ledger of exactly-once sinks in Kafka: one compacted topic, in which each sink's newest record says how far it is.

The record is written in the same transaction as the rows, so whoever reads committed records finds both or neither. It is
read up to the end that uncommitted readers see: stopping at the first open transaction would miss what was committed behind it.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import RefusalError
from penstock.sink.kafka.server import PATIENCE_S, Config
from penstock.sink.spec import SinkSpec

PROGRESS = "__penstock_progress"
PARTITIONS = 16  # sinks of one partition wait for each other's open transactions when they start
TOPIC_CONFIG: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.ms": "3600000",
    "segment.bytes": "16777216",
    "min.cleanable.dirty.ratio": "0.1",
}
_NEAR_THE_END = 2_000
_NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True)
class Progress:
    """`rows` of the last epoch, `total` of this generation; `fence` goes up with every driver that takes over."""

    generation: str
    epoch: int
    rows: int
    total: int
    fence: int

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def progress_key(spec: SinkSpec) -> str:
    """Under what a sink's progress stands; also its transactional id."""
    return f"penstock.{spec.app}.{spec.name}.{spec.options['topic']}"


def ledger_of(spec: SinkSpec, partitions: int) -> str:
    """Where the progress of a sink stands, in words."""
    key = progress_key(spec)
    return f"the last record with key {key} in partition {partition_of(key, partitions)} of topic {PROGRESS}"


def partition_of(sink: str, partitions: int) -> int:
    """The partition of a sink's progress: the same whatever client writes it, as long as the topic keeps its number of partitions."""
    return zlib.crc32(sink.encode()) % partitions


def read_progress(login: Config, sink: str, partitions: int, patience_s: float) -> Progress | None:
    """The newest committed progress of `sink`, None if it never delivered; SinkError when the record is damaged."""
    found: list[Progress] = []

    def look(message: Message) -> None:
        key, value = message.key(), message.value()
        if key == sink.encode() and value is not None:
            try:
                found.append(Progress(**json.loads(value)))
            except (ValueError, TypeError) as error:
                place = f"offset {message.offset()} of partition {message.partition()} of topic {PROGRESS}"
                hint = "give the sink another name or topic: it then starts over"
                raise RefusalError(f"the progress of {sink} at {place} cannot be read: {error}", hint=hint) from error

    place = partition_of(sink, partitions)
    low, high = bounds(login, PROGRESS, [place])[place]
    for start in dict.fromkeys((max(low, high - _NEAR_THE_END), low)):
        read_to(login, PROGRESS, {place: (start, high)}, look, patience_s)
        if found:
            return found[-1]
    return None


def sinks_known(login: Config, partitions: int, patience_s: float) -> set[str]:
    """Every sink that has progress here."""
    found: set[str] = set()

    def look(message: Message) -> None:
        key = message.key()
        found.add(key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key))

    read_to(login, PROGRESS, bounds(login, PROGRESS, list(range(partitions))), look, patience_s)
    return found


def bounds(login: Config, topic: str, partitions: list[int]) -> dict[int, tuple[int, int]]:
    """The first offset and the end of each partition, open transactions included."""
    consumer = Consumer({**login, "group.id": "penstock", "isolation.level": "read_uncommitted"})
    try:
        return {number: _bounds(consumer, TopicPartition(topic, number)) for number in partitions}
    finally:
        consumer.close()


def _bounds(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """A partition that was made just now has no leader for a moment."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
        except KafkaException as failed:
            if failed.args[0].code() not in _NO_LEADER_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def read_to(login: Config, topic: str, spans: Mapping[int, tuple[int, int]], look: Callable[[Message], None], patience_s: float) -> None:
    """Show every committed record of the spans; waits for transactions that are still open there, TimeoutError when they stay so."""
    waiting = {number: end for number, (start, end) in spans.items() if start < end}
    if not waiting:
        return
    consumer = Consumer(
        {**login, "group.id": "penstock", "isolation.level": "read_committed", "enable.auto.commit": False, "enable.partition.eof": True}
    )
    deadline = time.monotonic() + patience_s
    try:
        consumer.assign([TopicPartition(topic, number, spans[number][0]) for number in waiting])
        while waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(f"transactions of topic {topic} have been open for {patience_s:.0f} s")
            for message in consumer.consume(10_000, timeout=0.05):
                number, failed = message.partition(), message.error()
                at = message.offset()
                assert number is not None
                assert at is not None
                if failed is None:
                    look(message)
                    at += 1
                elif failed.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(failed)
                if number in waiting and at >= waiting[number]:
                    del waiting[number]
    finally:
        consumer.close()

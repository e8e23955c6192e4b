"""The first records of a topic, read by a consumer that belongs to no group and leaves no trace."""

from __future__ import annotations

import json
import time
import uuid

from confluent_kafka import Consumer, TopicPartition

from penstock.source import SourceSpec
from penstock.source.kafka.topic import Admin, client


def first_records(spec: SourceSpec, most: int, wait_s: float) -> list[bytes]:
    """Values of at most so many records, each on one line; NameFault or SourceError where the topic or the broker is not there."""
    held = Admin(spec).topic().held
    ends = {number: end for number, (first, end) in held.items() if end > first}
    settings = {**client(spec), "group.id": f"penstock-infer-{uuid.uuid4().hex}", "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    found: list[bytes] = []
    try:
        consumer.assign([TopicPartition(spec.options["topic"], number, held[number][0]) for number in ends])
        deadline, open_parts = time.monotonic() + wait_s, set(ends)
        while open_parts and len(found) < most and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error():
                open_parts.discard(message.partition())
            elif message.value():
                found.append(_one_line(message.value() or b""))
    finally:
        consumer.close()
    return found


def _one_line(value: bytes) -> bytes:
    """A record of JSON may be printed over many lines; as a record that makes no difference."""
    if b"\n" not in value:
        return value
    try:
        return json.dumps(json.loads(value)).encode()
    except ValueError:
        return value

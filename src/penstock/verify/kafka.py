"""A topic, read as any careful program would: from its beginning, committed records only."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import SinkError
from penstock.sink.kafka.progress import PROGRESS, progress_key, read_progress
from penstock.sink.kafka.server import KafkaServer
from penstock.sink.options import EXACTLY_ONCE, delivery_of
from penstock.sink.spec import SinkSpec
from penstock.verify.changes import Delivered, ReadChange, followed
from penstock.verify.rows import Reader, Row, Values, value_of

_PATIENCE_S = 30.0
_EPOCH, _OP, _SINK = "penstock-epoch", "penstock-op", "penstock-sink"


def read_kafka(spec: SinkSpec, reader: Reader, generation: str, since: datetime, confirmed: int, *, marked_only: bool = False) -> Delivered:
    """What the topic holds as of the epoch that the sink's own ledger names, or the last that was confirmed where it has none.

    Records that are older than `since` are of an earlier generation of the view. An exactly-once sink takes the keys of that generation back,
    so there all of the topic is followed; elsewhere those records are left out and counted. Those of other sinks are left out;
    with `marked_only` so are records that do not say whose they are.
    """
    at = _own_place(spec, generation) if delivery_of(spec.options) == EXACTLY_ONCE else confirmed
    position = max(at, confirmed)  # what a ledger that was set back no longer names is still there to be read
    replaced = spec.complete and spec.key is None
    own_name = spec.name.encode()
    records = [record for record in _records(spec) if _headers(record).get(_SINK, b"" if marked_only else own_name) == own_name]
    begin = round(since.timestamp() * 1000)
    before = [record for record in records if record.timestamp()[1] < begin]
    own = [record for record in records if record.timestamp()[1] >= begin and _is_as_of(_epoch(record), position, only=replaced)]
    own.sort(key=lambda record: _epoch(record) or 0)  # within an epoch a partition keeps its order
    changes = [_change(record, spec, reader) for record in own]
    if spec.append_only or replaced:
        # An exactly-once sink takes the keys of an earlier generation back: its tombstones are no rows of this one.
        return Delivered(at, [change.row for change in changes if change.op == "+"], [], len(before))
    if delivery_of(spec.options) == EXACTLY_ONCE and spec.key is not None:
        rows, repeated = followed(reader, changes, [_change(record, spec, reader) for record in before])
        return Delivered(at, rows, repeated)
    rows, repeated = followed(reader, changes)
    return Delivered(at, rows, repeated, len(before))


def _is_as_of(epoch: int | None, position: int, *, only: bool) -> bool:
    return epoch in (None, position) if only else (epoch or 0) <= position


def _own_place(spec: SinkSpec, generation: str) -> int:
    """The last epoch of this generation by the sink's own ledger; -1 where there is none. Nothing is taken over."""
    server = KafkaServer(spec)
    partitions = server.partitions_of(PROGRESS)
    try:
        found = read_progress(server.login, progress_key(spec), partitions, _PATIENCE_S) if partitions else None
    except (KafkaException, TimeoutError) as error:
        raise SinkError(f"sink `{spec.name}`: its progress in topic {PROGRESS} cannot be read: {error}", hint=_HINT) from error
    return found.epoch if found is not None and found.generation == generation else -1


def _change(record: Message, spec: SinkSpec, reader: Reader) -> ReadChange:
    op = _headers(record).get(_OP, b"+").decode()
    place = f"{record.topic()} partition {record.partition()} offset {record.offset()}"
    value = record.value()
    if value is None:
        key = record.key()
        text = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
        return ReadChange("-", Row(text, place, _epoch(record)), _key_of(text, spec, reader))
    return ReadChange(op, Row(_row_text(value), place, _epoch(record)))


def _row_text(value: bytes | str) -> str:
    text = value if isinstance(value, str) else value.decode("utf-8", "replace")
    try:
        json.loads(text)
    except ValueError:
        return json.dumps(text)
    return text


def _key_of(text: str, spec: SinkSpec, reader: Reader) -> Values:
    """The values of a tombstone's key: the view's key as JSON, or the text of the one column that is the key."""
    names = spec.key or ()
    by_column = bool(spec.options.get("key") and names) and _object(text) != dict.fromkeys(names)  # NULL is known by the view's own key
    named: Mapping[str, Any] = {names[0]: text} if by_column else _object(text)
    kinds = {column.name: kind for column, kind in zip(reader.schema, reader.kinds, strict=True)}
    return tuple(value_of(kinds[column.name], named.get(name)) for name in names if (column := reader.schema.find(name)) is not None)


def _object(text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _epoch(record: Message) -> int | None:
    found = _headers(record).get(_EPOCH, b"")
    return int(found) if found.isdigit() else None


def _headers(record: Message) -> dict[str, bytes]:
    found: Any = record.headers() or []
    return {name: value if isinstance(value, bytes) else str(value).encode() for name, value in found if value is not None}


def _records(spec: SinkSpec) -> Iterator[Message]:
    """Every committed record there is now, partition by partition."""
    topic = spec.options["topic"]
    consumer = Consumer(
        {
            **KafkaServer(spec).login,
            "client.id": "penstock-verify",
            "group.id": f"penstock-verify-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        found = consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
        if found.error is not None:
            return
        open_ends = set(found.partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in open_ends])
        heard = time.monotonic()
        while open_ends:
            for message in consumer.consume(10_000, timeout=1.0):
                heard, error = time.monotonic(), message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_ends.discard(message.partition())
                elif not error.retriable():
                    raise KafkaException(error)
            if time.monotonic() - heard > _PATIENCE_S:
                raise SinkError(_place(spec) + ": nothing was read for 30 s", hint=_HINT)
    except KafkaException as error:
        raise SinkError(f"{_place(spec)}: {error.args[0].str()}", hint=_HINT) from error
    finally:
        consumer.close()


def _place(spec: SinkSpec) -> str:
    return f"sink `{spec.name}`: topic `{spec.options['topic']}` at {spec.options['servers']} cannot be read"


_HINT = "check that the broker runs and can be reached from here, and that this user may read the topic"

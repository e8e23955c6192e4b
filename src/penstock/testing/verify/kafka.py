"""A topic, read as any careful program would: from its beginning, committed records only."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.errors import SinkError
from penstock.sink.spec import SinkSpec
from penstock.testing.verify.changes import Delivered, Told, followed
from penstock.testing.verify.rows import Reader, Row, Values, value_of

_PATIENCE_S = 30.0
_EPOCH, _OP, _LIFE = "penstock-epoch", "penstock-op", "penstock-incarnation"


def read_kafka(spec: SinkSpec, reader: Reader, incarnation: str, since_ms: int, position: int | None) -> Delivered:
    """What the topic holds. `position` is the last epoch that was confirmed, None where the topic's own records tell it.

    Records of an earlier life of the view are told by their header, or by their time: that life ended before `since_ms`.
    """
    records = list(_records(spec))
    own = [record for record in records if _of_this_life(record, incarnation, since_ms)]
    epochs = [epoch for record in own if (epoch := _epoch(record)) is not None]
    reached = max(epochs, default=-1) if position is None else position
    own = [record for record in own if (_epoch(record) or 0) <= reached]
    if spec.complete:
        own = [record for record in own if _epoch(record) in (None, reached)]
    own.sort(key=lambda record: _epoch(record) or 0)  # within an epoch a partition keeps its order
    told = [_told(record, spec, reader) for record in own]
    if spec.append_only or (spec.complete and spec.key is None):
        return Delivered(reached, [change.row for change in told], [], len(records) - len(own))
    rows, repeated = followed(reader, told)
    return Delivered(reached, rows, repeated, len(records) - len(own))


def _told(record: Message, spec: SinkSpec, reader: Reader) -> Told:
    op = _headers(record).get(_OP, b"+").decode()
    place = f"{record.topic()} partition {record.partition()} offset {record.offset()}"
    value = record.value()
    if value is None:
        key = record.key()
        text = key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
        return Told("-", Row(text, place, _epoch(record)), _key_of(text, spec, reader))
    return Told(op, Row(_row_text(value), place, _epoch(record)))


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
    named: Mapping[str, Any] = {names[0]: text} if spec.options.get("key") and names else _object(text)
    kinds = {column.name: kind for column, kind in zip(reader.schema, reader.kinds, strict=True)}
    return tuple(value_of(kinds[column.name], named.get(name)) for name in names if (column := reader.schema.find(name)) is not None)


def _object(text: str) -> Mapping[str, Any]:
    try:
        read = json.loads(text)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _of_this_life(record: Message, incarnation: str, since_ms: int) -> bool:
    life = _headers(record).get(_LIFE)
    return life.decode() == incarnation if life is not None else record.timestamp()[1] >= since_ms


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
            **_login(spec),
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


def _login(spec: SinkSpec) -> dict[str, str | int | float | bool]:
    options = spec.options
    login: dict[str, str | int | float | bool] = {"bootstrap.servers": options["servers"], "log_level": 0, "client.id": "penstock-verify"}
    if "tls_ca" in options:
        login["ssl.ca.location"] = str(spec.folder / options["tls_ca"])
    if "user" in options:
        login |= {"sasl.mechanism": options.get("sasl", "PLAIN"), "sasl.username": options["user"], "sasl.password": options["password"]}
    protocol = ("sasl_" if "user" in options else "") + ("ssl" if "tls_ca" in options else "plaintext")
    return login | {"security.protocol": protocol}

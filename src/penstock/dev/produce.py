"""Replays records into a Kafka topic, as fast as the broker takes them or at a steady rate.

Delivery: at least once, in order within a partition. A record that the broker refuses ends the replay with an error; what
went before it stays in the topic.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.errors import AppFault, OptionFault, SinkError, Where

_LOG = logging.getLogger("penstock.dev.produce")
_ANSWER_SECONDS_MAX = 10.0
_DELIVERY_SECONDS_MAX = 60.0
_REPORT_EVERY_SECONDS = 1.0
# A steady rate is kept by sleeping between small groups of records, at most this long.
_PACE_SECONDS = 0.02


def produce(
    records: Iterable[bytes],
    servers: str,
    topic: str,
    rate: float | None = None,
    key: Callable[[bytes], bytes | None] | None = None,
    report: Callable[[int], None] = lambda sent: None,
    partitions: int | None = None,
) -> int:
    """Send every record to `topic` and return how many were acknowledged.

    `rate`: records per second, evenly; None: as fast as possible. `key`: makes a record's key. `report`: gets the count
    sent so far, once a second. `partitions`: make the topic with so many if it is absent. SinkError names the servers.
    """
    if rate is not None and rate <= 0:
        raise OptionFault(f"a rate of {rate} records per second is not possible", hint="give a number above 0, or none for full speed")
    _ready(servers, topic, partitions)
    delivery = _Delivery(servers, topic)
    started = reported = time.monotonic()
    sent = 0
    for record in records:
        if rate is not None:
            _pace(started, sent, rate, delivery)
        delivery.send(record, key(record) if key else None)
        sent += 1
        if time.monotonic() - reported >= _REPORT_EVERY_SECONDS:
            reported = time.monotonic()
            report(sent)
    delivery.finish()
    report(sent)
    return sent


def file_records(path: Path) -> Iterator[bytes]:
    """The records of a file: each line of JSON or text as it stands, each row of a CSV as its own line without the header."""
    try:
        with path.open("rb") as lines:
            if path.suffix == ".csv":
                yield from _csv_records(lines.read().decode("utf-8-sig"), path)
            else:
                for line in lines:
                    if line.strip():
                        yield line.rstrip(b"\r\n")
    except OSError as error:
        raise AppFault(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise AppFault(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def json_key(column: str) -> Callable[[bytes], bytes | None]:
    """A key maker: the value of `column` in a JSON record, or no key where there is none."""

    def of(record: bytes) -> bytes | None:
        try:
            value = json.loads(record).get(column)
        except (ValueError, AttributeError):
            return None
        return None if value is None else (value if isinstance(value, str) else json.dumps(value)).encode()

    return of


class _Delivery:
    """One producer, and the first failure that the broker reported for any of its records."""

    def __init__(self, servers: str, topic: str) -> None:
        self._servers = servers
        self._topic = topic
        self._failure: KafkaError | None = None
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            "compression.type": "lz4",
            "enable.idempotence": True,
            "delivery.timeout.ms": int(_DELIVERY_SECONDS_MAX * 1000),
            "log_level": 0,
        }
        self._producer = Producer(settings, logger=_LOG)

    def send(self, value: bytes, key: bytes | None) -> None:
        while True:
            self._check()
            try:
                self._producer.produce(self._topic, value=value, key=key, on_delivery=self._delivered)
            except BufferError:
                # The broker is slower than the records: wait for acknowledgements instead of keeping more.
                self._producer.poll(0.1)
            except KafkaException as error:
                raise self._error(error.args[0]) from error
            else:
                self._producer.poll(0)
                return

    def wait(self, seconds: float) -> None:
        self._producer.poll(seconds)
        self._check()

    def finish(self) -> None:
        left = self._producer.flush(_DELIVERY_SECONDS_MAX)
        self._check()
        if left:
            raise SinkError(f"kafka at {self._servers} did not acknowledge {left} records for `{self._topic}`", hint="is the broker still running?")

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise self._error(self._failure)

    def _error(self, error: KafkaError) -> SinkError:
        return SinkError(f"kafka at {self._servers} refuses a record for `{self._topic}`: {error.str()}")


def _pace(started: float, sent: int, rate: float, delivery: _Delivery) -> None:
    """Wait until record number `sent` is due, counted from the start, so that a slow moment is made up for."""
    due = started + sent / rate
    while (ahead := due - time.monotonic()) > 0:
        # At high rates a sleep per record would cost more than the record: let a few go together.
        if ahead < _PACE_SECONDS and rate * _PACE_SECONDS > 1:
            return
        delivery.wait(min(ahead, 0.1))


def _ready(servers: str, topic: str, partitions: int | None) -> None:
    """The broker answers, and the topic is made if so asked; a topic that exists keeps its partitions."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0}, logger=_LOG)
    try:
        known = admin.list_topics(timeout=_ANSWER_SECONDS_MAX).topics
        if partitions is not None and topic not in known:
            admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])[topic].result(_ANSWER_SECONDS_MAX)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return
        raise SinkError(f"kafka at {servers}: {error.args[0].str()}", hint="`penstock broker start` starts one for development") from error


def _csv_records(text: str, path: Path) -> Iterator[bytes]:
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        next(rows, None)
        for row in rows:
            line = io.StringIO(newline="")
            csv.writer(line).writerow(row)  # it quotes the marks that end its lines, so they must be those that values may hold
            yield line.getvalue().removesuffix("\r\n").encode()
    except csv.Error as error:
        raise AppFault(f"this is not csv that can be read: {error}", where=Where(str(path), rows.line_num)) from error

"""Delivers to a Kafka topic without transactions: at-least-once, or at-most-once where the place is confirmed before.

An epoch is there when every record of it is acknowledged by all replicas. An absent topic is made with the broker's defaults.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.change import Epoch
from penstock.crash_points import crash_point
from penstock.sink.kafka.progress import PROGRESS, ledger_of
from penstock.sink.kafka.records import Made, Records
from penstock.sink.kafka.server import BULK, PATIENCE_S, KafkaServer
from penstock.sink.spec import SinkSpec


class KafkaSink:
    """One producer, flushed once per epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        self._server = KafkaServer(spec)
        self._records = Records(spec)
        self._failure: KafkaError | None = None
        self._heard, self._waiting = 0.0, 0
        self._server.make_topic(self._server.topic)
        known = self._server.partitions_of(PROGRESS)
        self.ledger = ledger_of(spec, known) if known else ""  # not kept here; but it may have been, when more was promised
        self._producer = Producer({**self._server.login, **BULK, "message.timeout.ms": 60_000, "on_delivery": self._reported})

    def position(self, generation: str) -> int | None:
        return None

    def deliver(self, epoch: Epoch) -> None:
        self._send(epoch.epoch, self._records.of(epoch.changes))

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._send(epoch.epoch, self._records.of_complete(epoch, rows))

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(1)

    def _send(self, epoch: int, records: Made) -> None:
        self._failure, self._heard = None, time.monotonic()
        middle = len(records) // 2
        self._produce(epoch, records[:middle])
        crash_point("sink.mid-rows")
        self._produce(epoch, records[middle:])
        crash_point("sink.before-commit")
        while len(self._producer):
            self._producer.flush(0.5)
            self._check_progress()
        if self._failure is not None:
            raise self._server.error(self._failure)

    def _produce(self, epoch: int, records: Made) -> None:
        headers, topic, produce = self._records.headers(epoch), self._server.topic, self._producer.produce
        for op, key, value in records:
            while True:
                try:
                    produce(topic, value=value, key=key, headers=headers[op])
                    break
                except BufferError:
                    self._producer.poll(0.1)
                    self._check_progress()
                except KafkaException as error:
                    raise self._server.error(error.args[0]) from error

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        self._failure = self._failure or error

    def _check_progress(self) -> None:
        """Fewer records waiting, or other ones, is progress; without any for too long the epoch is given up."""
        waiting = len(self._producer)
        if waiting != self._waiting:
            self._waiting, self._heard = waiting, time.monotonic()
        elif time.monotonic() - self._heard > PATIENCE_S:
            self._producer.purge()
            self._producer.flush(1)
            raise self._server.silent(f"no record was acknowledged for {PATIENCE_S:.0f} s")

"""Delivers to a Kafka topic. At-least-once: an epoch is confirmed when every record of it is acknowledged by all replicas.

A record's value is the row as JSON; its key the view's key, or the column named by `key`. A row taken back in a keyed view
is a tombstone (no value); in a view without a key it is the row again, with the header `penstock-op` set to `-`. Every
record carries `penstock-epoch`. The order of changes with the same key is kept. An absent topic is made with the broker's defaults.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.change import Change, Epoch
from penstock.errors import SinkError
from penstock.sink.spec import SinkSpec

_PATIENCE_S = 9.0


class KafkaSink:
    """One producer, flushed once per epoch."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._topic = spec.options["topic"]
        self._column = spec.options.get("key")
        self._tombstones = spec.key is not None and self._column in (None, *(spec.key if len(spec.key) == 1 else ()))
        self._failure: KafkaError | None = None
        self._heard, self._waiting = 0.0, 0
        self._check_column()
        self._make_topic()
        self._producer = Producer(
            {
                **_login(spec),
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
                "compression.type": "lz4",
                "delivery.report.only.error": True,
            }
        )

    def position(self, incarnation: str) -> int | None:
        return None

    def deliver(self, epoch: Epoch) -> None:
        self._send(epoch.epoch, epoch.changes)

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        """Every row again; keyed rows that are gone are in the epoch's changes and become tombstones."""
        gone = [Change("-", self._view_key(change.row), change.row) for change in epoch.changes if change.op == "-" and self._tombstones]
        self._send(epoch.epoch, [*gone, *(Change("+", self._view_key(row), row) for row in rows)])

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(1)

    def _send(self, epoch: int, changes: Sequence[Change]) -> None:
        self._failure, self._heard = None, time.monotonic()
        headers = {op: [("penstock-epoch", str(epoch).encode()), ("penstock-op", op.encode())] for op in "+-"}
        for change in changes:
            value = None if change.op == "-" and self._tombstones else change.row.encode()
            self._produce(self._record_key(change), value, headers[change.op])
        while len(self._producer):
            self._producer.flush(0.5)
            self._check_progress()
        if self._failure is not None:
            raise self._error(self._failure)

    def _produce(self, key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes]]) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value=value, key=key, headers=headers, on_delivery=self._reported)  # type: ignore[arg-type]
                return
            except BufferError:
                self._producer.poll(0.1)
                self._check_progress()
            except KafkaException as error:
                raise self._error(error.args[0]) from error

    def _reported(self, error: KafkaError | None, message: Message) -> None:
        self._failure = self._failure or error

    def _check_progress(self) -> None:
        """Fewer records waiting, or other ones, is progress; without any for too long the epoch is given up."""
        waiting = len(self._producer)
        if waiting != self._waiting:
            self._waiting, self._heard = waiting, time.monotonic()
        elif time.monotonic() - self._heard > _PATIENCE_S:
            self._producer.purge()
            self._producer.flush(1)
            raise SinkError(f"{self._place()}: no record was acknowledged for {_PATIENCE_S:.0f} s", hint=_HINT)

    def _record_key(self, change: Change) -> bytes | None:
        if self._column is None:
            return None if change.key is None else change.key.encode()
        value = json.loads(change.row).get(self._column)
        return None if value is None else (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode()

    def _view_key(self, row: str) -> str | None:
        if self._spec.key is None or self._column is not None:
            return None
        values = json.loads(row)
        return json.dumps({column: values[column] for column in self._spec.key}, ensure_ascii=False, separators=(",", ":"))

    def _check_column(self) -> None:
        if self._column is not None:
            found = self._spec.schema.find(self._column)
            if found is None:
                raise SinkError(
                    f"sink `{self._spec.name}`: view `{self._spec.view}` has no column `{self._column}` to take the key from",
                    hint=f"it has: {', '.join(self._spec.schema.names)}",
                )
            self._column = found.name

    def _make_topic(self) -> None:
        admin = AdminClient(_login(self._spec))
        try:
            if self._topic not in admin.list_topics(timeout=_PATIENCE_S).topics:
                admin.create_topics([NewTopic(self._topic)])[self._topic].result(_PATIENCE_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise self._error(error.args[0]) from error

    def _error(self, error: KafkaError) -> SinkError:
        return SinkError(f"{self._place()}: {error.str()}", hint=_HINT)

    def _place(self) -> str:
        return f"sink `{self._spec.name}` cannot write to topic `{self._topic}` at {self._spec.options['servers']}"


_HINT = "check that the broker runs and can be reached from here, and that this user may write to the topic"


def _login(spec: SinkSpec) -> dict[str, str | int | float | bool]:
    options = spec.options
    login: dict[str, str | int | float | bool] = {"bootstrap.servers": options["servers"], "log_level": 0, "client.id": f"penstock-{spec.name}"}
    if "tls_ca" in options:
        login["ssl.ca.location"] = str(spec.folder / options["tls_ca"])
    if "user" in options:
        login |= {"sasl.mechanism": options.get("sasl", "PLAIN"), "sasl.username": options["user"], "sasl.password": options["password"]}
    protocol = ("sasl_" if "user" in options else "") + ("ssl" if "tls_ca" in options else "plaintext")
    return login | {"security.protocol": protocol}

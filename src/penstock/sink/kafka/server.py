"""How a sink reaches its brokers: login, topics, and errors in its own words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.errors import LoginError, OutageError, SinkError
from penstock.sink.spec import SinkSpec

PATIENCE_S = 9.0
HINT = "check that the broker runs and can be reached from here, and that this user may write to the topic"
Config = dict[str, str | int | float | bool]
_LOGIN = {KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED}
_PASSES = {
    *(KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT_QUEUE),
    *(KafkaError._RESOLVE, KafkaError._WAIT_COORD, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError.LEADER_NOT_AVAILABLE),
    *(KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.REQUEST_TIMED_OUT, KafkaError.BROKER_NOT_AVAILABLE, KafkaError.NETWORK_EXCEPTION),
    *(KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
    *(KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND, KafkaError.CONCURRENT_TRANSACTIONS),
    KafkaError.KAFKA_STORAGE_ERROR,
}
# A producer that fills its batches: rows of an epoch come all at once, and are flushed at its end.
BULK: Config = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 100,
    "compression.type": "lz4",
    "delivery.report.only.error": True,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 262_144,
}


def passes(error: KafkaError) -> bool:
    """Whether the broker is away or busy, so that the same may go well later."""
    return bool(error.retriable()) or error.code() in _PASSES


class KafkaServer:
    """The brokers and the topic of one sink."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self.topic = spec.options["topic"]
        self._refused: KafkaError | None = None

    @property
    def login(self) -> Config:
        return login(self._spec.options, self._spec.folder, self._spec.name)

    def partitions_of(self, topic: str) -> int:
        """How many partitions `topic` has, 0: there is no such topic."""
        try:  # all are listed: asking for one by its name may make it
            found = self._admin().list_topics(timeout=PATIENCE_S).topics.get(topic)
        except KafkaException as error:
            raise self.error(error.args[0], topic) from error
        return len(found.partitions) if found is not None else 0

    def make_topic(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> int:
        """How many partitions `topic` has; an absent one is made, with the broker's defaults where nothing is set."""
        admin = self._admin()
        try:
            if topic not in admin.list_topics(timeout=PATIENCE_S).topics:
                made = NewTopic(topic, num_partitions=partitions or -1, config=dict(config or {}))
                try:
                    admin.create_topics([made])[topic].result(PATIENCE_S)
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
            deadline = time.monotonic() + PATIENCE_S
            while not (found := admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions):
                if time.monotonic() > deadline:
                    raise self.silent("its partitions have no leader", topic)
                time.sleep(0.02)
            return len(found)
        except KafkaException as error:
            raise self.error(error.args[0], topic) from error

    def _admin(self) -> AdminClient:
        settings: dict[str, Any] = {**self.login, "error_cb": self._heard}
        return AdminClient(settings)

    def _heard(self, error: KafkaError) -> None:
        """What the client says beside its answers: a login that is refused looks like silence in those."""
        if error.code() in _LOGIN:
            self._refused = error

    def error(self, error: KafkaError, topic: str | None = None) -> SinkError:
        """What the client's error means: a login that is refused, an outage, or something that the broker will not take."""
        if self._refused is not None or error.code() in _LOGIN:
            return LoginError(f"{self._cannot(topic)}: it refuses the login: {(self._refused or error).str()}", hint=HINT)
        if passes(error):
            return self.silent(error.str(), topic)
        return SinkError(f"{self._cannot(topic)}: {error.str()}", hint=HINT)

    def silent(self, why: str, topic: str | None = None) -> OutageError:
        return OutageError(f"{self._cannot(topic)}: {why}", hint=HINT)

    def _cannot(self, topic: str | None) -> str:
        return f"sink `{self._spec.name}` cannot write to topic `{topic or self.topic}` of Kafka at {self._spec.options['servers']}"


def login(options: Mapping[str, str], folder: Path, name: str) -> Config:
    """The settings of a client, from a sink's options."""
    found: Config = {"bootstrap.servers": options["servers"], "log_level": 0, "client.id": f"penstock-{name}"}
    if "tls_ca" in options:
        found["ssl.ca.location"] = str(folder / options["tls_ca"])
    if "user" in options:
        found |= {"sasl.mechanism": options.get("sasl", "PLAIN"), "sasl.username": options["user"], "sasl.password": options["password"]}
    protocol = ("sasl_" if "user" in options else "") + ("ssl" if "tls_ca" in options else "plaintext")
    return found | {"security.protocol": protocol}

"""How a sink reaches its brokers: login, topics, and errors in its own words."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.errors import SinkError
from penstock.sink.spec import SinkSpec

PATIENCE_S = 9.0
HINT = "check that the broker runs and can be reached from here, and that this user may write to the topic"
Config = dict[str, str | int | float | bool]
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


class KafkaServer:
    """The brokers and the topic of one sink."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self.topic = spec.options["topic"]

    @property
    def login(self) -> Config:
        options = self._spec.options
        login: Config = {"bootstrap.servers": options["servers"], "log_level": 0, "client.id": f"penstock-{self._spec.name}"}
        if "tls_ca" in options:
            login["ssl.ca.location"] = str(self._spec.folder / options["tls_ca"])
        if "user" in options:
            login |= {"sasl.mechanism": options.get("sasl", "PLAIN"), "sasl.username": options["user"], "sasl.password": options["password"]}
        protocol = ("sasl_" if "user" in options else "") + ("ssl" if "tls_ca" in options else "plaintext")
        return login | {"security.protocol": protocol}

    def partitions_of(self, topic: str) -> int:
        """How many partitions `topic` has, 0: there is no such topic."""
        try:  # all are listed: asking for one by its name may make it
            found = AdminClient(self.login).list_topics(timeout=PATIENCE_S).topics.get(topic)
        except KafkaException as error:
            raise self.error(error.args[0], topic) from error
        return len(found.partitions) if found is not None else 0

    def make_topic(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> int:
        """How many partitions `topic` has; an absent one is made, with the broker's defaults where nothing is said."""
        admin = AdminClient(self.login)
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
                    raise self.refused("its partitions have no leader", topic)
                time.sleep(0.02)
            return len(found)
        except KafkaException as error:
            raise self.error(error.args[0], topic) from error

    def error(self, error: KafkaError, topic: str | None = None) -> SinkError:
        return self.refused(error.str(), topic)

    def refused(self, why: str, topic: str | None = None) -> SinkError:
        servers = self._spec.options["servers"]
        return SinkError(f"sink `{self._spec.name}` cannot write to topic `{topic or self.topic}` at {servers}: {why}", hint=HINT)

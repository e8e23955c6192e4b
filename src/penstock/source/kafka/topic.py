"""What a broker says of a topic: that it is there, which one it is, and which records it still holds.

Asked of the broker itself, in seconds: Spark would try for a minute before it says that a topic is not there.
"""

from __future__ import annotations

import difflib
import logging
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from penstock.errors import LoginError, NameFault, OutageError, SourceError
from penstock.source import SourceSpec

_LOG = logging.getLogger("penstock.source.kafka.source")
_ANSWER_S = 8.0


@dataclass(frozen=True)
class Topic:
    """`held` maps each partition to the first offset that it still holds and the one after its last, as a reader of committed
    records sees it: an open transaction, and what follows it, is not there yet.

    `made` is the broker's own name of this very topic: one that is recreated under the same name has another.
    """

    name: str
    made: str
    held: dict[int, tuple[int, int]]


class Admin:
    """The broker behind a stream, asked for its topic."""

    def __init__(self, spec: SourceSpec, answer_s: float = _ANSWER_S) -> None:
        self._spec = spec
        self._answer_s = answer_s
        self._topic = spec.options["topic"]
        self._trouble = ""
        self._refused = False
        settings: dict[str, Any] = {**client(spec), "error_cb": self._heard, "log_level": 0}
        self._client = AdminClient(settings, logger=_LOG)

    def check(self) -> str:
        """The topic is there; the broker's own name of it. NameFault: it is not. SourceError: nobody answers."""
        found, _ = self._described()
        return found

    def topic(self) -> Topic:
        """What the topic holds now."""
        made, numbers = self._described()
        parts = [TopicPartition(self._topic, number) for number in numbers]
        first = self._offsets(parts, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        end = self._offsets(parts, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return Topic(self._topic, made, {number: (first[number], end[number]) for number in numbers})

    def _described(self) -> tuple[str, list[int]]:
        self._refused, self._trouble = False, ""  # what was heard of the last question says nothing of this one
        try:
            found = self._awaited(self._client.describe_topics(TopicCollection([self._topic]), request_timeout=self._answer_s)[self._topic])
        except KafkaException as error:
            if error.args[0].code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                raise self._missing() from error
            raise self._silent(error.args[0].str()) from error
        return str(found.topic_id), [part.id for part in found.partitions]

    def _offsets(self, parts: list[TopicPartition], which: OffsetSpec) -> dict[int, int]:
        try:
            asked = self._client.list_offsets(
                dict.fromkeys(parts, which), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._answer_s
            )
            return {part.partition: int(self._awaited(answer).offset) for part, answer in asked.items()}
        except KafkaException as error:
            raise self._silent(error.args[0].str()) from error

    def _awaited(self, answer: Future[Any]) -> Any:
        """What the broker answers; a refused login is reported at once, for the client would try again until the time is over."""
        deadline = time.monotonic() + self._answer_s + 1
        while not answer.done() and not self._refused and time.monotonic() < deadline:
            self._client.poll(0.01)
        if not answer.done():
            raise self._silent("it does not answer in time")
        return answer.result()

    def _heard(self, error: KafkaError) -> None:
        self._refused = self._refused or error.code() == KafkaError._AUTHENTICATION
        if not self._trouble or error.code() == KafkaError._AUTHENTICATION:
            self._trouble = error.str()

    def _silent(self, reason: str) -> SourceError:
        server = f"stream `{self._spec.name}`: Kafka at {self._spec.options['servers']}"
        if self._refused:
            return LoginError(f"{server} refuses the login: {self._trouble}", hint="are `user`, `password`, `sasl` and `tls_ca` right?")
        return OutageError(f"{server} does not answer: {self._trouble or reason}", hint="is the broker running, and can it be reached from here?")

    def _missing(self) -> NameFault:
        try:
            known = [name for name in self._client.list_topics(timeout=self._answer_s).topics if not name.startswith("__")]
        except KafkaException:
            known = []
        near = difflib.get_close_matches(self._topic, known, n=1)
        listed = f"it has {', '.join(sorted(known)[:10])}" if known else "it has no topics"
        return NameFault(
            f"stream `{self._spec.name}`: topic `{self._topic}` does not exist at {self._spec.options['servers']}",
            hint=f"did you mean `{near[0]}`?"
            if near
            else f"{listed}; `penstock produce FILE --servers {self._spec.options['servers']} --topic {self._topic} --partitions 1` makes one",
        )


def client(spec: SourceSpec) -> dict[str, str | int]:
    """The settings of a client in Python, from the same options as Spark's."""
    options = spec.options
    settings: dict[str, str | int] = {"bootstrap.servers": options["servers"], "socket.connection.setup.timeout.ms": 5000}
    authority = options.get("tls_ca")
    if authority:
        settings["ssl.ca.location"] = str(spec.folder.absolute() / authority)
    if "user" in options:
        settings |= {"sasl.mechanism": options.get("sasl", "PLAIN"), "sasl.username": options["user"], "sasl.password": options["password"]}
    protocol = ("SASL_" if "user" in options else "") + ("SSL" if authority else "PLAINTEXT")
    return {**settings, "security.protocol": protocol}

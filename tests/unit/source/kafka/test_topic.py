"""What a broker says is asked again each time."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock.errors import SourceError
from penstock.schema import Schema
from penstock.source import SourceSpec
from penstock.source.kafka.topic import Admin

SPEC = SourceSpec("clicks", {"servers": "127.0.0.1:1", "topic": "t"}, Schema(()), Path("."), Path("."))


def test_a_login_that_was_refused_once_may_be_taken_later() -> None:
    admin = Admin(SPEC, 0.1)
    refused = KafkaError(KafkaError._AUTHENTICATION)
    silent: Future[Any] = Future()
    client: Any = SimpleNamespace(describe_topics=lambda *_, **__: {"t": silent}, poll=lambda _: admin._heard(refused))
    admin._client = client
    with pytest.raises(SourceError, match="refuses the login"):
        admin.check()
    waited: Future[Any] = Future()
    described = SimpleNamespace(topic_id="id", partitions=[])
    client.describe_topics, client.poll = lambda *_, **__: {"t": waited}, lambda _: waited.set_result(described)
    assert admin.check() == "id"

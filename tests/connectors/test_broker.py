from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.dev.broker import Broker, free_port
from penstock.dev.produce import file_records, json_key, produce
from penstock.errors import OptionFault, SinkError, ToolError


def consumed(servers: str, topic: str, count: int) -> list[tuple[int, bytes | None, bytes | None]]:
    """(partition, key, value) of the first `count` records, read as a stranger would."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[tuple[int, bytes | None, bytes | None]] = []
    deadline = time.monotonic() + 20
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(1000, timeout=0.5):
            key, value = message.key(), message.value()
            found.append((message.partition() or 0, key if isinstance(key, bytes) else None, value if isinstance(value, bytes) else None))
    consumer.close()
    return found


def test_every_record_arrives_once_and_a_key_keeps_its_partition(kafka: str) -> None:
    topic = uuid.uuid4().hex
    records = [b'{"k": "%d", "n": %d}' % (n % 7, n) for n in range(20_000)]
    assert produce(records, kafka, topic, key=json_key("k"), partitions=3) == 20_000
    found = consumed(kafka, topic, 20_000)
    assert sorted(value for _, _, value in found if value) == sorted(records)
    assert len({partition for partition, _, _ in found}) > 1
    places: dict[bytes | None, set[int]] = {}
    for partition, key, _ in found:
        places.setdefault(key, set()).add(partition)
    assert all(len(partitions) == 1 for partitions in places.values())


def test_a_rate_is_kept_from_the_first_record_to_the_last(kafka: str) -> None:
    counts: list[int] = []
    started = time.monotonic()
    produce((b"%d" % n for n in range(1500)), kafka, uuid.uuid4().hex, rate=1000, report=counts.append)
    took = time.monotonic() - started
    assert 1.4 < took < 4
    assert counts[-1] == 1500
    assert 500 < counts[0] < 1500


def test_a_rate_of_nothing_is_refused() -> None:
    with pytest.raises(OptionFault):
        produce([], "127.0.0.1:1", "t", rate=0)


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.dev.produce._ANSWER_SECONDS_MAX", 1.0)
    port = free_port()
    with pytest.raises(SinkError, match=f"127.0.0.1:{port}"):
        produce([b"x"], f"127.0.0.1:{port}", "t")


def test_a_record_that_is_too_big_ends_the_replay_with_an_error(kafka: str) -> None:
    with pytest.raises(SinkError, match="refuses a record"):
        produce([b"x" * 2_000_000], kafka, uuid.uuid4().hex, partitions=1)


def test_the_records_of_a_file_are_its_lines_and_of_a_csv_its_rows(tmp_path: Path) -> None:
    lines = tmp_path / "a.json"
    lines.write_bytes('{"a": "é"}\r\n\n{"a": 2}'.encode())
    assert list(file_records(lines)) == ['{"a": "é"}'.encode(), b'{"a": 2}']
    rows = tmp_path / "a.csv"
    rows.write_text('a,b\n1,"x, ""y"""\n2,z\n')
    assert list(file_records(rows)) == [b'1,"x, ""y"""', b"2,z"]


def test_a_broker_keeps_its_data_from_one_start_to_the_next(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    try:
        servers = broker.start(port=0).servers
        assert broker.start(port=0).servers == servers, "it runs already"
        produce([b"kept"], servers, "kept", partitions=1)
        assert broker.stop()
        assert not broker.status().running
        assert not broker.stop()
        again = Broker(tmp_path).start(port=0)
        assert [value for _, _, value in consumed(again.servers, "kept", 1)] == [b"kept"]
    finally:
        broker.stop()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ToolError, match=f"port {port} is in use"):
            Broker(tmp_path).start(port=port)


def test_a_process_that_only_inherited_the_number_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "kafka.Kafka"], stdin=subprocess.PIPE) as stranger:
        folder = tmp_path / "broker"
        folder.mkdir()
        (folder / "pid").write_text(str(stranger.pid))
        broker = Broker(tmp_path)
        assert not broker.status().running
        assert not broker.stop()
        os.kill(stranger.pid, 0)
        stranger.communicate(b"\n")


def test_without_java_the_broker_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(ToolError, match="Java"):
        Broker(tmp_path).start(port=0)

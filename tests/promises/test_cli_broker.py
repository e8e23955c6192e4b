"""`broker` and `produce` as their users call them, with a real Kafka."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer


def penstock(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def topic(servers: str, name: str, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """The first records of a topic, as key and value."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([name])
        return [(record.key(), record.value()) for record in consumer.consume(count, timeout=30.0)]
    finally:
        consumer.close()


def test_a_broker_starts_takes_a_file_and_stops(tmp_path: Path) -> None:
    state = tmp_path / "state"
    file = tmp_path / "clicks.json"
    file.write_text('{"id": 1, "who": "Zoë"}\nnot json\n{"id": 2, "who": null}\n', encoding="utf-8")
    assert penstock("broker", "status", "--state", state).returncode == 1
    started = penstock("broker", "start", "--state", state, "--port", "0")
    assert started.returncode == 0, started.stderr
    servers = started.stdout.strip()
    try:
        assert json.loads(penstock("broker", "status", "--state", state, "--json").stdout) | {"pid": 0} == {
            "running": True,
            "servers": servers,
            "pid": 0,
        }
        sent = penstock("produce", file, "--servers", servers, "--topic", "clicks", "--key", "who", "--rate", "50", "--partitions", "1")
        assert (sent.returncode, sent.stdout) == (0, ""), sent.stderr
        assert sent.stderr == "sent 3 rows to clicks\n"
        assert topic(servers, "clicks", 3) == [
            ("Zoë".encode(), '{"id": 1, "who": "Zoë"}'.encode()),
            (None, b"not json"),
            (None, b'{"id": 2, "who": null}'),
        ]
    finally:
        stopped = penstock("broker", "stop", "--state", state)
    assert stopped.stderr == "stopped\n"
    assert penstock("broker", "status", "--state", state).stdout == "not running\n"


def test_servers_that_do_not_answer_are_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}\n")
    done = penstock("produce", tmp_path / "a.json", "--servers", "127.0.0.1:1", "--topic", "t")
    assert done.returncode == 3
    assert "127.0.0.1:1" in done.stderr
    assert "penstock broker start" in done.stderr

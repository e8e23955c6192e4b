"""The three guarantees differ as they should: real drivers, killed at the named points, over a real broker, Postgres and files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Message

from penstock.sink.kafka.progress import bounds, read_to
from penstock.testing.postgres import TemporaryPostgres

ROWS, EPOCHS = 5, 3
WANTED = Counter(range(ROWS * EPOCHS))
LOST_OR_REPEATED = ROWS  # the rows of the one epoch that the kills hit
APP = """
CREATE STREAM numbers (n BIGINT) WITH (connector = 'files', path = 'input', format = 'json');
CREATE MATERIALIZED VIEW copy AS SELECT n FROM numbers;
"""
GUARANTEES = ("at-most-once", "at-least-once", "exactly-once")
CONNECTORS = ("kafka", "postgres", "files")
# One sink after the other, in the order of declaration, is hit in epoch 0. The number counts the sinks that come before it in the same run:
# of at-least-once the one that was hit last comes again, of the others none.
KILLS = (
    *("sink.before-begin:1",) * 3,
    "sink.after-commit:1",
    *("sink.after-commit:2",) * 2,
    "sink.before-commit:2",
    "sink.after-commit:1",
    *("sink.before-commit:1", "sink.after-commit:1") * 2,
)
ENVIRONMENT = {
    **os.environ,
    "PENSTOCK_MASTER": "local[1]",
    "PENSTOCK_DRIVER_MEMORY": "1g",
    "PENSTOCK_FAST_START": "true",
    "PENSTOCK_BATCH_FILES_MAX": "1",
}


def run(app: Path, kill_at: str | None = None) -> None:
    """Run the app to its end, or to the point at which it is to die."""
    environment = {**ENVIRONMENT, "PENSTOCK_KILL_AT": kill_at} if kill_at else ENVIRONMENT
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "run", str(app), "--drain"], env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == (-signal.SIGKILL if kill_at else 0), f"{kill_at}: {done.returncode} {done.stdout}\n{done.stderr}"


def in_topic(servers: str, topic: str) -> Counter[int]:
    found: Counter[int] = Counter()

    def look(message: Message) -> None:
        found[json.loads(message.value() or b"")["n"]] += 1

    login: dict[str, str | int | float | bool] = {"bootstrap.servers": servers}
    read_to(login, topic, bounds(login, topic, [0, 1]), look, 60)
    return found


def in_table(server: TemporaryPostgres, database: str, table: str) -> Counter[int]:
    with server.connect(database) as connection:
        return Counter(int(str(n)) for (n,) in connection.execute(f"SELECT n FROM {table}".encode()))


def in_folder(folder: Path) -> Counter[int]:
    return Counter(json.loads(line)["n"] for path in folder.glob("epoch=*/*.json") for line in path.read_text(encoding="utf-8").splitlines())


def listed(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = '{value}'" for name, value in options.items())


@pytest.mark.timeout(900)
def test_killed_at_the_named_points_at_most_once_loses_at_least_once_repeats_and_exactly_once_does_neither(
    tmp_path: Path, kafka: str, postgres_server: TemporaryPostgres, database: str
) -> None:
    topic = uuid.uuid4().hex
    app = tmp_path / "app"
    (app / "input").mkdir(parents=True)
    for number in range(EPOCHS):
        lines = [f'{{"n":{n}}}\n' for n in range(number * ROWS, (number + 1) * ROWS)]
        (app / "input" / f"{number}.json").write_text("".join(lines), encoding="utf-8")
        os.utime(app / "input" / f"{number}.json", (1_700_000_000 + number, 1_700_000_000 + number))
    text = APP
    for guarantee in GUARANTEES:
        name = guarantee.replace("-", "_")
        places: dict[str, dict[str, object]] = {
            "kafka": {"servers": kafka, "topic": f"{topic}-{name}"},
            "postgres": {**postgres_server.parameters(database), "table": name},
            "files": {"path": name},
        }
        for connector in CONNECTORS:
            options = {"connector": connector, **places[connector], "delivery": guarantee}
            text += f"CREATE SINK {name}_{connector} FROM copy WITH ({listed(options)});\n"
    (app / "app.sql").write_text(text, encoding="utf-8")

    for kill_at in KILLS:
        run(app, kill_at)
    run(app)

    figures: dict[str, tuple[int, int]] = {}
    for guarantee in GUARANTEES:
        name = guarantee.replace("-", "_")
        held = {"kafka": in_topic(kafka, f"{topic}-{name}"), "postgres": in_table(postgres_server, database, name), "files": in_folder(app / name)}
        for connector, found in held.items():
            figures[f"{guarantee} {connector}"] = ((WANTED - found).total(), (found - WANTED).total())
    assert figures == {
        **{f"at-most-once {connector}": (LOST_OR_REPEATED, 0) for connector in CONNECTORS},
        **{f"at-least-once {connector}": (0, LOST_OR_REPEATED) for connector in CONNECTORS},
        **{f"exactly-once {connector}": (0, 0) for connector in CONNECTORS},
    }

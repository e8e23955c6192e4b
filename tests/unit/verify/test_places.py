"""What `verify` takes for rows in a topic, and for waiting in the store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.schema import Column, Schema
from penstock.sink.spec import SinkSpec
from penstock.store.sqlite import SqliteStore
from penstock.verify import kafka
from penstock.verify.rows import Reader
from penstock.verify.tables import waiting

BEGAN = datetime(2024, 5, 1, tzinfo=UTC)
CLOSED = Schema((Column("k", "string"), Column("n", "int")))

OWNERS = {"mine": "closed", "theirs": "another", "unmarked": None}


def record(value: str | None, key: str, ms: int, epoch: int, op: str = "+", sink: str | None = None) -> Any:
    headers = [("penstock-epoch", str(epoch).encode()), ("penstock-op", op.encode())]
    headers += [] if sink is None else [("penstock-sink", sink.encode())]
    return SimpleNamespace(
        value=lambda: None if value is None else value.encode(),
        key=lambda: key.encode(),
        timestamp=lambda: (1, round(BEGAN.timestamp() * 1000) + ms),
        headers=lambda: headers,
        topic=lambda: "closed",
        partition=lambda: 0,
        offset=lambda: ms,
    )


def test_a_tombstone_for_a_row_of_an_earlier_life_is_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exactly-once topic of a keyed view that only adds, in its second consumed."""
    records = [
        record('{"k":"old","n":1}', '{"k":"old"}', -10, 0),
        record(None, '{"k":"old"}', 10, 0, "-"),
        record('{"k":"new","n":2}', '{"k":"new"}', 11, 0),
    ]
    monkeypatch.setattr(kafka, "_records", lambda spec: iter(records))
    monkeypatch.setattr(kafka, "_own_place", lambda spec, generation: 0)
    options = {"connector": "kafka", "topic": "closed", "delivery": "exactly-once"}
    spec = SinkSpec("closed", "closed", options, CLOSED, ("k",), True, False, Path("."), "app")
    held = kafka.read_kafka(spec, Reader(CLOSED, ("k",)), "generation", BEGAN, 0)
    assert [row.text for row in held.rows] == ['{"k":"new","n":2}']
    assert (held.epoch, held.repeated, held.earlier) == (0, [], 1)


@pytest.mark.parametrize(("marked_only", "rows"), [(False, ["mine", "unmarked"]), (True, ["mine"])])
def test_of_a_shared_topic_only_the_sinks_own_records_are_read(monkeypatch: pytest.MonkeyPatch, marked_only: bool, rows: list[str]) -> None:
    records = [record(f'{{"k":"{name}","n":1}}', f'{{"k":"{name}"}}', ms, 0, sink=sink) for ms, (name, sink) in enumerate(OWNERS.items())]
    monkeypatch.setattr(kafka, "_records", lambda spec: iter(records))
    monkeypatch.setattr(kafka, "_own_place", lambda spec, generation: 0)
    options = {"connector": "kafka", "topic": "closed", "delivery": "exactly-once"}
    spec = SinkSpec("closed", "closed", options, CLOSED, ("k",), False, False, Path("."), "app")
    held = kafka.read_kafka(spec, Reader(CLOSED, ("k",)), "generation", BEGAN, 0, marked_only=marked_only)
    assert [row.text for row in held.rows] == [f'{{"k":"{name}","n":1}}' for name in rows]


@pytest.mark.parametrize(("at", "rows"), [(1, ["a", "b"]), (0, ["a"]), (-1, ["a"])], ids=["ahead of the store", "as confirmed", "set back"])
def test_an_exactly_once_topic_is_read_as_far_as_its_own_ledger_says(monkeypatch: pytest.MonkeyPatch, at: int, rows: list[str]) -> None:
    """A store that was restored from an older copy does not know of what is there: `run` refuses that, so it must not look equal."""
    records = [record(f'{{"k":"{name}","n":1}}', f'{{"k":"{name}"}}', epoch, epoch) for epoch, name in enumerate("ab")]
    monkeypatch.setattr(kafka, "_records", lambda spec: iter(records))
    monkeypatch.setattr(kafka, "_own_place", lambda spec, generation: at)
    options = {"connector": "kafka", "topic": "closed", "delivery": "exactly-once"}
    spec = SinkSpec("closed", "closed", options, CLOSED, ("k",), False, False, Path("."), "app")
    held = kafka.read_kafka(spec, Reader(CLOSED, ("k",)), "generation", BEGAN, 0)
    assert (held.epoch, [json.loads(row.text)["k"] for row in held.rows]) == (at, rows)


def test_a_tombstone_for_a_null_key_takes_its_row_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a column as key NULL is known by the view's own key, for a record without a key takes nothing back."""
    records = [record('{"k":null,"n":1}', '{"k":null}', 0, 0), record(None, '{"k":null}', 1, 1, "-")]
    monkeypatch.setattr(kafka, "_records", lambda spec: iter(records))
    monkeypatch.setattr(kafka, "_own_place", lambda spec, generation: 1)
    options = {"connector": "kafka", "topic": "closed", "delivery": "exactly-once", "key": "k"}
    spec = SinkSpec("closed", "closed", options, CLOSED, ("k",), False, False, Path("."), "app")
    assert kafka.read_kafka(spec, Reader(CLOSED, ("k",)), "generation", BEGAN, 1).rows == []


def test_only_epochs_of_the_view_itself_wait_for_its_sink(tmp_path: Path) -> None:
    """A job commits epochs in which a view does not change: nothing of them is to be delivered."""
    store = SqliteStore(tmp_path / "results.db")
    fence = store.take_over("job", "generation").fence
    for epoch in range(4):
        with store.open_epoch("job", "generation", fence, epoch) as writer:
            if epoch in (0, 2):
                writer.append("view", ['{"n":1}'])
    store.close()
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:

        def fetch(text: str, *values: object) -> list[tuple[Any, ...]]:
            return connection.execute(text, values).fetchall()

        assert [waiting(fetch, "view", "generation", after) for after in (-1, 0, 2)] == [2, 1, 0]
        assert waiting(fetch, "view", "another generation", -1) == 0

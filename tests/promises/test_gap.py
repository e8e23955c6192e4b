"""Records that a real broker deleted before a view read them, and topics that are not there."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from penstock.dev.produce import produce
from penstock.errors import GapError, NameFault
from penstock.observe.request import RunRequest
from penstock.testing.trial import Trial, Watched, eventually


def app(trial: Trial, servers: str, topic: str) -> None:
    trial.write(
        "app.sql",
        f"""
        CREATE STREAM clicks (n INT) WITH (connector = 'kafka', servers = '{servers}', topic = '{topic}');
        CREATE MATERIALIZED VIEW copied AS SELECT n FROM clicks;
        CREATE MATERIALIZED VIEW most AS SELECT max(n) AS n FROM copied;
        """,
    )


def of_evens(trial: Trial, servers: str, topic: str) -> None:
    """The same app with another meaning, so that its view starts over."""
    app(trial, servers, topic)
    text = (trial.folder / "app.sql").read_text(encoding="utf-8").replace("SELECT n FROM clicks", "SELECT n FROM clicks WHERE n % 2 = 0")
    trial.write("app.sql", text)


def sent(servers: str, topic: str, numbers: range) -> None:
    produce((json.dumps({"n": number}).encode() for number in numbers), servers, topic, partitions=1)


def deleted(servers: str, topic: str, end: int) -> None:
    """The broker forgets what is before `end`, as retention would have it."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.delete_records([TopicPartition(topic, 0, end)])[TopicPartition(topic, 0)].result(10)


def drained(trial: Trial, *accepted: str) -> None:
    with trial.engine() as engine:
        engine.run(RunRequest(drain=True, report=Watched(), accept_gaps=accepted))


def held(trial: Trial) -> list[int]:
    return sorted(row["n"] for row in trial.rows("copied"))


def noted(trial: Trial) -> list[dict[str, object]]:
    from penstock.store.sqlite import SqliteStore

    store = SqliteStore(trial.state / "results.db")
    try:
        found: list[dict[str, object]] = json.loads(store.noted("gaps:copied") or "[]")
        return [{name: value for name, value in gap.items() if name != "at"} for gap in found]
    finally:
        store.close()


def test_deleted_records_are_named_and_passed_only_at_the_users_word(trial: Trial, kafka: str) -> None:
    """Refused with the exact gap however often, then passed once and noted; what comes later is guarded as before."""
    topic = f"clicks-{uuid4().hex[:8]}"
    app(trial, kafka, topic)
    sent(kafka, topic, range(10))
    drained(trial)
    sent(kafka, topic, range(10, 20))
    deleted(kafka, topic, 15)
    for _ in range(2):
        error, seen = trial.fail(GapError)
        assert "partition 0 [10, 15): 5 records" in error.message
        assert f"`{topic}`" in error.message
        assert all(f"--accept-gap {view}" in (error.hint or "") for view in ("copied", "most"))
        assert (seen.last["copied"].status, seen.last["copied"].restarts) == ("failed", 0)
    assert held(trial) == list(range(10))
    drained(trial, "copied", "MOST")
    assert held(trial) == [*range(10), *range(15, 20)]
    assert trial.rows("most") == [{"n": 19}]
    assert noted(trial) == [{"stream": "clicks", "topic": topic, "partition": 0, "start": 10, "end": 15, "recreated": False}]
    sent(kafka, topic, range(20, 24))
    deleted(kafka, topic, 22)
    error, _ = trial.fail(GapError)
    assert "[20, 22)" in error.message
    with pytest.raises(NameFault, match="no stream, table or view `nobody`"):
        drained(trial, "nobody")


def test_a_topic_that_was_recreated_is_not_taken_for_the_old_one(trial: Trial, kafka: str) -> None:
    """Even when the new one holds more records than the view had read."""
    topic, admin = f"clicks-{uuid4().hex[:8]}", AdminClient({"bootstrap.servers": kafka, "log_level": 0})
    app(trial, kafka, topic)
    sent(kafka, topic, range(5))
    drained(trial)
    admin.delete_topics([topic])[topic].result(10)
    eventually(lambda: topic not in admin.list_topics(timeout=10).topics)
    with pytest.raises(NameFault, match=f"topic `{topic}` does not exist at {kafka}"):
        drained(trial)
    sent(kafka, topic, range(100, 107))
    error, _ = trial.fail(GapError)
    assert "was recreated since view `copied` read it: partition 0 was read up to 5 and now begins at 0" in error.message
    drained(trial, "copied", "most")
    assert held(trial) == [*range(5), *range(100, 107)]
    assert [gap["recreated"] for gap in noted(trial)] == [True]


def test_a_misspelt_topic_is_reported_with_the_one_that_is_there(trial: Trial, kafka: str) -> None:
    topic = f"clicks-{uuid4().hex[:8]}"
    sent(kafka, topic, range(1))
    app(trial, kafka, topic + "x")
    error, seen = trial.fail(NameFault)
    assert f"topic `{topic}x` does not exist at {kafka}" in error.message
    assert error.hint == f"did you mean `{topic}`?"
    assert seen.last["copied"].restarts == 0
    with pytest.raises(NameFault, match="does not exist"):
        trial.batch("copied")


def test_a_view_that_starts_over_says_what_it_cannot_read_again(trial: Trial, kafka: str) -> None:
    """Undone, the change costs nothing; at the user's word the view begins with what is left."""
    topic = f"clicks-{uuid4().hex[:8]}"
    app(trial, kafka, topic)
    sent(kafka, topic, range(10))
    drained(trial)
    deleted(kafka, topic, 4)
    of_evens(trial, kafka, topic)
    for _ in range(2):
        error, _ = trial.fail(GapError)
        assert "view `copied` has changed and starts over" in error.message
        assert "partition 0 [0, 4): 4 records" in error.message
    assert held(trial) == list(range(10))
    app(trial, kafka, topic)
    sent(kafka, topic, range(10, 12))
    drained(trial)
    assert held(trial) == list(range(12)), "what was before goes on"
    of_evens(trial, kafka, topic)
    drained(trial, "copied", "most")
    assert held(trial) == [4, 6, 8, 10]
    assert noted(trial) == [{"stream": "clicks", "topic": topic, "partition": 0, "start": 0, "end": 4, "recreated": False}]
    sent(kafka, topic, range(12, 14))
    drained(trial)
    assert held(trial) == [4, 6, 8, 10, 12]
    assert len(list((trial.state / "checkpoints" / "copied").iterdir())) == 1, "nothing is left of the generations before"


def test_a_view_goes_on_where_it_was_when_its_broker_has_another_address(trial: Trial, kafka: str) -> None:
    topic = f"clicks-{uuid4().hex[:8]}"
    app(trial, kafka, topic)
    sent(kafka, topic, range(5))
    drained(trial)
    deleted(kafka, topic, 5)
    sent(kafka, topic, range(5, 7))
    app(trial, kafka.replace("127.0.0.1", "localhost") + f",{kafka}", topic)
    drained(trial)
    assert held(trial) == list(range(7))

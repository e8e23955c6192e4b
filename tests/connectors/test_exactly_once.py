"""Exactly-once sinks against the real thing: replays, take-overs, lost outcomes, a view that starts over, and readers that watch."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.change import Change, Epoch
from penstock.errors import FencedError, SinkError
from penstock.sink.files import sink as files_sink
from penstock.sink.kafka import exact as kafka_exact
from penstock.sink.kafka.progress import PROGRESS, bounds, read_to
from penstock.sink.open import SinkWriter, open_sink
from penstock.sink.postgres import sink as postgres_sink
from penstock.testing.postgres import TemporaryPostgres

Opener = Callable[..., SinkWriter]
COLUMNS = "k string, n int"


def put(k: str, n: int) -> Change:
    return Change("+", json.dumps({"k": k}), json.dumps({"k": k, "n": n}))


def taken(k: str, n: int) -> Change:
    return Change("-", json.dumps({"k": k}), json.dumps({"k": k, "n": n}))


def added(k: str, n: int) -> Change:
    return Change("+", None, json.dumps({"k": k, "n": n}))


def epoch(number: int, changes: Sequence[Change], generation: str = "one") -> Epoch:
    return Epoch("v", generation, number, list(changes))


@pytest.fixture
def opened(kafka: str, tmp_path: Path) -> Iterator[Opener]:
    """Opens sink `s` of view `v` on a topic of the test's own."""
    topic, sinks = uuid.uuid4().hex, []

    def open_one(key: tuple[str, ...] | None = None, complete: bool = False, **options: str) -> SinkWriter:
        plain = {"connector": "kafka", "servers": kafka, "topic": topic, "delivery": "exactly-once", **options}
        sinks.append(open_sink("s", "v", plain, COLUMNS, key, append_only=key is None, complete=complete, folder=tmp_path, app="trial"))
        return sinks[-1]

    open_one.topic = topic  # type: ignore[attr-defined]
    yield open_one
    for sink in sinks:
        sink.close()


def records(servers: str, topic: str) -> list[tuple[str | None, str | None]]:
    """Keys and values as a reader of committed records has them."""
    found: list[tuple[str | None, str | None]] = []

    def look(message: Message) -> None:
        key, value = message.key(), message.value()
        found.append((None if key is None else bytes(key).decode(), None if value is None else bytes(value).decode()))

    login: dict[str, str | int | float | bool] = {"bootstrap.servers": servers}
    partitions = len(AdminClient(login).list_topics(topic, 30).topics[topic].partitions)
    read_to(login, topic, bounds(login, topic, list(range(partitions))), look, 60)
    return found


def numbers(servers: str, topic: str) -> list[int]:
    return sorted(json.loads(value)["n"] for _, value in records(servers, topic) if value is not None)


def table(servers: str, topic: str) -> dict[str, int]:
    """What a keyed topic comes to."""
    held: dict[str, int] = {}
    for key, value in records(servers, topic):
        name = json.loads(key or "")["k"]
        if value is None:
            held.pop(name, None)
        else:
            held[name] = json.loads(value)["n"]
    return held


def test_an_epoch_that_comes_again_is_not_delivered_again(opened: Opener, kafka: str) -> None:
    first = opened()
    assert first.position("one") == -1
    first.deliver(epoch(0, [added("a", 1)]))
    first.deliver(epoch(1, []))
    again = opened()
    assert again.position("one") == 1
    again.deliver(epoch(1, [added("x", 9)]))
    again.deliver(epoch(2, [added("b", 2)]))
    assert numbers(kafka, opened.topic) == [1, 2]  # type: ignore[attr-defined]


def test_a_sink_without_a_ledger_says_where_an_earlier_guarantee_kept_one(opened: Opener) -> None:
    """By those words the results store knows what was confirmed for this place."""
    assert opened().ledger == opened(delivery="at-least-once").ledger


def test_a_driver_that_was_replaced_is_fenced_and_leaves_nothing(opened: Opener, kafka: str) -> None:
    zombie = opened()
    zombie.position("one")
    zombie.deliver(epoch(0, [added("a", 1)]))
    heir = opened()
    assert heir.position("one") == 0
    with pytest.raises(FencedError, match="another driver has taken over"):
        zombie.deliver(epoch(1, [added("zombie", 9)]))
    heir.deliver(epoch(1, [added("b", 2)]))
    assert numbers(kafka, opened.topic) == [1, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("arrived", [True, False])
def test_an_outcome_that_is_not_known_is_looked_up(opened: Opener, kafka: str, monkeypatch: pytest.MonkeyPatch, arrived: bool) -> None:
    """The commit may have happened or not when its answer is lost; either way the epoch is there once."""
    sink = opened()
    sink.position("one")
    real = kafka_exact._patiently

    def lost(step: Callable[[float], object]) -> object:
        if arrived:
            real(step)
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    with monkeypatch.context() as patched:
        patched.setattr(kafka_exact, "_patiently", lost)
        with pytest.raises(SinkError):
            sink.deliver(epoch(0, [added("a", 1)]))
    sink.deliver(epoch(0, [added("a", 1)]))
    sink.deliver(epoch(1, [added("b", 2)]))
    assert numbers(kafka, opened.topic) == [1, 2]  # type: ignore[attr-defined]


def test_a_keyed_view_that_starts_over_leaves_no_stale_key(opened: Opener, kafka: str) -> None:
    old = opened(key=("k",))
    old.position("one")
    old.deliver(epoch(0, [put("a", 1), put("b", 2), put("c", 3), taken("c", 3)]))
    new = opened(key=("k",))
    assert new.position("two") == -1
    new.deliver(epoch(0, [put("b", 20), put("d", 40)], "two"))
    assert table(kafka, opened.topic) == {"b": 20, "d": 40}  # type: ignore[attr-defined]
    keys = [json.loads(key or "")["k"] for key, value in records(kafka, opened.topic) if value is None]  # type: ignore[attr-defined]
    assert sorted(keys) == ["a", "c"]


def test_a_view_without_a_key_that_starts_over_is_refused_unless_allowed(opened: Opener, kafka: str) -> None:
    opened().deliver(epoch(0, [added("a", 1)]))
    with pytest.raises(SinkError, match="starts over") as caught:
        opened().position("two")
    assert "on_rebuild = 'append'" in str(caught.value.hint)
    again = opened(on_rebuild="append")
    assert again.position("two") == -1
    again.deliver(epoch(0, [added("a", 1)], "two"))
    assert numbers(kafka, opened.topic) == [1, 1]  # type: ignore[attr-defined]


@pytest.mark.parametrize("made_again", [False, True])
def test_a_topic_that_was_deleted_is_not_made_again_in_silence(opened: Opener, kafka: str, made_again: bool) -> None:
    """Its ledger stands in another topic and still says what was delivered; brokers may make the topic again by themselves."""
    topic = opened.topic  # type: ignore[attr-defined]
    sink = opened()
    sink.deliver(epoch(0, [added("a", 1), added("b", 2)]))
    sink.deliver(epoch(1, []))
    sink.close()
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topic])[topic].result(30)
    while topic in admin.list_topics(timeout=30).topics:
        time.sleep(0.05)
    if made_again:
        admin.create_topics([NewTopic(topic, 1)])[topic].result(30)
    for _ in range(2):  # the supervisor tries again: that must not help
        with pytest.raises(SinkError, match=f"topic `{topic}` was deleted or emptied: it has had 0 records, but 2") as caught:
            opened().position("one")
        assert "another topic" in str(caught.value.hint)
    fresh = opened()
    assert fresh.position("two") == -1
    fresh.deliver(epoch(0, [added("a", 1)], "two"))
    assert numbers(kafka, topic) == [1]


def test_a_complete_result_is_delivered_whole_with_its_tombstones(opened: Opener, kafka: str) -> None:
    sink = opened(key=("k",), complete=True)
    sink.position("one")
    sink.deliver_complete(epoch(0, [put("a", 1), put("b", 2)]), [put("a", 1).row, put("b", 2).row])
    sink.deliver_complete(epoch(1, [taken("b", 2)]), [put("a", 1).row])
    sink.deliver_complete(epoch(1, []), [put("never", 9).row])
    assert table(kafka, opened.topic) == {"a": 1}  # type: ignore[attr-defined]


def test_two_sinks_of_one_topic_keep_their_places_apart(kafka: str, tmp_path: Path) -> None:
    topic = uuid.uuid4().hex
    plain = {"connector": "kafka", "servers": kafka, "topic": topic, "delivery": "exactly-once"}
    for number, name in enumerate(("one", "two")):
        sink = open_sink(name, "v", plain, COLUMNS, ("k",), append_only=False, complete=False, folder=tmp_path, app="trial")
        assert sink.position("generation") == -1
        sink.deliver(epoch(0, [put(name, number)], "generation"))
        sink.close()
    sink = open_sink("one", "v", plain, COLUMNS, ("k",), append_only=False, complete=False, folder=tmp_path, app="trial")
    assert sink.position("another") == -1
    sink.deliver(epoch(0, [put("new", 7)], "another"))
    sink.close()
    assert table(kafka, topic) == {"two": 1, "new": 7}


def test_a_damaged_progress_record_is_named(opened: Opener, kafka: str) -> None:
    from confluent_kafka import Producer

    from penstock.sink.kafka.progress import PARTITIONS, partition_of

    opened().deliver(epoch(0, [added("a", 1)]))
    name = f"penstock.trial.s.{opened.topic}"  # type: ignore[attr-defined]
    producer = Producer({"bootstrap.servers": kafka})
    producer.produce(PROGRESS, value=b"{broken", key=name.encode(), partition=partition_of(name, PARTITIONS))
    producer.flush(30)
    with pytest.raises(SinkError, match=rf"offset \d+ of partition \d+ of topic {PROGRESS} cannot be read"):
        opened().position("one")


@pytest.mark.parametrize("point", ["sink.mid-rows", "sink.before-commit"])
def test_a_driver_frozen_in_its_transaction_is_replaced_and_then_fenced(
    postgres_server: TemporaryPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """It holds the ledger's row, and would for ever."""
    from penstock.sink.postgres import table as postgres_table

    options = {name: str(value) for name, value in {"connector": "postgres", "table": "t", **postgres_server.parameters(database)}.items()}
    zombie, heir = (open_sink("s", "v", options, COLUMNS, None, append_only=True, complete=False, folder=tmp_path) for _ in range(2))
    zombie.position("one")
    zombie.deliver(epoch(0, [added("a", 1)]))

    found: list[int | None] = []

    def taken_over(name: str) -> None:
        if name == point:
            monkeypatch.undo()
            found.append(heir.position("one"))

    monkeypatch.setattr(postgres_sink, "crash_point", taken_over)
    monkeypatch.setattr(postgres_table, "crash_point", taken_over)
    with pytest.raises(SinkError):
        zombie.deliver(epoch(1, [added("b", 2)]))
    assert found == [0]
    heir.deliver(epoch(1, [added("b", 2)]))
    with pytest.raises(FencedError):
        zombie.deliver(epoch(1, [added("b", 2)]))
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (2,)]
    zombie.close()
    heir.close()


@pytest.mark.parametrize("delivery", ["at-least-once", "at-most-once"])
@pytest.mark.parametrize(("complete", "point"), [(False, "sink.before-commit"), (True, "sink.mid-rows")])
def test_a_driver_frozen_in_its_transaction_holds_up_no_successor_without_a_ledger(
    postgres_server: TemporaryPostgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delivery: str, complete: bool, point: str
) -> None:
    """Its rows are locked, and no ledger's row tells the successor so before it comes to them."""
    from penstock.sink.postgres import table as postgres_table

    with postgres_server.connect(database) as connection:
        connection.execute(f"ALTER DATABASE \"{database}\" SET statement_timeout = '30s'")
    given = {"connector": "postgres", "table": "t", "delivery": delivery, **postgres_server.parameters(database)}
    options = {name: str(value) for name, value in given.items()}
    zombie, heir = (open_sink("s", "v", options, COLUMNS, ("k",), append_only=False, complete=complete, folder=tmp_path) for _ in range(2))

    def deliver(sink: SinkWriter, number: int) -> None:
        if complete:
            sink.deliver_complete(epoch(number, []), [put("a", number).row])
        else:
            sink.deliver(epoch(number, [put("a", number)]))

    zombie.position("one")
    deliver(zombie, 0)

    def taken_over(name: str) -> None:
        if name == point:
            monkeypatch.undo()
            monkeypatch.setattr(postgres_sink, "_LOCK_PATIENCE", "500ms")
            heir.position("one")
            deliver(heir, 2)

    monkeypatch.setattr(postgres_sink, "crash_point", taken_over)
    monkeypatch.setattr(postgres_table, "crash_point", taken_over)
    with pytest.raises(SinkError):
        deliver(zombie, 1)
    with postgres_server.connect(database) as connection:
        assert connection.execute("SELECT k, n FROM t").fetchall() == [("a", 2)]
    zombie.close()
    heir.close()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., SinkWriter]:
    def open_one(complete: bool = False, **options: str) -> SinkWriter:
        plain = {"connector": "files", "path": "out", **options}
        return open_sink("s", "v", plain, COLUMNS, None, append_only=True, complete=complete, folder=tmp_path)

    return open_one


def held(tmp_path: Path) -> list[int]:
    return sorted(json.loads(line)["n"] for path in (tmp_path / "out").glob("epoch=*/*.json") for line in path.read_text().splitlines())


@pytest.mark.parametrize("point", ["sink.mid-rows", "sink.before-commit"])
def test_a_driver_replaced_while_it_writes_files_has_nothing_left_to_rename(
    folder: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The zombie wakes with its epoch staged; its heir has the same epoch already, or not yet."""

    zombie, heir = folder(), folder()
    zombie.position("one")
    zombie.deliver(epoch(0, [added("a", 1)]))

    def taken_over(name: str) -> None:
        if name == point:
            monkeypatch.undo()
            assert heir.position("one") == 0

    monkeypatch.setattr(files_sink, "crash_point", taken_over)
    with pytest.raises(FencedError):
        zombie.deliver(epoch(1, [added("b", 2)]))
    heir.deliver(epoch(1, [added("b", 2)]))
    heir.deliver(epoch(2, [added("c", 3)]))
    with pytest.raises(FencedError):
        zombie.deliver(epoch(2, [added("c", 3)]))
    assert held(tmp_path) == [1, 2, 3]


def test_of_many_drivers_that_start_at_once_one_delivers(folder: Opener, tmp_path: Path) -> None:
    sinks = [folder() for _ in range(8)]
    refused: list[FencedError] = []

    def run(sink: SinkWriter) -> None:
        try:
            sink.position("one")
            for number in range(5):
                sink.deliver(epoch(number, [added("a", number)]))
        except FencedError as error:
            refused.append(error)

    threads = [threading.Thread(target=run, args=[sink]) for sink in sinks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) < len(sinks)
    assert held(tmp_path) == [0, 1, 2, 3, 4]


def test_a_reader_of_a_complete_result_never_sees_two_or_none(folder: Opener, tmp_path: Path) -> None:
    """One listing of the folder is one moment: it shows exactly one result."""
    sink = folder(complete=True)
    sink.deliver_complete(epoch(0, []), [added("a", 0).row])
    done, seen = threading.Event(), set()

    def watch() -> None:
        while not done.is_set():
            seen.add(sum(1 for path in (tmp_path / "out").iterdir() if path.name.startswith("epoch=")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(1, 60):
        sink.deliver_complete(epoch(number, []), [added("a", number).row])
    done.set()
    watcher.join()
    assert held(tmp_path) == [59]
    assert seen == {1}


@pytest.mark.parametrize("delivery", ["at-least-once", "at-most-once"])
def test_files_without_a_ledger_repeat_what_comes_again(folder: Opener, tmp_path: Path, delivery: str) -> None:
    sink = folder(delivery=delivery)
    assert sink.position("one") is None
    sink.deliver(epoch(0, [added("a", 1)]))
    sink.deliver(epoch(0, [added("a", 1)]))
    assert held(tmp_path) == [1, 1]
    with pytest.raises(SinkError, match="no file _penstock"):
        folder(delivery="exactly-once").position("one")


def test_files_kept_exactly_once_take_no_lesser_delivery(folder: Opener) -> None:
    folder().deliver(epoch(0, [added("a", 1)]))
    with pytest.raises(SinkError, match="delivered to exactly-once"):
        folder(delivery="at-least-once").position("one")


def test_a_folder_of_many_epochs_is_listed_when_it_is_opened_and_not_for_each_epoch(folder: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.sink.files.marker import epochs_in

    listed: list[Path] = []

    def counted(path: Path) -> list[int]:
        listed.append(path)
        return epochs_in(path)

    folder().deliver(epoch(0, [added("a", 0)]))
    monkeypatch.setattr(files_sink, "epochs_in", counted)
    sink = folder()
    assert sink.position("one") == 0
    for number in range(1, 6):
        sink.deliver(epoch(number, [added("a", number)]))
    assert len(listed) == 1


@pytest.mark.parametrize("point", ["sink.mid-rows", "sink.before-commit", "the marker"])
def test_a_folder_that_failed_in_the_middle_of_an_epoch_is_looked_at_again(
    folder: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The epoch may be there or not; when it comes again, it is there once."""

    sink = folder()
    sink.deliver(epoch(0, [added("a", 1)]))

    def full(name: object, *_: object) -> None:
        if point in (name, "the marker"):
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(files_sink, "write_through" if point == "the marker" else "crash_point", full)
        with pytest.raises(SinkError, match="No space left"):
            sink.deliver(epoch(1, [added("b", 2)]))
    sink.deliver(epoch(1, [added("b", 2)]))
    sink.deliver(epoch(2, [added("c", 3)]))
    assert held(tmp_path) == [1, 2, 3]
    assert folder().position("one") == 2

"""The reader notices what must never be seen: planted here by hand, in every kind of place."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Hashable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock.change import Change
from penstock.chaos import sinks
from penstock.chaos.follow import Bag, Epochs, Log, Records, Seen, Table, canonical, row
from penstock.chaos.sinks import FilesPlace, KafkaPlace, PostgresPlace, Reader, StoreReader, sqlite_snapshots
from penstock.errors import SinkError
from penstock.schema import Schema, columns
from penstock.sink.spec import SinkSpec
from penstock.store.sqlite import SqliteStore


def line(number: int) -> str:
    return json.dumps({"id": number})


def log(seen: Seen, *, keyed: bool = False) -> Log:
    """Three epochs of two rows each; keyed, the last takes the first row back."""
    found = Log("v", keyed, seen)
    for epoch in range(3):
        found.learn(epoch, [Change("+", f"k{n}" if keyed else None, line(n)) for n in (2 * epoch, 2 * epoch + 1)])
    return found


def rows(*numbers: int) -> list[Hashable]:
    return [row(line(number)) for number in numbers]


def test_equal_values_are_equal_however_they_are_written() -> None:
    assert canonical({"a": "2026-01-01T00:00:00.000Z", "b": "1.50"}) == canonical({"b": 1.5, "a": "2026-01-01T01:00:00+01:00"})
    assert canonical("k1") != canonical("k2")
    assert canonical(None) != canonical("null")


def test_whole_epochs_one_after_the_other_are_clean() -> None:
    seen = Seen()
    table = Table("t", log(seen), seen)
    table.look(0, rows(0, 1))
    table.look(2, rows(0, 1, 2, 3, 4, 5))
    assert seen.clean


def test_a_row_that_is_there_twice_is_a_duplicate() -> None:
    seen = Seen()
    Table("t", log(seen), seen).look(0, rows(0, 1, 1))
    assert (seen.duplicated, seen.partial) == (1, 0)


def test_an_epoch_of_which_a_row_is_missing_is_partial() -> None:
    seen = Seen()
    Table("t", log(seen), seen).look(1, rows(0, 1, 2))
    assert (seen.duplicated, seen.partial) == (0, 1)


def test_rows_of_an_epoch_that_is_not_reported_yet_are_partial_too() -> None:
    seen = Seen()
    Table("t", log(seen), seen).look(0, rows(0, 1, 2))
    assert seen.partial == 1


def test_an_epoch_that_goes_back_is_retracted() -> None:
    seen = Seen()
    table = Table("t", log(seen), seen)
    table.look(1, rows(0, 1, 2, 3))
    table.look(0, rows(0, 1))
    assert seen.retracted == 1


def test_a_logged_epoch_that_changes_is_retracted() -> None:
    seen = Seen()
    found = log(seen)
    found.learn(1, [Change("+", None, line(9))])
    assert seen.retracted == 1


def test_keyed_rows_are_replaced_and_removed() -> None:
    seen = Seen()
    found = log(seen, keyed=True)
    found.learn(3, [Change("+", "k0", line(9)), Change("-", "k1", line(1))])
    Table("t", found, seen).look(3, rows(9, 2, 3, 4, 5))
    assert seen.clean


def test_a_reader_that_comes_late_begins_with_what_is_there() -> None:
    seen = Seen()
    found = Log("v", False, seen)
    found.begin(4, [(None, line(7))])
    found.learn(5, [Change("+", None, line(8))])
    table = Table("t", found, seen)
    table.look(3, rows(1, 2, 3))
    table.look(5, rows(7, 8))
    assert seen.clean


def records(*numbers: int) -> Bag:
    return Counter(("+", row(line(number))) for number in numbers)


def given(topic: Records, *epochs: int) -> None:
    for epoch in epochs:
        for number in (2 * epoch, 2 * epoch + 1):
            topic.take(number % 2, epoch, ("+", row(line(number))))


def test_records_of_every_epoch_once_are_clean() -> None:
    seen = Seen()
    topic = Records("topic", log(seen), seen)
    given(topic, 0, 1, 2)
    topic.finish()
    assert seen.clean


def test_an_epoch_sent_again_is_seen_by_its_order_and_its_count() -> None:
    seen = Seen()
    topic = Records("topic", log(seen), seen)
    given(topic, 0, 1, 0, 2)
    assert seen.duplicated == 2
    topic.finish()
    assert seen.duplicated == 4


def test_a_repeat_is_no_fault_where_at_least_once_was_promised() -> None:
    seen = Seen()
    topic = Records("topic", log(seen), seen, repeats=True)
    given(topic, 0, 1, 1, 0, 2)
    topic.finish()
    assert seen.clean


def test_a_missing_epoch_is_lost_and_half_of_one_is_partial() -> None:
    seen = Seen()
    topic = Records("topic", log(seen), seen)
    given(topic, 0)
    topic.take(0, 2, ("+", row(line(4))))
    topic.finish()
    assert (seen.lost, seen.partial, seen.duplicated) == (2, 1, 0)


def test_a_folder_that_changes_goes_or_is_half_there_is_noticed() -> None:
    seen = Seen()
    epochs = Epochs("folder", log(seen), seen)
    whole = {epoch: records(2 * epoch, 2 * epoch + 1) for epoch in range(2)}
    epochs.look(whole)
    assert seen.clean
    epochs.look({0: whole[0], 1: records(2)})
    assert seen.retracted == 1
    epochs.look({0: whole[0]})
    assert seen.retracted == 2
    epochs.look({0: whole[0], 2: records(4)})
    assert seen.partial == 1
    epochs.finish()
    assert seen.lost == 2


def filled(path: Path, seen: Seen) -> tuple[SqliteStore, StoreReader]:
    """A real store with two epochs of a view, and a reader of it."""
    store = SqliteStore(path / "results.db")
    place = store.take_over("v", "generation")
    store.put_schema("v", "id BIGINT", None)
    for epoch in range(2):
        with store.open_epoch("v", "generation", place.fence, epoch) as writer:
            writer.append("v", [line(2 * epoch), line(2 * epoch + 1)])
    return store, StoreReader(sqlite_snapshots(path / "results.db"), {"v": False}, seen)


def test_a_store_is_followed_and_tampering_is_noticed(tmp_path: Path) -> None:
    seen = Seen()
    store, reader = filled(tmp_path, seen)
    reader.poll()
    assert seen.clean
    assert reader.epochs == {"v": 1}
    assert reader.rows() == {"v": Counter(rows(0, 1, 2, 3))}
    store.close()
    with sqlite3.connect(tmp_path / "results.db") as connection:
        connection.execute("INSERT INTO penstock_rows (view, row) VALUES ('v', ?)", (line(3),))
    reader.poll()
    assert seen.duplicated == 1
    with sqlite3.connect(tmp_path / "results.db") as connection:
        connection.execute("UPDATE penstock_ledger SET epoch = 0")
    reader.poll()
    assert seen.retracted == 1


def test_a_folder_is_read_against_the_store_and_a_lost_row_is_noticed(tmp_path: Path) -> None:
    seen = Seen()
    store, following = filled(tmp_path, seen)
    for epoch in range(2):
        (tmp_path / "out" / f"epoch={epoch}").mkdir(parents=True)
    (tmp_path / "out" / "epoch=0" / "part-0.json").write_text(f"{line(0)}\n{line(1)}\n", encoding="utf-8")
    (tmp_path / "out" / "epoch=1" / "part-0.json").write_text(f"{line(2)}\n", encoding="utf-8")
    reader = Reader(following, [FilesPlace(tmp_path / "out", following.logs["v"], seen, append_only=True)])
    assert reader.look()
    assert (seen.partial, seen.duplicated, seen.lost) == (1, 0, 0)
    store.close()


class Away:
    """A place that cannot be reached."""

    name = "topic t"

    def fetch(self) -> None:
        raise SinkError("who are you?")

    def judge(self) -> None: ...

    def finish(self) -> None:
        raise AssertionError("nobody knows what is there")

    def close(self) -> None: ...


def test_of_a_place_that_cannot_be_read_nothing_is_called_lost(tmp_path: Path) -> None:
    seen = Seen()
    store, following = filled(tmp_path, seen)
    reader = Reader(following, [Away()])
    reader.start()
    reader.finish()
    assert seen.clean
    assert reader.unread == ["topic t cannot be read: who are you?"]
    store.close()


class Tables:
    """A database whose ledger says epoch 0, in place of a connection to one."""

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, query: object, values: object = ()) -> Any:
        return SimpleNamespace(fetchone=lambda: (0,))


OWN_COLUMNS = ["loaded_at", "id", "raw", "price"]


@pytest.mark.parametrize(("price", "partial"), [("1.50", 0), ("1.51", 1)])
def test_of_a_table_of_the_users_own_the_columns_of_the_view_are_read(monkeypatch: pytest.MonkeyPatch, price: str, partial: int) -> None:
    """It has a column more, names in another case, and bytes that the log has as base64."""
    seen = Seen()
    found = Log("v", False, seen, columns=columns("Id BIGINT, raw BINARY, price DECIMAL(8,2), note STRING"))
    found.learn(0, [Change("+", None, '{"Id":1,"raw":"YWI=","price":"1.5","note":null}')])
    held = [(datetime(2024, 5, 1, tzinfo=UTC), 1, b"ab", Decimal(price))]
    monkeypatch.setattr(sinks, "_reading", lambda server: Tables())
    monkeypatch.setattr(sinks, "read_table", lambda connection, table: (OWN_COLUMNS, held))
    place = PostgresPlace("s", {"table": "t"}, found, seen)
    place.fetch()
    place.judge()
    place.finish()
    assert (seen.lost, seen.duplicated, seen.partial) == (0, 0, partial)


def test_the_store_tells_the_columns_of_its_views(tmp_path: Path) -> None:
    store, reader = filled(tmp_path, Seen())
    reader.poll()
    assert reader.logs["v"].columns == columns("id BIGINT")
    store.close()


def topic(seen: Seen, **options: str) -> KafkaPlace:
    spec = SinkSpec("s", "v", {"servers": "127.0.0.1:1", "topic": "t", **options}, Schema(()), None, True, False, Path("app"))
    return KafkaPlace(spec, log(seen), seen, repeats=False)


def message(number: int, epoch: int, sink: str | None) -> object:
    headers = [("penstock-epoch", str(epoch).encode()), *([] if sink is None else [("penstock-sink", sink.encode())])]
    return SimpleNamespace(headers=lambda: headers, value=lambda: line(number).encode(), partition=lambda: 0)


@pytest.mark.parametrize("marked_only", [True, False])
def test_of_a_shared_topic_other_sinks_records_are_not_judged(marked_only: bool) -> None:
    seen = Seen()
    place = KafkaPlace(topic(seen)._spec, log(seen), seen, repeats=False, marked_only=marked_only)
    for number in range(6):
        place._take(message(number, number // 2, "s" if marked_only else None))
        place._take(message(number + 100, 7, None if marked_only else "other"))
    place.finish()
    assert seen.clean


def test_a_topic_is_read_with_the_login_of_its_sink(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def refused(settings: dict[str, object]) -> None:
        given.update(settings)
        raise SinkError("far enough")

    monkeypatch.setattr(sinks, "Consumer", refused)
    with pytest.raises(SinkError, match="far enough"):
        topic(Seen(), user="me", password="hidden", sasl="SCRAM-SHA-256", tls_ca="ca.pem").fetch()
    wanted = {"sasl.username": "me", "sasl.password": "hidden", "sasl.mechanism": "SCRAM-SHA-256", "ssl.ca.location": "app/ca.pem"}
    assert {name: given[name] for name in wanted} == wanted
    assert (given["security.protocol"], given["isolation.level"]) == ("sasl_ssl", "read_committed")


class Pretended:
    """A consumer of a broker that refuses it one way or another."""

    def __init__(self, listed: KafkaError | None, read: KafkaError | None) -> None:
        self._listed, self._read, self.closed = listed, [read] if read is not None else [], False

    def list_topics(self, topic: str, timeout: float) -> object:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=self._listed, partitions={} if self._listed else {0: None})})

    def assign(self, partitions: list[object]) -> None: ...

    def consume(self, count: int, timeout: float) -> list[object]:
        found, self._read = [SimpleNamespace(error=lambda error=error: error) for error in self._read], []
        return list(found)

    def close(self) -> None:
        self.closed = True


REFUSED = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)


@pytest.mark.parametrize(("listed", "read"), [(REFUSED, None), (None, REFUSED)])
def test_a_topic_that_may_not_be_read_is_away(monkeypatch: pytest.MonkeyPatch, listed: KafkaError | None, read: KafkaError | None) -> None:
    """However often it is looked at: the broker tells it once only."""
    place = topic(Seen())
    monkeypatch.setattr(sinks, "Consumer", lambda settings: Pretended(listed, read))
    for _ in range(2):
        with pytest.raises(SinkError, match=r"(?i)authorization failed"):
            place.fetch()


def test_a_topic_that_is_not_there_has_lost_what_the_log_has(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen()
    place = topic(seen)
    consumer = Pretended(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), None)
    monkeypatch.setattr(sinks, "Consumer", lambda settings: consumer)
    place.fetch()
    place.finish()
    assert seen.lost == 6
    assert consumer.closed

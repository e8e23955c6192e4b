"""One suite for both results stores: what `sink.store.Store` promises, on SQLite and on a real Postgres."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.change import Change
from penstock.errors import FencedError, PenstockError, SinkError, StateError
from penstock.store.difference import Fresh
from penstock.store.generations import ViewGeneration, note_of, read_generations
from penstock.store.postgres_server import PostgresServer
from penstock.store.postgres_store import PostgresStore
from penstock.store.protocol import AlreadyCommitted, FenceToken, Position, Store
from penstock.store.sqlite import SqliteStore
from penstock.store.writer import EpochWriter
from penstock.testing.postgres import TemporaryPostgres

Opener = Callable[[], Store]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same empty store, as often as asked."""
    stores: list[Store] = []
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("fresh_database")

    def open_one() -> Store:
        stores.append(SqliteStore(tmp_path / "results.db") if request.param == "sqlite" else PostgresStore(server))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def fresh_database(postgres_server: TemporaryPostgres, database: str) -> PostgresServer:
    return PostgresServer.from_options({name: str(value) for name, value in postgres_server.parameters(database).items()})


@pytest.fixture
def store(opened: Opener) -> Store:
    return opened()


class Driver:
    """Writes one epoch after another of the job `j`, as the engine does."""

    def __init__(self, store: Store, generation: str = "first") -> None:
        self.store, self.generation = store, generation
        self.fence, self.epoch = store.take_over("j", generation)

    def write(self, *steps: Callable[[EpochWriter], None]) -> list[Change]:
        """Runs the steps in one epoch; the changes it logged for view `v`."""
        self.epoch += 1
        with self.store.open_epoch("j", self.generation, self.fence, self.epoch) as writer:
            for step in steps:
                step(writer)
        return [change for epoch in self.store.epochs("v", self.epoch - 1, self.generation) for change in epoch.changes]


def test_a_keyed_view_logs_only_real_changes(store: Store) -> None:
    driver = Driver(store)
    assert driver.write(lambda w: w.upsert("v", [('["a"]', "1"), ('["b"]', "2")])) == [Change("+", '["a"]', "1"), Change("+", '["b"]', "2")]
    assert driver.write(lambda w: w.upsert("v", [('["a"]', "1"), ('["b"]', "3"), ('["c"]', "4")], gone=['["x"]'])) == [
        Change("+", '["b"]', "3"),
        Change("+", '["c"]', "4"),
    ]
    assert driver.write(lambda w: w.upsert("v", [], gone=['["a"]'])) == [Change("-", '["a"]', "1")]
    assert list(store.rows("v")) == ["3", "4"]
    assert store.count("v") == 2


def test_the_last_row_of_a_key_wins_and_a_key_put_is_not_gone(store: Store) -> None:
    assert Driver(store).write(lambda w: w.upsert("v", [("k", "1"), ("k", "2")], gone=["k"])) == [Change("+", "k", "2")]


def test_a_bag_with_a_hidden_key_takes_back_the_old_row(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.upsert_bag("v", [("h1", "1"), ("h2", "1")]))
    assert driver.write(lambda w: w.upsert_bag("v", [("h1", "5"), ("h2", "1")])) == [Change("-", None, "1"), Change("+", None, "5")]
    assert driver.write(lambda w: w.upsert_bag("v", [], gone=["h2"])) == [Change("-", None, "1")]
    assert list(store.rows("v")) == ["5"]


def test_appended_rows_keep_their_copies_and_their_order(store: Store) -> None:
    driver = Driver(store)
    assert driver.write(lambda w: w.append("v", ["b", "a", "b"])) == [Change("+", None, row) for row in "bab"]
    driver.write(lambda w: w.append("v", ["a"]))
    assert list(store.rows("v")) == ["b", "a", "b", "a"]


def test_a_replaced_bag_logs_the_difference_and_keeps_duplicates(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.replace("v", [(None, row) for row in ("x", "x", "x", "y")]))
    assert driver.write(lambda w: w.replace("v", [(None, row) for row in ("z", "x", "x")])) == [
        Change("-", None, "x"),
        Change("-", None, "y"),
        Change("+", None, "z"),
    ]
    assert sorted(store.rows("v")) == ["x", "x", "z"]
    assert driver.write(lambda w: w.replace("v", [(None, row) for row in ("x", "z", "x")])) == []


def test_a_replaced_keyed_view_logs_by_key(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.replace("v", [("a", "1"), ("b", "2"), ("c", "3")]))
    assert driver.write(lambda w: w.replace("v", [("a", "1"), ("b", "9"), ("d", "4")])) == [
        Change("-", "c", "3"),
        Change("+", "b", "9"),
        Change("+", "d", "4"),
    ]
    assert driver.write(lambda w: w.replace("v", [])) == [Change("-", "a", "1"), Change("-", "b", "9"), Change("-", "d", "4")]


def test_an_ordered_replacement_keeps_the_order_of_the_result(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.replace("v", [("a", "1"), ("b", "2"), ("c", "3")], ordered=True))
    assert driver.write(lambda w: w.replace("v", [("a", "1"), ("c", "3"), ("b", "2"), ("d", "0")], ordered=True)) == [Change("+", "d", "0")]
    assert list(store.rows("v")) == ["1", "3", "2", "0"]
    driver.write(lambda w: w.replace("v", [(None, "7"), (None, "7"), (None, "1")], ordered=True))
    assert list(store.rows("v")) == ["7", "7", "1"]


def test_only_the_named_parts_are_compared_and_replaced(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.replace("v", [(None, "1"), (None, "1"), (None, "2"), (None, "3")], part=["p", "p", "q", "r"]))
    assert driver.write(lambda w: w.replace("v", [(None, "1"), (None, "8")], part=["p", "q"], parts=["p", "q", "none"])) == [
        Change("-", None, "1"),
        Change("-", None, "2"),
        Change("+", None, "8"),
    ]
    assert list(store.rows("v")) == ["1", "3", "8"]


def test_a_row_that_only_moves_to_another_part_is_no_change(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.replace("v", [(None, "1")], part=["p"]), lambda w: w.upsert("k", [("a", "1")], parts=["p"]))
    assert driver.write(lambda w: w.replace("v", [(None, "1")], part=["q"]), lambda w: w.upsert("k", [("a", "1")], parts=["q"])) == []
    seen = [[row.row for row in store.held(view, [part])] for view in ("v", "k") for part in ("q", "p")]
    assert seen == [["1"], [], ["1"], []]


def test_kept_rows_are_read_by_part_and_not_logged(store: Store) -> None:
    driver = Driver(store)
    driver.write(
        lambda w: w.upsert("__kept:j", [("a", "1"), ("b", "2")], parts=["p", "q"], log=False),
        lambda w: w.append("__kept:j", ["3"], parts=["p"], log=False),
    )
    assert store.held("__kept:j", ["p", "none", "p"]) == [Fresh("a", "p", "1"), Fresh(None, "p", "3")]
    assert store.held("__kept:j") == [Fresh("a", "p", "1"), Fresh("b", "q", "2"), Fresh(None, "p", "3")]
    assert len(store.held("__kept:j", [str(n) for n in range(2_000)] + ["q"])) == 1


def test_what_a_plan_keeps_goes_with_its_view_or_is_forgotten_with_its_first_epoch(store: Store) -> None:
    driver = Driver(store)
    names = ("v", "__kept:v", "__kept.__g0:v", "__kept.__s0:v", "__partial:v", "__partial.__s0:v")
    others = ("w", "__kept:w:v", "__kept.__g0:vv")
    driver.write(*(lambda writer, name=name: writer.append(name, ["1"]) for name in (*names, *others)))
    driver.write(lambda writer: writer.reset("v"))
    assert [store.count(name) for name in names] == [0, 1, 1, 1, 1, 1]
    driver.write(lambda writer: writer.reset("v", kept=True))
    assert [store.count(name) for name in (*names, *others)] == [0] * len(names) + [1] * len(others)
    store.drop_view("vv")
    assert [store.count(name) for name in others] == [1, 1, 0]


def test_rows_can_be_read_by_key_and_by_the_values_of_columns(store: Store) -> None:
    driver = Driver(store)
    odd = [json.dumps({"k": "a\u001f\u0000/é'\"", "n": 1, "x": None}), '{"k":"b","n":1.0E10,"x":{"y":[1]}}', '{"k":"b","n":null,"x":null}']
    driver.write(lambda writer: writer.append("v", [*odd, odd[0]]), lambda writer: writer.upsert("w", [("1", odd[0]), ("2", odd[1])]))
    assert [row.row for row in store.held_by_key("w", ["2", "3", "2"])] == [odd[1]]
    for _ in range(2):
        store.index("v", ["k", "x"])
        store.index("__kept:v", ["n"])
        assert [row.row for row in store.held_like("v", ["k"], [odd[1], odd[1]])] == odd[1:3]
        assert [row.row for row in store.held_like("v", ["k", "x"], ['{"k":"b","x":null}'])] == odd[2:3]
        assert [row.row for row in store.held_like("v", ["k", "x"], [odd[0]])] == [odd[0], odd[0]]
        assert [row.row for row in store.held_like("v", ["n"], [odd[1]])] == odd[1:2]
        assert [row.row for row in store.held_like("v", ["k"], [], [(["j"], ['{"j":"b"}']), (["k"], [odd[1]])])] == odd[1:3]
        assert store.held_like("v", ["k"], []) == store.held_like("none", ["k"], odd) == []
    driver.write(lambda writer: writer.append("v", [odd[1]]))
    assert [row.row for row in store.held_like("v", ["k", "x"], [odd[1]])] == [odd[1], odd[1]]
    assert list(store.epochs("__kept:j", -1, "first")) == []


def test_an_exception_rolls_everything_back(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1"]))

    def fail(writer: EpochWriter) -> None:
        writer.append("v", ["2"])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        driver.write(fail)
    assert list(store.rows("v")) == ["1"]
    assert store.take_over("j", "first").epoch == 0


def test_a_driver_that_was_taken_over_is_fenced(opened: Opener) -> None:
    old, new = Driver(opened()), Driver(opened())
    assert new.fence == old.fence + 1
    with pytest.raises(FencedError, match="another driver"):
        old.write(lambda w: w.append("v", ["old"]))
    new.write(lambda w: w.append("v", ["new"]))
    assert list(new.store.rows("v")) == ["new"]


def test_a_resumed_job_skips_what_is_committed(opened: Opener) -> None:
    Driver(opened()).write(lambda w: w.append("v", ["1"]))
    store = opened()
    position = store.take_over("j", "first")
    assert position == Position(2, 0)
    with pytest.raises(AlreadyCommitted), store.open_epoch("j", "first", position.fence, 0) as writer:
        writer.append("v", ["again"])
    assert list(store.rows("v")) == ["1"]


def test_a_new_generation_starts_over(store: Store) -> None:
    Driver(store).write(lambda w: w.append("v", ["1"]))
    again = Driver(store, "second")
    assert again.epoch == -1
    again.write(lambda w: w.reset("v"), lambda w: w.append("v", ["2"]))
    assert list(store.rows("v")) == ["2"]
    assert list(store.epochs("v", -1, "first")) == []


def test_an_epoch_without_changes_is_still_an_epoch(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1"]))
    driver.write(lambda w: w.append("v", []))
    assert [(epoch.epoch, len(epoch.changes)) for epoch in store.epochs("v", -1, "first")] == [(0, 1), (1, 0)]
    assert [epoch.epoch for epoch in store.epochs("v", 0, "first")] == [1]


def test_trimming_keeps_the_newest_and_the_undelivered(store: Store) -> None:
    driver = Driver(store)
    for number in range(10):
        driver.write(lambda w, number=number: w.append("v", [str(number)]))  # type: ignore[misc]
    store.trim("v", keep_epochs=2, below=4)
    assert [epoch.epoch for epoch in store.epochs("v", -1, "first")] == [4, 5, 6, 7, 8, 9]
    store.trim("v", keep_epochs=2, below=100)
    assert [epoch.epoch for epoch in store.epochs("v", -1, "first")] == [8, 9]
    assert store.count("v") == 10


def test_trimming_waits_until_a_tenth_of_what_is_kept_is_due(store: Store) -> None:
    """Else a long run would open one more transaction in every epoch, to drop a single one."""
    driver = Driver(store)
    for number in range(24):
        driver.write(lambda w, number=number: w.append("v", [str(number)]))  # type: ignore[misc]
        store.trim("v", keep_epochs=20, below=100)
        assert len(list(store.epochs("v", -1, "first"))) == (number + 1 if number < 22 else number - 2)


def test_a_page_of_a_view_is_read_alone(store: Store) -> None:
    store.put_schema("v", "n BIGINT", None)
    fence = store.take_over("v", "g").fence
    for epoch in range(2):
        with store.open_epoch("v", "g", fence, epoch) as writer:
            writer.append("v", [f'{{"n":{3 * epoch + n}}}' for n in range(3)])
    pages = [(2, 0), (2, 3), (10, 4), (0, 0), (1, 6)]
    found = [store.snapshot("v", limit=limit, offset=offset) for limit, offset in pages]
    assert [[json.loads(change.row)["n"] for change in page.changes] for page in found] == [[0, 1], [3, 4], [4, 5], [], []]
    assert {page.epoch for page in found} == {1}


def test_a_reader_sees_one_moment(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1", "2", "3"]))
    reading = store.rows("v")
    first = next(reading)
    driver.write(lambda w: w.append("v", ["4"]))
    assert [first, *reading] == ["1", "2", "3"]
    assert store.count("v") == 4


def test_a_reading_that_is_given_up_disturbs_nobody(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1", "2", "3"]))
    reading = store.rows("v")
    next(reading)
    del reading
    driver.write(lambda w: w.append("v", ["4"]))
    assert store.count("v") == 4


def test_jobs_in_threads_share_one_store(store: Store) -> None:
    failures: list[BaseException] = []

    def work(job: str) -> None:
        try:
            position = store.take_over(job, "one")
            for epoch in range(10):
                with store.open_epoch(job, "one", position.fence, epoch) as writer:
                    writer.upsert(job, [(str(n), f"{epoch}-{n}") for n in range(50)])
                assert store.count(job) == 50
                store.set_delivered(FenceToken(job, "one", position.fence), f"sink of {job}", epoch)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(f"job{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [store.delivered(f"sink of job{number}", "one") for number in range(6)] == [9] * 6
    assert sorted(store.rows("job3")) == sorted(f"9-{n}" for n in range(50))


def test_positions_of_sinks_are_kept_by_generation(store: Store) -> None:
    assert store.delivered("s", "one") == -1
    turn = FenceToken("j", "one", store.take_over("j", "one").fence)
    store.set_delivered(turn, "s", 4)
    assert (store.delivered("s", "one"), store.delivered("s", "two")) == (4, -1)


@pytest.mark.parametrize("durable", [True, False])
def test_the_place_of_a_sink_is_moved_forward_only_and_only_by_the_driver_whose_turn_it_is(store: Store, durable: bool) -> None:
    zombie = FenceToken("j", "one", store.take_over("j", "one").fence)
    store.set_delivered(zombie, "s", 4, durable=durable)
    heir = FenceToken("j", "one", store.take_over("j", "one").fence)
    for number in (3, 5):
        with pytest.raises(FencedError, match="another driver"):
            store.set_delivered(zombie, "s", number, durable=durable)
    with pytest.raises(FencedError, match="another driver"):
        store.check_fence(zombie)
    store.check_fence(heir)
    assert store.delivered("s", "one") == 4
    store.set_delivered(heir, "s", 6, durable=durable)
    store.set_delivered(heir, "s", 5, durable=durable)
    assert store.delivered("s", "one") == 6


def test_notes_and_schemas_are_kept(opened: Opener) -> None:
    first = opened()
    first.note("scan:payments", "17")
    first.note("scan:payments", "18")
    first.put_schema("v", "`a` int", ("a",))
    first.put_schema("w", "`a` int", None)
    first.put_schema("v", "`a` int, `b` string", ("a", "b"))
    second = opened()
    assert (second.noted("scan:payments"), second.noted("other")) == ("18", None)
    assert second.schema("v") == ("`a` int, `b` string", ("a", "b"))
    assert second.schema("w") == ("`a` int", None)
    assert (second.schema("x"), second.views()) == (None, ["v", "w"])


def test_dead_letters_count_once_by_position(store: Store) -> None:
    rows = [("t/0/7", "no \0 number", b"\x00\xff'", "2026-01-01T00:00:00Z"), ("t/0/9", "Ünfug", b"", "2026-01-01T00:00:01Z")]
    assert store.add_dead("s", rows) == 2
    assert store.add_dead("s", [*rows, ("t/0/8", "late", b"x", "2026-01-01T00:00:02Z")]) == 1
    assert store.add_dead("other", rows[:1]) == 1
    assert (store.dead_count("s"), store.dead_count("none")) == (3, 0)
    found = list(store.dead("s"))
    assert [row.position for row in found] == ["t/0/7", "t/0/9", "t/0/8"]
    assert (found[0].raw, found[1].reason) == (b"\x00\xff'", "Ünfug")


def test_another_record_at_the_position_of_a_dead_letter_is_one_more_and_a_repeated_one_is_not(store: Store) -> None:
    """A topic that was recreated has its offsets again, a file that was replaced its lines."""
    place = json.dumps({"topic": "t", "partition": 0, "offset": 7})
    generations = [[(place, "why", record, "2026-01-01T00:00:00Z")] for record in (b"first", b"second", b"", b"\xff")]
    assert [store.add_dead("s", generation) for generation in [*generations, *generations]] == [1] * 4 + [0] * 4
    assert [row.raw for row in store.dead("s")] == [b"first", b"second", b"", b"\xff"]
    assert all(json.loads(row.position)["offset"] == 7 for row in store.dead("s"))
    assert len({row.position for row in store.dead("s")}) == 4


def test_any_text_survives(store: Store) -> None:
    rows = [json.dumps({"t": text}, ensure_ascii=False) for text in ("O'Hara", 'say "hi"', "naïve 東京 🚀", "a\\b\nc\t", "", "100%", "?", "\\N")]
    driver = Driver(store)
    changes = driver.write(lambda w: w.upsert("v", [(json.dumps([row]), row) for row in rows]))
    assert [change.row for change in changes] == rows
    assert list(store.rows("v")) == rows
    assert driver.write(lambda w: w.upsert("v", [(json.dumps([row]), row) for row in rows])) == []


def test_a_hundred_thousand_rows_in_one_epoch(store: Store) -> None:
    driver = Driver(store)
    pairs = [(f"[{n}]", json.dumps({"n": n, "text": f"row {n}"})) for n in range(100_000)]
    assert len(driver.write(lambda w: w.upsert("v", pairs))) == 100_000
    half = [(key, row.replace("row", "ROW")) for key, row in pairs[::2]]
    assert driver.write(lambda w: w.upsert("v", half, gone=["[1]"]))[:2] == [Change("-", "[1]", pairs[1][1]), Change("+", *half[0])]
    assert store.count("v") == 99_999


def test_sqlite_shows_each_view_to_plain_sql(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "results.db")
    store.put_schema("Spend by ländle", "`country` string, `Total Sum` decimal(12,2), `ok` boolean, `tags` array<string>", ("country",))
    row = json.dumps({"country": "O'Land", "Total Sum": "100.50", "ok": True, "tags": ["a"]})
    Driver(store).write(lambda w: w.upsert("Spend by ländle", [("k", row), ("l", '{"country":null,"Total Sum":"9.00","ok":null,"tags":null}')]))
    store.close()
    with sqlite3.connect(tmp_path / "results.db") as plain:
        found = plain.execute('SELECT * FROM "Spend by ländle" ORDER BY "Total Sum" DESC').fetchall()
    plain.close()
    assert found == [("O'Land", 100.5, 1, '["a"]'), (None, 9, None, None)]


def test_postgres_shows_each_view_with_its_types(fresh_database: PostgresServer) -> None:
    store = PostgresStore(fresh_database)
    store.put_schema("spend", "`country` string, `Total` decimal(12,2), `at` timestamp, `tags` array<string>", ("country",))
    Driver(store).write(lambda w: w.upsert("spend", [("k", '{"country":"x","Total":"1.50","at":"2026-01-01T00:00:00Z","tags":["a"]}')]))
    with fresh_database.connect() as plain:
        found = plain.execute('SELECT country, "Total" + 1, at::text, tags->>0 FROM penstock.spend').fetchall()
    store.close()
    assert [tuple(str(value) for value in row) for row in found] == [("x", "2.50", "2026-01-01 00:00:00+00", "a")]


def test_no_row_keeps_plain_sql_from_reading_the_others_in_postgres(fresh_database: PostgresServer) -> None:
    store = PostgresStore(fresh_database)
    store.put_schema("v", "k string, at timestamp, day date, tags array<string>", None)
    rows = [
        '{"k":"a\\u0000b","at":"9999-01-01T00:00:00Z","day":"2024-02-29","tags":["\\u0000"]}',
        '{"k":"\\\\u0000","at":"0001-12-21T19:59:05Z","day":null,"tags":null}',
    ]
    Driver(store).write(lambda w: w.append("v", rows))
    with fresh_database.connect() as connection:
        found = connection.execute("SELECT k, at::text, day::text, tags FROM penstock.v").fetchall()
    assert found == [("ab", "9999-01-01 00:00:00+00", "2024-02-29", [""]), ("\\u0000", "0001-12-21 19:59:05+00", None, None)]
    store.close()


def test_rows_on_their_way_into_postgres_leave_nothing_behind(fresh_database: PostgresServer) -> None:
    """Its connections live as long as the run; no vacuum of the server comes to their temporary tables."""
    store = PostgresStore(fresh_database)
    driver = Driver(store)
    for number in range(5):
        driver.write(lambda w, n=number: w.upsert("v", [(str(key), f"{n}-{key}") for key in range(1000)]))  # type: ignore[misc]
        store.add_dead("s", [(f"{number}", "why", b"x", "2026-01-01T00:00:00Z")])
    with fresh_database.connect() as plain:
        sizes = plain.execute("SELECT pg_relation_size(oid) FROM pg_class WHERE relpersistence = 't' AND relname LIKE 'penstock%batch'").fetchall()
    store.close()
    assert sizes
    assert set(sizes) == {(0,)}


def test_a_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    path.write_bytes(b"this is not a database, " * 100)
    with pytest.raises(StateError, match=r"results\.db cannot be used"):
        SqliteStore(path)


def test_a_file_that_is_damaged_is_distinguished_from_one_that_cannot_be_written_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What may pass is tried again by the supervisor, as with a Postgres that is away; a damaged file is final."""
    for name in ("_SILENT_S", "_WAIT_S"):
        monkeypatch.setattr(f"penstock.store.sqlite.{name}", 0.05)
    path = tmp_path / "results.db"
    store = SqliteStore(path)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match=r"results\.db cannot be used: database is locked"):
            store.note("a", "b")
        other.execute("ROLLBACK")
    other.close()
    assert "another process is writing to the results store" in caplog.text
    store._database._writer.execute("PRAGMA max_page_count = 1")  # type: ignore[attr-defined]
    with pytest.raises(SinkError, match="database or disk is full"):
        store.note("a", "b" * 1_000_000)
    store._database._writer.execute("PRAGMA max_page_count = 1000000")  # type: ignore[attr-defined]
    store.note("a", "b")
    assert store.noted("a") == "b"
    store.close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 200_000)
    with pytest.raises(StateError, match="malformed"):
        SqliteStore(path).views()


def test_of_many_readers_at_once_only_a_few_keep_their_connection(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "results.db")
    Driver(store).write(lambda w: w.append("v", ["1", "2"]))
    crowd = [store.rows("v") for _ in range(30)]
    assert [next(rows) for rows in crowd] == ["1"] * 30
    assert [list(rows) for rows in crowd] == [["2"]] * 30
    idle = store._database._idle  # type: ignore[attr-defined]
    assert 0 < len(idle) <= 4
    assert idle[0].execute("PRAGMA cache_size").fetchone() == (-4096,)
    store.close()


def test_a_postgres_that_is_not_there_is_reported_without_the_password() -> None:
    server = PostgresServer(host="127.0.0.1", port=1, user="ann", password=uuid.uuid4().hex)
    with pytest.raises(SinkError, match=r"ann@127\.0\.0\.1:1/postgres cannot be reached") as caught:
        PostgresStore(server)
    assert server.password not in str(caught.value)
    assert server.password not in repr(server)


def test_the_address_of_a_store_is_read() -> None:
    server = PostgresServer.from_url("postgres://ann:p%40ss@db.example:6543/results?sslmode=require")
    assert (server.host, server.port, server.database, server.user, server.password, server.sslmode) == (
        "db.example",
        6543,
        "results",
        "ann",
        "p@ss",
        "require",
    )
    assert PostgresServer.from_url("postgres://ann@db/results?secret=door", lambda name: f"key of the {name}").password == "key of the door"
    for wrong in ("mysql://x/y", "postgres://host", "postgres://host:port/db"):
        with pytest.raises(PenstockError, match="results store"):
            PostgresServer.from_url(wrong)


KILLED = """
import os, signal, sys
from pathlib import Path
from penstock.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
fence, _ = store.take_over("j", "first")
for epoch in range(3):
    with store.open_epoch("j", "first", fence, epoch) as writer:
        writer.append("v", [f"{epoch}-{n}" for n in range(1000)])
        if epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_whole_epochs_only(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "results.db")], check=False)
    assert done.returncode == -signal.SIGKILL
    store = SqliteStore(tmp_path / "results.db")
    assert store.take_over("j", "first") == Position(2, 1)
    assert [len(epoch.changes) for epoch in store.epochs("v", -1, "first")] == [1000, 1000]
    assert store.count("v") == 2000
    store.close()


def test_a_view_that_comes_later_is_logged_under_a_generation_of_its_own(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1"]))
    token = FenceToken("j", driver.generation, driver.fence)
    with store.amend(token, 0, {"f": "own"}) as writer:
        writer.replace("f", [("a", "1")])
        writer.note("view f", "made")
    assert [epoch.epoch for epoch in store.epochs("f", -1, "own")] == [0]
    assert list(store.epochs("f", -1, driver.generation)) == []
    assert store.committed("j", driver.generation) == 0, "no epoch has come"
    store.set_delivered(token, "s", 0, generation="own")
    assert (store.delivered("s", "own"), store.delivered("s", driver.generation)) == (0, -1)
    with pytest.raises(FencedError), store.amend(token._replace(fence=token.fence - 1), 0):
        raise AssertionError("a driver that was replaced came in")


def test_a_view_is_dropped_by_its_job_unless_another_has_made_it_its_own(store: Store) -> None:
    driver = Driver(store)
    driver.write(lambda w: w.append("v", ["1"]), lambda w: w.upsert("__kept:v", [("a", "1")], log=False), lambda w: w.note("view v", "mine"))
    store.put_schema("v", "n int", None)
    store.note("trimmed v first", "3")
    store.note("trimmed v w first", "3")
    token = FenceToken("j", driver.generation, driver.fence)
    with store.amend(token, 0) as writer:
        assert writer.drop("v", "view v", "another's") is False
    assert list(store.rows("v")) == ["1"]
    with store.amend(token, 0) as writer:
        assert writer.drop("v", "view v", "mine") is True
    assert (list(store.rows("v")), store.held("__kept:v"), store.schema("v")) == ([], [], None)
    assert store.notes().keys() == {"trimmed v w first", "epochs v"}, "the epochs that readers see go on if it is made again"


def test_what_was_built_up_beside_takes_the_place_of_the_old_one(store: Store) -> None:
    made = ViewGeneration("next", "two", "f", "two", 0, "2024-05-01T00:00:00+00:00")
    old, new = store.take_over("v", "one"), store.take_over("next", "two")
    with store.open_epoch("v", "one", old.fence, 0) as writer:
        writer.upsert("v", [("a", '{"n":1}')])
        writer.upsert("__kept:v", [("a", "old")], log=False)
    store.put_schema("v", "n int", ("n",))
    for epoch in (0, 1):
        with store.open_epoch("next", "two", new.fence, epoch) as writer:
            writer.append("next", [f'{{"m":{epoch}}}'])
            writer.upsert("__kept:next", [("b", "new")], log=False)
            writer.note(note_of("next"), made.text)
    store.put_schema("next", "m int", None)
    store.note("trimmed next two", "-1")
    store.swap("v", "next")
    assert list(store.rows("v")) == ['{"m":0}', '{"m":1}']
    assert [row.row for row in store.held("__kept:v")] == ["new"]
    assert store.schema("v") == ("m int", None)
    assert [epoch.epoch for epoch in store.epochs("v", -1, "two")] == [0, 1]
    assert (store.committed("v", "two"), store.committed("v", "one")) == (1, -1)
    assert store.trimmed("v", "two") == -1
    assert read_generations(store.notes()) == {"v": replace(made, job="v")}
    assert (list(store.rows("next")), store.schema("next"), store.committed("next", "two")) == ([], None, -1)
    with pytest.raises(FencedError), store.open_epoch("v", "one", old.fence, 1):
        raise AssertionError("the old one came in")
    assert store.take_over("v", "two").epoch == 1

"""The SQLite sink, looked at with the sqlite3 command line and Python's own module: every value, each epoch once and whole."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.change import Additions, Change, Epoch
from penstock.errors import FencedError, OptionFault, RefusalError, SinkError
from penstock.sink.open import SinkWriter, open_sink
from penstock.sink.sqlite import sink as sqlite_sink
from penstock.testing.trial import Trial
from penstock.verify.run import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = "k string, n int"
Opener = Callable[..., SinkWriter]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens sinks of view `v` to table `t` of `out.db`, and closes them."""
    sinks: list[SinkWriter] = []

    def open_one(
        ddl: str = SMALL, key: tuple[str, ...] | None = None, append_only: bool = False, complete: bool = False, name: str = "s", **more: str
    ) -> SinkWriter:
        options = {"connector": "sqlite", "path": "out.db", "table": "t", **more}
        sinks.append(open_sink(name, "v", options, ddl, key, append_only=append_only, complete=complete, folder=tmp_path))
        return sinks[-1]

    yield open_one
    for sink in sinks:
        sink.close()


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    def run_one(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(tmp_path / "out.db", isolation_level=None)) as connection:
            return connection.execute(sql).fetchall()

    return run_one


def small(k: str | None, n: int) -> str:
    return json.dumps({"k": k, "n": n}, ensure_ascii=False)


def put(k: str | None, n: int) -> Change:
    return Change("+", json.dumps({"k": k}), small(k, n))


def taken(k: str | None, n: int) -> Change:
    return Change("-", json.dumps({"k": k}), small(k, n))


def bag(op: str, k: str | None, n: int) -> Change:
    return Change(op, None, small(k, n))


def epoch(number: int, changes: Sequence[Change], generation: str = "one") -> Epoch:
    return Epoch("v", generation, number, changes if isinstance(changes, Additions) else list(changes))


Run = Callable[[str], list[tuple[Any, ...]]]


def test_every_type_is_held_as_it_is(opened: Opener, run: Run, tmp_path: Path) -> None:
    ddl = (
        "name string, n bigint, price decimal(12,2), long decimal(38,2), f double, g double, h double, ok boolean, b binary, day date,"
        " at timestamp, w struct<start: timestamp>, tags array<string>"
    )
    full = {
        "name": 'O\'Hara "q" 東京 🚀\t\\n',
        "n": 9007199254740993,
        "price": "1234567890.12",
        "long": "123456789012345678901234567890123456.78",
        "f": 0.1,
        "g": "NaN",
        "h": "-Infinity",
        "ok": True,
        "b": "AP8n",
        "day": "2024-02-29",
        "at": "2024-02-29T23:59:59.123456Z",
        "w": {"start": "2024-01-01T00:00:00Z"},
        "tags": ["a", "b'"],
    }
    sink = opened(ddl, append_only=True)
    sink.deliver(epoch(0, Additions([json.dumps(full, ensure_ascii=False), json.dumps(dict.fromkeys(full))])))
    held, nothing = run("SELECT * FROM t")
    assert held == (
        *('O\'Hara "q" 東京 🚀\t\\n', 9007199254740993, 1234567890.12, "123456789012345678901234567890123456.78"),
        *(0.1, "NaN", float("-inf"), 1, b"\x00\xff'", "2024-02-29", "2024-02-29T23:59:59.123456Z"),
        *('{"start":"2024-01-01T00:00:00Z"}', '["a","b\'"]'),
    )
    assert set(nothing) == {None}
    types = {name: kind for _, name, kind, *_ in run("PRAGMA table_info(t)")}
    assert (types["n"], types["price"], types["long"], types["f"], types["b"]) == ("INTEGER", "DECIMAL(12,2)", "", "REAL", "BLOB")
    if shutil.which("sqlite3"):
        query = "SELECT sum(n), sum(price), date(at) FROM t WHERE json_extract(tags, '$[0]') = 'a'"
        shown = subprocess.run(["sqlite3", str(tmp_path / "out.db"), query], capture_output=True, text=True, check=True)
        assert shown.stdout == "9007199254740993|1234567890.12|2024-02-29\n"


def test_keyed_views_upsert_and_delete_even_where_a_key_is_null(opened: Opener, run: Run) -> None:
    sink = opened(key=("k",))
    sink.deliver(epoch(0, [put("a", 1), put(None, 2), put("a", 3), put("b", 4)]))
    sink.deliver(epoch(1, [put(None, 5), taken("b", 4)]))
    assert run("SELECT k, n FROM t ORDER BY k") == [(None, 5), ("a", 3)]
    sink.deliver(epoch(2, [taken(None, 5), put("c", 1), taken("c", 1)]))
    assert run("SELECT k, n FROM t") == [("a", 3)]


def test_views_without_a_key_take_back_exactly_one_copy(opened: Opener, run: Run) -> None:
    sink = opened("k string, n int, f double, d decimal(9,2)")
    rows = [json.dumps({"k": k, "n": n, "f": f, "d": d}) for k, n, f, d in (("a", 1, "NaN", "1.50"), (None, None, None, None), ("", 2, 0.1, "3.00"))]
    sink.deliver(epoch(0, [Change("+", None, line) for line in rows * 3]))
    sink.deliver(epoch(1, [*(Change("-", None, line) for line in (*rows, rows[0])), Change("+", None, rows[1])]))
    assert run("SELECT k, count(*) FROM t GROUP BY k ORDER BY 2") == [("a", 1), ("", 2), (None, 3)]


def test_taking_back_many_rows_of_a_large_table_is_one_pass(opened: Opener, run: Run) -> None:
    sink = opened()
    sink.deliver(epoch(0, [bag("+", f"k{number % 997}", number) for number in range(60_000)]))
    sink.deliver(epoch(1, [bag("-", f"k{number % 997}", number) for number in range(0, 60_000, 2)]))
    assert run("SELECT count(*), sum(n % 2) FROM t") == [(30_000, 30_000)]


def test_complete_results_and_single_rows_replace(opened: Opener, run: Run) -> None:
    sink = opened(complete=True)
    sink.deliver_complete(epoch(0, []), [small("a", 1), small("b", 2)])
    sink.deliver_complete(epoch(1, []), [small("c", 3), small("c", 3)])
    sink.deliver_complete(epoch(1, []), [small("never", 0)])
    assert run("SELECT k, n FROM t") == [("c", 3), ("c", 3)]
    one = opened(key=(), table="one")
    one.deliver(epoch(0, [Change("+", "{}", small("x", 1))]))
    one.deliver(epoch(1, [Change("-", "{}", small("x", 1)), Change("+", "{}", small("x", 2))]))
    assert run("SELECT k, n FROM one") == [("x", 2)]


def test_a_replayed_epoch_is_skipped_and_the_older_driver_fenced(opened: Opener, run: Run) -> None:
    first = opened(append_only=True)
    assert first.position("one") == -1
    first.deliver(epoch(0, [bag("+", "a", 1)]))
    first.deliver(epoch(1, []))
    again = opened(append_only=True)
    assert again.position("one") == 1
    again.deliver(epoch(0, [bag("+", "a", 1)]))
    again.deliver(epoch(2, [bag("+", "b", 1)]))
    with pytest.raises(FencedError, match="another driver has taken over table t"):
        first.deliver(epoch(3, [bag("+", "old", 1)]))
    assert run("SELECT k FROM t") == [("a",), ("b",)]
    assert run("SELECT sink, target, generation, fence, epoch FROM penstock_sinks") == [("s", "t", "one", 2, 2)]


def test_a_view_that_starts_again_replaces_what_penstock_made_and_nothing_else(opened: Opener, run: Run, tmp_path: Path) -> None:
    opened(append_only=True).deliver(epoch(5, [bag("+", "old", 1)]))
    again = opened("k string, n int, more double", append_only=True)
    assert again.position("two") == -1
    assert run("SELECT k FROM t") == [("old",)]
    again.deliver(epoch(0, [Change("+", None, '{"k":"new","n":1,"more":0.5}')], "two"))
    assert run("SELECT * FROM t") == [("new", 1, 0.5)]
    run("CREATE TABLE mine (k TEXT, n INT, note TEXT DEFAULT 'mine')")
    opened(append_only=True, table="mine").deliver(epoch(0, [bag("+", "a", 1)]))
    with pytest.raises(RefusalError, match="Penstock did not make that table"):
        opened(append_only=True, table="MINE").position("two")
    assert run("SELECT * FROM mine") == [("a", 1, "mine")]


def test_a_table_of_the_users_own_keeps_its_other_columns(opened: Opener, run: Run) -> None:
    run("CREATE TABLE t (note TEXT DEFAULT 'new', K TEXT PRIMARY KEY, n REAL)")
    sink = opened(key=("k",))
    sink.deliver(epoch(0, [put("a", 1), put("b", 2)]))
    run("UPDATE t SET note = 'kept'")
    sink.deliver(epoch(1, [put("a", 7), taken("b", 2), put("c", 3)]))
    assert run("SELECT * FROM t ORDER BY k") == [("kept", "a", 7.0), ("new", "c", 3.0)]


@pytest.mark.parametrize(
    ("table", "ddl", "message"),
    [
        ("k TEXT", SMALL, "lacks columns of view `v`: n INTEGER"),
        ("k INTEGER, n INTEGER", SMALL, "k is INTEGER and should be TEXT"),
        ("k TEXT, n REAL", "k string, n bigint", "n is REAL and should be INTEGER"),
        ("k TEXT, n TEXT", "k string, n double", "n is TEXT and should be REAL"),
    ],
)
def test_a_table_that_would_change_values_is_refused(opened: Opener, run: Run, table: str, ddl: str, message: str) -> None:
    run(f"CREATE TABLE t ({table})")
    with pytest.raises(RefusalError, match=message):
        opened(ddl, append_only=True).position("one")


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_only_a_table_of_its_own_is_replaced_with_every_epoch(opened: Opener, run: Run, delivery: str) -> None:
    run("CREATE TABLE mine (k TEXT, n INT)")
    with pytest.raises(RefusalError, match="Penstock did not make that table for it"):
        opened(complete=True, table="mine", delivery=delivery).position("one")
    opened(complete=True, delivery=delivery).position("one")
    with pytest.raises(RefusalError, match="is that of sink `s`, which replaces all its rows"):
        opened(append_only=True, name="other", delivery=delivery).position("one")


def test_at_least_once_has_no_ledger(opened: Opener, run: Run) -> None:
    sink = opened(append_only=True, delivery="at-least-once")
    assert sink.position("one") is None
    for _ in range(2):
        sink.deliver(epoch(0, [bag("+", "a", 1)]))
    assert run("SELECT k FROM t") == [("a",), ("a",)]
    assert run("SELECT * FROM penstock_sinks") == []


def test_what_was_dropped_or_removed_is_noticed(opened: Opener, run: Run, tmp_path: Path) -> None:
    sink = opened(append_only=True)
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    run("DROP TABLE t")
    with pytest.raises(RefusalError, match="is gone, but the ledger"):
        opened(append_only=True).position("one")
    (tmp_path / "out.db").unlink()
    with pytest.raises(SinkError, match="the file is gone"):
        sink.deliver(epoch(1, [bag("+", "b", 1)]))


def test_what_is_no_database_is_refused_in_one_sentence(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "out.db").write_text("these are notes, not a database at all\n" * 100)
    with pytest.raises(RefusalError, match=r"out\.db is not a SQLite file"):
        opened(append_only=True).position("one")
    with pytest.raises(RefusalError, match="cannot be called"):
        opened(append_only=True, table="penstock_sinks")
    with pytest.raises(OptionFault, match="lacks the option `table`"):
        open_sink("s", "v", {"connector": "sqlite", "path": "x.db"}, SMALL, None, append_only=True, complete=False, folder=tmp_path)


def test_a_reader_sees_whole_epochs_only(opened: Opener, run: Run) -> None:
    sink = opened(complete=True)
    sink.deliver_complete(epoch(0, []), [small("a", 0)] * 500)
    over = threading.Event()
    seen: list[tuple[int, int, int]] = []

    def read() -> None:
        while not over.is_set():
            seen.extend(run("SELECT count(*), min(n), max(n) FROM t"))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 60):
        sink.deliver_complete(epoch(number, []), [small("a", number)] * 500)
    over.set()
    reader.join()
    assert len({low for _, low, _ in seen}) > 3
    assert all(count == 500 and low == high for count, low, high in seen)


KILLED = """
import json, sys
from pathlib import Path
from penstock.change import Additions, Epoch
from penstock.sink.open import open_sink
sink = open_sink("s", "v", {"connector": "sqlite", "path": "out.db", "table": "t"}, "k string, n int", None, append_only=True, complete=False,
                 folder=Path(sys.argv[1]))
at = sink.position("one")
for number in range(at + 1, 4):
    sink.deliver(Epoch("v", "one", number, Additions([json.dumps({"k": "x", "n": number})] * 100)))
"""


@pytest.mark.parametrize("point", ["sink.mid-rows", "sink.before-commit"])
def test_a_driver_that_is_killed_leaves_no_half_epoch(run: Run, tmp_path: Path, point: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    killed = subprocess.run(command, env={**os.environ, "PENSTOCK_KILL_AT": f"{point}:3"}, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert run("SELECT n, count(*) FROM t GROUP BY n") == [(0, 100), (1, 100)]
    subprocess.run(command, check=True)
    assert run("SELECT n, count(*) FROM t GROUP BY n") == [(number, 100) for number in range(4)]


def test_a_file_that_another_process_holds_is_named(opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_sink, "_WAIT_S", 0.1)
    sink = opened(append_only=True)
    sink.position("one")
    with closing(sqlite3.connect(tmp_path / "out.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match="database is locked") as caught:
            sink.deliver(epoch(0, [bag("+", "a", 1)]))
    assert "another process" in str(caught.value.hint)
    sink.deliver(epoch(0, [bag("+", "a", 1)]))


def test_an_app_delivers_to_sqlite_and_verify_agrees(spark: SparkSession, tmp_path: Path, run: Run) -> None:
    trial = Trial(tmp_path, spark, {"batch_files_max": "1"})
    trial.write(
        "app.py",
        """
        import penstock as ps

        app = ps.App("shop")
        sales = app.stream("sales", ps.Files("sales", format="json"), "item STRING, amount DECIMAL(8,2), ok BOOLEAN, at TIMESTAMP", event_time="at")
        rows = app.view("rows", sales.select("item", "amount", "ok", "at", ratio="amount / 3D"))
        totals = app.view("totals", sales.group_by("item").agg(total="sum(amount)", mean="avg(amount)", oks="collect_set(ok)"))
        app.sink("rows_out", rows, ps.Sqlite("out.db", table="rows"))
        app.sink("totals_out", totals, ps.Sqlite("out.db", table="totals"))
        app.sink("loose", totals, ps.Sqlite("out.db", table="loose", delivery="at-least-once"))
        """,
    )
    trial.write(
        "more.sql",
        """
        CREATE MATERIALIZED VIEW board AS SELECT item, count(*) AS n FROM sales GROUP BY item EMIT COMPLETE;
        CREATE MATERIALIZED VIEW top AS SELECT item, total FROM totals ORDER BY total DESC, item LIMIT 2;
        CREATE SINK board_out FROM board WITH (connector = 'sqlite', path = 'out.db', table = 'board');
        CREATE SINK top_out FROM top WITH (connector = 'sqlite', path = 'out.db', table = 'top');
        """,
    )
    for number, item in enumerate(["tea", "milk", None, "tea", "it's", "milk", "tea"]):
        trial.feed("sales", {"item": item, "amount": f"{number}.50", "ok": number % 2 == 0, "at": f"2024-05-01T10:00:0{number}Z"})
    trial.drain()
    assert run("SELECT item, total FROM totals ORDER BY item") == [(None, 2.5), ("it's", 4.5), ("milk", 7), ("tea", 10.5)]
    assert run("SELECT item, n FROM board ORDER BY n DESC, item LIMIT 1") == [("tea", 3)]
    with trial.engine() as engine:
        found = list(verify(engine, session=spark))
    assert [verdict.as_json() for verdict in found if not verdict.equal] == []
    assert len(found) == 4 + 5
    run("UPDATE totals SET total = 1 WHERE item = 'tea'")
    run("DELETE FROM rows WHERE item = 'milk'")
    with trial.engine() as engine:
        wrong = {str(verdict.sink): verdict.found for verdict in verify(engine, session=spark) if not verdict.equal}
    assert {name: (len(found.missing), len(found.different)) for name, found in wrong.items()} == {"rows_out": (2, 0), "totals_out": (0, 1)}

"""Every sink against the real thing: what arrives, once, whatever is in the data, and what is reported when it cannot."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

import duckdb
from penstock.change import Change, Epoch
from penstock.dev.broker import Broker
from penstock.errors import AppFault, FencedError, OptionFault, RefusalError, SinkError
from penstock.sink.open import SinkWriter, open_sink
from penstock.sink.postgres import sink as postgres_sink
from penstock.store.postgres_server import PostgresServer
from penstock.testing.postgres import TemporaryPostgres

DDL = (
    "`Name` string, n bigint, price decimal(12,2), f double, ok boolean, b binary, day date, at timestamp, local timestamp_ntz, "
    "w struct<start: timestamp, end: timestamp>, tags array<string>"
)
SMALL = "k string, n int"


def row(name: str | None, **values: object) -> str:
    """A row with every column of DDL."""
    plain: dict[str, object] = dict.fromkeys(("n", "price", "f", "ok", "b", "day", "at", "local", "w", "tags"))
    return json.dumps({"Name": name, **plain, **values}, ensure_ascii=False)


def small(k: str | None, n: int) -> str:
    return json.dumps({"k": k, "n": n}, ensure_ascii=False)


def put(k: str | None, n: int) -> Change:
    return Change("+", json.dumps([k]), small(k, n))


def taken(k: str | None, n: int) -> Change:
    return Change("-", json.dumps([k]), small(k, n))


def bag(op: str, k: str, n: int) -> Change:
    return Change(op, None, small(k, n))


def epoch(number: int, changes: Sequence[Change], generation: str = "one") -> Epoch:
    return Epoch("v", generation, number, list(changes))


Opener = Callable[..., SinkWriter]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Opens sinks named `s` of view `v`, with SMALL columns unless given others, and closes them."""
    sinks: list[SinkWriter] = []

    def open_one(
        ddl: str = SMALL, key: tuple[str, ...] | None = None, append_only: bool = False, complete: bool = False, **options: object
    ) -> SinkWriter:
        texts = {name: str(value) for name, value in options.items()}
        sinks.append(open_sink("s", "v", texts, ddl, key, append_only=append_only, complete=complete, folder=tmp_path))
        return sinks[-1]

    yield open_one
    for sink in sinks:
        sink.close()


class Database:
    """A fresh database, its options and a way to look into it."""

    def __init__(self, server: TemporaryPostgres, name: str) -> None:
        self.options: dict[str, object] = {"connector": "postgres", "table": "t", **server.parameters(name)}
        self.server = PostgresServer.from_options({option: str(value) for option, value in self.options.items()})

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with self.server.connect() as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []


@pytest.fixture
def db(postgres_server: TemporaryPostgres, database: str) -> Database:
    return Database(postgres_server, database)


VALUES = [
    row(
        'O\'Hara "q" 東京 🚀\t\\n',
        n=9007199254740993,
        price="1234567890.12",
        f="NaN",
        ok=True,
        b="AP8n",
        day="2024-02-29",
        at="2024-02-29T23:59:59.123456Z",
        local="2024-02-29T23:59:59",
        w={"start": "2024-01-01T00:00:00Z", "end": None},
        tags=["a", "b'"],
    ),
    row(None),
    row("", f="-Infinity", price="-0.01", tags=[]),
]


def test_postgres_decodes_every_type(opened: Opener, db: Database) -> None:
    sink = opened(DDL, append_only=True, **db.options)
    sink.deliver(epoch(0, [Change("+", None, line) for line in VALUES]))
    full, nothing, odd = db.run("SELECT \"Name\", n, price, f, ok, b, day::text, at::text, local::text, w->>'start', tags->>1, w FROM t")
    assert full[:3] == ('O\'Hara "q" 東京 🚀\t\\n', 9007199254740993, Decimal("1234567890.12"))
    assert math.isnan(full[3])
    assert full[4:11] == (
        True,
        b"\x00\xff'",
        "2024-02-29",
        "2024-02-29 23:59:59.123456+00",
        "2024-02-29 23:59:59",
        "2024-01-01T00:00:00Z",
        "b'",
    )
    assert nothing == (None,) * 12
    assert (odd[0], odd[2], odd[3]) == ("", Decimal("-0.01"), -math.inf)
    types = dict(db.run("SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0"))
    assert (types["price"], types["at"], types["w"]) == ("numeric(12,2)", "timestamp with time zone", "jsonb")


def test_postgres_upserts_and_deletes_by_key_even_when_it_is_null(opened: Opener, db: Database) -> None:
    sink = opened(key=("k",), **db.options)
    sink.deliver(epoch(0, [put("a", 1), put(None, 2), put("a", 3), put("b", 4)]))
    sink.deliver(epoch(1, [put(None, 5), taken("b", 4)]))
    assert sorted(db.run("SELECT k, n FROM t"), key=str) == [("a", 3), (None, 5)]
    sink.deliver(epoch(2, [taken(None, 5), put("c", 1), taken("c", 1)]))
    assert db.run("SELECT k, n FROM t") == [("a", 3)]


def test_postgres_takes_back_exactly_one_copy(opened: Opener, db: Database) -> None:
    sink = opened(DDL, **db.options)
    sink.deliver(epoch(0, [Change("+", None, line) for line in (*VALUES, *VALUES, *VALUES)]))
    sink.deliver(epoch(1, [*(Change("-", None, line) for line in VALUES), Change("-", None, VALUES[0]), Change("+", None, VALUES[1])]))
    assert db.run('SELECT "Name", count(*) FROM t GROUP BY 1 ORDER BY 2, 1') == [('O\'Hara "q" 東京 🚀\t\\n', 1), ("", 2), (None, 3)]


def test_postgres_replaces_a_complete_result(opened: Opener, db: Database) -> None:
    sink = opened(key=("k",), complete=True, **db.options)
    sink.deliver_complete(epoch(0, []), [small("a", 1), small("b", 2)])
    sink.deliver_complete(epoch(1, []), [small("c", 3), small("c", 3)])
    sink.deliver_complete(epoch(1, []), [small("never", 0)])
    assert db.run("SELECT k, n FROM t") == [("c", 3), ("c", 3)]


def test_postgres_keeps_one_row_of_a_key_with_nulls_whatever_the_unique_index_says(opened: Opener, db: Database) -> None:
    """To a plain UNIQUE two nulls are different, so nothing would conflict and every change would add a row."""
    db.run("CREATE TABLE t (k text, n int, note text DEFAULT 'new', UNIQUE (k))")
    sink = opened(key=("k",), **db.options)
    sink.deliver(epoch(0, [put(None, 1), put("null", 7), put("a", 1)]))
    db.run("UPDATE t SET note = 'kept'")
    sink.deliver(epoch(1, [put(None, 2), put("null", 8)]))
    assert db.run("SELECT k, n, note FROM t ORDER BY k") == [("a", 1, "kept"), ("null", 8, "kept"), (None, 2, "kept")]
    sink.deliver(epoch(2, [taken(None, 2)]))
    assert db.run("SELECT k, n FROM t ORDER BY k") == [("a", 1), ("null", 8)]


def test_postgres_keeps_one_row_of_a_key_that_is_partly_null(opened: Opener, db: Database) -> None:
    db.run("CREATE TABLE t (k text, n int, UNIQUE (k, n))")
    sink = opened(key=("k", "n"), **db.options)
    for number in range(2):
        sink.deliver(epoch(number, [Change("+", '{"k":null,"n":1}', small(None, 1)), Change("+", '{"k":"a","n":1}', small("a", 1))]))
    assert db.run("SELECT k, n FROM t ORDER BY k") == [("a", 1), (None, 1)]


def test_postgres_skips_a_replayed_epoch(opened: Opener, db: Database) -> None:
    first = opened(append_only=True, **db.options)
    assert first.position("one") == -1
    first.deliver(epoch(0, [bag("+", "a", 1)]))
    first.deliver(epoch(1, []))
    again = opened(append_only=True, **db.options)
    assert again.position("one") == 1
    again.deliver(epoch(0, [bag("+", "a", 1)]))
    again.deliver(epoch(2, [bag("+", "b", 1)]))
    assert db.run("SELECT k FROM t") == [("a",), ("b",)]
    assert db.run("SELECT sink, target, generation, fence, epoch FROM penstock_sinks") == [("s", "t", "one", 2, 2)]


def test_postgres_fences_the_older_driver(opened: Opener, db: Database) -> None:
    old, new = opened(append_only=True, **db.options), opened(append_only=True, **db.options)
    old.position("one")
    new.position("one")
    with pytest.raises(FencedError, match="another driver"):
        old.deliver(epoch(0, [bag("+", "old", 1)]))
    new.deliver(epoch(0, [bag("+", "new", 1)]))
    assert db.run("SELECT k FROM t") == [("new",)]


def test_postgres_starts_over_in_a_table_it_made(opened: Opener, db: Database) -> None:
    opened(append_only=True, **db.options).deliver(epoch(5, [bag("+", "old", 1)]))
    again = opened(append_only=True, **db.options)
    assert again.position("two") == -1
    assert db.run("SELECT k FROM t") == [("old",)]
    again.deliver(epoch(0, [bag("+", "new", 1)], "two"))
    assert db.run("SELECT k FROM t") == [("new",)]


def test_postgres_knows_its_table_in_another_spelling(opened: Opener, db: Database) -> None:
    """To its ledger that is another place: everything would be delivered to the same table once more."""
    opened(append_only=True, **db.options).deliver(epoch(0, [bag("+", "a", 1)]))
    with pytest.raises(RefusalError, match=r"table public\.t is the table t, to which it has delivered epochs up to 0"):
        opened(append_only=True, **{**db.options, "table": "public.t"}).position("one")
    again = opened(append_only=True, **db.options)
    assert again.position("one") == 0
    again.deliver(epoch(1, [bag("+", "b", 2)]))
    assert db.run("SELECT k FROM t ORDER BY k") == [("a",), ("b",)]


def test_postgres_never_empties_a_table_that_another_sink_spells_otherwise(opened: Opener, db: Database, tmp_path: Path) -> None:
    opened(append_only=True, **db.options).deliver(epoch(0, [bag("+", "a", 1)]))
    options = {name: str(value) for name, value in {**db.options, "table": "public.t"}.items()}
    other = open_sink("other", "v", options, SMALL, None, append_only=True, complete=False, folder=tmp_path)
    other.deliver(epoch(0, [bag("+", "b", 2)]))
    other.close()
    with pytest.raises(RefusalError, match="other sinks write to it too"):
        opened(append_only=True, **db.options).position("two")


def test_postgres_never_empties_a_table_of_the_users_own(opened: Opener, db: Database) -> None:
    db.run("CREATE TABLE t (k text, n int, note text DEFAULT 'mine')")
    opened(append_only=True, **db.options).deliver(epoch(0, [bag("+", "a", 1)]))
    with pytest.raises(SinkError, match="Penstock did not make that table"):
        opened(append_only=True, **db.options).position("two")
    assert db.run("SELECT k, note FROM t") == [("a", "mine")]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize("complete", [False, True], ids=["single row", "complete"])
def test_postgres_replaces_all_rows_only_of_a_table_that_is_its_alone(
    opened: Opener, db: Database, tmp_path: Path, delivery: str, complete: bool
) -> None:
    options = {**db.options, "delivery": delivery}

    def total(number: int, sink: SinkWriter, n: int) -> None:
        if complete:
            sink.deliver_complete(epoch(number, []), [small(None, n)])
        else:
            sink.deliver(epoch(number, [Change("+", "{}", small(None, n))]))

    db.run("CREATE TABLE mine (k text, n int); INSERT INTO mine VALUES ('mine', 0)")
    with pytest.raises(RefusalError, match="every epoch of view `v` replaces all rows of table mine, but Penstock did not make that table for it"):
        opened(key=(), complete=complete, **{**options, "table": "mine"}).position("one")
    assert db.run("SELECT k FROM mine") == [("mine",)]

    first = opened(key=(), complete=complete, **options)
    first.position("one")
    total(0, first, 1)
    texts = {name: str(value) for name, value in options.items()}
    for key, whole in (((), complete), (None, False)):
        other = open_sink("other", "v", texts, SMALL, key, append_only=False, complete=whole, folder=tmp_path)
        with closing(other), pytest.raises(RefusalError, match="table t is that of sink s, which replaces all its rows"):
            other.position("one")
    again = opened(key=(), complete=complete, **options)
    again.position("one")
    total(1, again, 2)
    assert db.run("SELECT n FROM t") == [(2,)]


def test_a_life_that_delivered_nothing_is_no_reason_to_refuse_a_table_of_the_users_own(opened: Opener, db: Database) -> None:
    db.run("CREATE TABLE t (k text, n int)")
    db.run("INSERT INTO t VALUES ('mine', 0)")
    opened(append_only=True, **db.options).position("one")
    again = opened(append_only=True, **db.options)
    assert again.position("two") == -1
    again.deliver(epoch(0, [bag("+", "a", 1)], "two"))
    assert db.run("SELECT k FROM t ORDER BY k") == [("a",), ("mine",)]


def test_postgres_notices_that_its_table_was_dropped(opened: Opener, db: Database) -> None:
    opened(append_only=True, **db.options).deliver(epoch(0, [bag("+", "a", 1)]))
    db.run("DROP TABLE t")
    with pytest.raises(SinkError, match="is gone, but the ledger"):
        opened(append_only=True, **db.options).position("one")


def test_postgres_at_least_once_has_no_ledger(opened: Opener, db: Database) -> None:
    sink = opened(append_only=True, delivery="at-least-once", **db.options)
    assert sink.position("one") is None
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    assert db.run("SELECT k FROM t") == [("a",), ("a",)]
    assert db.run("SELECT to_regclass('penstock_sinks')") == [(None,)]


def test_postgres_waits_for_a_lock_of_the_users_own(opened: Opener, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """At-most-once would else lose the epoch."""

    monkeypatch.setattr(postgres_sink, "_LOCK_PATIENCE", "100ms")
    sink = opened(append_only=True, delivery="at-most-once", **db.options)
    sink.position("one")
    with db.server.connect() as holding, holding.transaction():
        holding.execute("LOCK TABLE t")
        writing = threading.Thread(target=sink.deliver, args=[epoch(0, [bag("+", "a", 1)])])
        writing.start()
        writing.join(1)
        assert writing.is_alive()
    writing.join()
    assert db.run("SELECT k FROM t") == [("a",)]


def test_postgres_writes_into_an_existing_table_of_other_types(opened: Opener, db: Database) -> None:
    db.run('CREATE SCHEMA shop; CREATE TABLE shop."Odd Name" (id serial, "K" varchar(10) PRIMARY KEY, n numeric)')
    sink = opened(key=("k",), **{**db.options, "table": "shop.Odd Name"})
    sink.deliver(epoch(0, [put("a", 1), put("b", 2)]))
    sink.deliver(epoch(1, [put("a", 7), taken("b", 2)]))
    assert db.run('SELECT "K", n FROM shop."Odd Name"') == [("a", Decimal(7))]
    assert db.run("SELECT epoch FROM shop.penstock_sinks") == [(1,)]


NARROW = [
    ("n decimal(12,2)", "numeric(10,0)", "numeric(12,2)"),
    ("n decimal(12,4)", "numeric(12,2)", "numeric(12,4)"),
    ("n bigint", "integer", "bigint"),
    ("n bigint", "double precision", "bigint"),
    ("n double", "numeric", "double precision"),
    ("n timestamp", "date", "timestamp with time zone"),
    ("n timestamp", "timestamp(3) with time zone", "timestamp with time zone"),
    ("n string", "character(5)", "text"),
    ("n binary", "text", "bytea"),
]


def test_postgres_refuses_a_column_that_would_change_values(opened: Opener, db: Database) -> None:
    for ddl, column, should_be in NARROW:
        db.run(f"CREATE TABLE t (n {column})")
        message = f"cannot hold every value of view `v` as it is: n is {column} and should be {should_be}"
        with pytest.raises(RefusalError, match=re.escape(message)):
            opened(ddl, append_only=True, **db.options).position("one")
        db.run("DROP TABLE t")


def test_postgres_fills_columns_that_hold_more_and_cuts_no_text(opened: Opener, db: Database) -> None:
    db.run("CREATE TYPE size AS ENUM ('S', 'L'); CREATE DOMAIN word AS text CHECK (VALUE <> '')")
    db.run("CREATE TABLE t (a numeric(14,4), b bigint, c timestamp, d uuid, e size, f word, g varchar(3), h text)")
    ddl = "a decimal(12,2), b int, c date, d string, e string, f string, g string, h timestamp"
    values = {"a": "1234567890.12", "b": 7, "c": "2024-02-29", "d": "6f1c0a52-3b0e-4d0e-9a30-6f1c0a523b0e", "e": "L", "f": "w", "g": "abc", "h": None}
    sink = opened(ddl, append_only=True, **db.options)
    sink.deliver(epoch(0, [Change("+", None, json.dumps(values))]))
    assert db.run("SELECT a, b, c::text, d::text, e::text, f, g FROM t") == [
        (Decimal("1234567890.1200"), 7, "2024-02-29 00:00:00", values["d"], "L", "w", "abc")
    ]
    with pytest.raises(SinkError, match="value too long"):
        sink.deliver(epoch(1, [Change("+", None, json.dumps({**values, "g": "abcdef"}))]))


def test_postgres_recreates_its_table_for_a_view_that_starts_over_with_other_columns_or_another_key(opened: Opener, db: Database) -> None:
    """In the transaction of the first epoch: a reader sees the old rows as they were, or the new ones as they are."""

    def write(generation: str, ddl: str, key: tuple[str, ...] | None, *lines: dict[str, object]) -> None:
        sink = opened(ddl, key=key, **db.options)
        assert sink.position(generation) == -1
        named = [None if key is None else json.dumps({name: line[name] for name in key}) for line in lines]
        sink.deliver(epoch(0, [Change("+", name, json.dumps(line)) for name, line in zip(named, lines, strict=True)], generation))

    db.run("CREATE ROLE reader_of_t")
    write("one", "k string, n decimal(10,2)", ("k",), {"k": "a", "n": "1.25"})
    db.run("GRANT SELECT ON t TO reader_of_t")
    opened("k string, n decimal(12,4)", key=("k",), **db.options).position("two")
    assert db.run("SELECT k, n FROM t") == [("a", Decimal("1.25"))]
    write("two", "k string, n decimal(12,4)", ("k",), {"k": "a", "n": "1.2345"})
    assert db.run("SELECT k, n FROM t") == [("a", Decimal("1.2345"))]
    write("three", "k string, n decimal(12,4)", ("k", "n"), {"k": "a", "n": "1"}, {"k": "a", "n": "2"})
    write("four", "k string, n decimal(12,4)", None, {"k": "a", "n": "1"}, {"k": "a", "n": "1"})
    assert db.run("SELECT k, n FROM t") == [("a", Decimal(1))] * 2
    write("five", "other date", None, {"other": "2024-02-29"})
    assert db.run("SELECT t::text, has_table_privilege('reader_of_t', 't', 'SELECT') FROM t") == [("(2024-02-29)", True)]
    db.run("DROP OWNED BY reader_of_t; DROP ROLE reader_of_t; CREATE VIEW of_it AS SELECT * FROM t")
    with pytest.raises(RefusalError, match="others depend on it: view of_it"):
        write("six", "other string", None, {"other": "x"})
    assert db.run("SELECT other::text FROM of_it") == [("2024-02-29",)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("CREATE TABLE t (k text)", "lacks columns of view `v`: n integer"),
        ("CREATE TABLE t (k text, n int)", r"no unique index on \(k\)"),
        ("CREATE UNLOGGED TABLE t (k text UNIQUE, n int)", "loses its rows in a crash"),
        ("CREATE TABLE t (k text UNIQUE, n int CHECK (n > 10))", "violates check constraint"),
    ],
)
def test_postgres_says_why_a_table_will_not_do(opened: Opener, db: Database, table: str, message: str) -> None:
    db.run(table)
    with pytest.raises(SinkError, match=message):
        opened(key=("k",), **db.options).deliver(epoch(0, [put("a", 1)]))


def test_postgres_survives_a_server_that_restarts(opened: Opener, db: Database, postgres_server: TemporaryPostgres) -> None:
    sink = opened(append_only=True, **db.options)
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    postgres_server.stop(at_once=True)
    with pytest.raises(SinkError):
        sink.deliver(epoch(1, [bag("+", "b", 1)]))
    postgres_server.start()
    sink.deliver(epoch(1, [bag("+", "b", 1)]))
    assert db.run("SELECT k FROM t") == [("a",), ("b",)]


def test_postgres_takes_a_hundred_thousand_rows(opened: Opener, db: Database) -> None:
    sink = opened(key=("k",), **db.options)
    sink.deliver(epoch(0, [put(f"k{n}", n) for n in range(100_000)]))
    sink.deliver(epoch(1, [taken(f"k{n}", n) for n in range(0, 100_000, 2)]))
    assert db.run("SELECT count(*), sum(n) FROM t") == [(50_000, sum(range(1, 100_000, 2)))]


def test_postgres_leaves_out_the_one_character_it_cannot_hold(opened: Opener, db: Database) -> None:
    opened(append_only=True, **db.options).deliver(epoch(0, [Change("+", None, '{"k":"a\\u0000b\\\\u0000","n":1}')]))
    assert db.run("SELECT k FROM t") == [("ab\\u0000",)]


def test_postgres_keeps_keys_apart_that_differ_by_the_one_character_it_cannot_hold(opened: Opener, db: Database) -> None:
    sink = opened(key=("k",), **db.options)
    sink.deliver(epoch(0, [put("a", 1), put("a\0", 2), put("\\u0000", 3)]))
    assert db.run("SELECT k, n FROM t ORDER BY n") == [("a", 1), ("a\u2400", 2), ("\\u0000", 3)]
    sink.deliver(epoch(1, [put("a\u2400", 4), put("a\0", 5), taken("a", 1)]))
    assert db.run("SELECT k, n FROM t ORDER BY n") == [("\\u0000", 3), ("a\u2400", 5)]


def test_postgres_refuses_a_year_beyond_9999_by_its_value(opened: Opener, db: Database) -> None:
    """Records with one are dead letters; a view can still compute one."""
    sink = opened("at timestamp, day date", append_only=True, **db.options)
    sink.deliver(epoch(0, [Change("+", None, json.dumps({"at": "0001-01-01T00:00:00Z", "day": "9999-12-31"}))]))
    assert db.run("SELECT at::text, day::text FROM t") == [("0001-01-01 00:00:00+00", "9999-12-31")]
    with pytest.raises(SinkError, match=r"\+10000-01-02"):
        sink.deliver(epoch(1, [Change("+", None, json.dumps({"at": "+10000-01-02T00:00:00Z", "day": None}))]))


READERS = {
    "json": "read_json('{}/epoch=*/*.json', format='newline_delimited')",
    "csv": "read_csv('{}/epoch=*/*.csv', header=true)",
    "parquet": "read_parquet('{}/epoch=*/*.parquet')",
}


def read(folder: Path, form: str, what: str = "k, n") -> list[tuple[Any, ...]]:
    """What a reader who knows nothing of Penstock finds."""
    with duckdb.connect() as connection:
        return connection.execute(f"SELECT {what} FROM {READERS[form].format(folder)} ORDER BY ALL").fetchall()


def test_files_of_csv_want_more_than_one_column(opened: Opener) -> None:
    """A null alone would be an empty line, which most readers take for nothing; a column `_op` before it makes it one."""
    options = {"connector": "files", "path": "out", "format": "csv"}
    for complete in (True, False):
        with pytest.raises(OptionFault, match="has one column") as caught:
            opened(ddl="k string", append_only=not complete, complete=complete, **options)
        assert "json" in str(caught.value.hint)
    opened(ddl="k string", append_only=False, **options)
    opened(ddl="k string", append_only=True, **{**options, "format": "json"})


@pytest.mark.parametrize("form", sorted(READERS))
def test_files_hold_each_epoch_once(opened: Opener, tmp_path: Path, form: str) -> None:
    options = {"connector": "files", "path": "out", "format": form}
    sink = opened(append_only=True, **options)
    assert sink.position("one") == -1
    sink.deliver(epoch(0, [bag("+", 'O\'Hara "q" 東京', 1), bag("+", "a,b\nc", 2)]))
    sink.deliver(epoch(1, []))
    again = opened(append_only=True, **options)
    assert again.position("one") == 1
    again.deliver(epoch(0, [bag("+", "again", 1)]))
    again.deliver(epoch(3, [bag("+", "b", 1)]))
    assert read(tmp_path / "out", form) == [('O\'Hara "q" 東京', 1), ("a,b\nc", 2), ("b", 1)]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_penstock", "epoch=0", "epoch=3"]


@pytest.mark.parametrize("form", sorted(READERS))
def test_files_say_what_was_taken_back(opened: Opener, tmp_path: Path, form: str) -> None:
    opened(connector="files", path="out", format=form).deliver(epoch(0, [bag("+", "a", 1), bag("-", "a", 1)]))
    assert read(tmp_path / "out", form, "_op, k, n") == [("+", "a", 1), ("-", "a", 1)]


@pytest.mark.parametrize("form", sorted(READERS))
def test_files_keep_the_newest_complete_result(opened: Opener, tmp_path: Path, form: str) -> None:
    sink = opened(complete=True, connector="files", path="out", format=form)
    sink.deliver_complete(epoch(0, []), [small("a", 1)])
    sink.deliver_complete(epoch(2, []), [small("b", 1), small("b", 1)])
    assert read(tmp_path / "out", form) == [("b", 1), ("b", 1)]


def test_files_do_not_show_what_a_crash_left_half_written(opened: Opener, tmp_path: Path) -> None:
    sink = opened(append_only=True, connector="files", path="out")
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    half = tmp_path / "out" / ".staged-epoch=1"
    half.mkdir()
    (half / "part-0.json").write_text('{"k":"hal')
    sink.deliver(epoch(1, [bag("+", "b", 1)]))
    assert read(tmp_path / "out", "json") == [("a", 1), ("b", 1)]


def test_files_know_an_epoch_by_its_folder_when_the_marker_came_too_late(opened: Opener, tmp_path: Path) -> None:
    sink = opened(append_only=True, connector="files", path="out")
    sink.deliver(epoch(0, [bag("+", "a", 1)]))
    marker = (tmp_path / "out" / "_penstock").read_text()
    sink.deliver(epoch(1, [bag("+", "b", 1)]))
    (tmp_path / "out" / "_penstock").write_text(marker)
    assert opened(append_only=True, connector="files", path="out").position("one") == 1


def test_files_start_over_and_finish_a_clearing_that_was_cut_short(opened: Opener, tmp_path: Path) -> None:
    old = opened(append_only=True, connector="files", path="out")
    for number in range(3):
        old.deliver(epoch(number, [bag("+", "old", number)]))
    new = opened(append_only=True, connector="files", path="out")
    assert new.position("two") == -1
    marker = tmp_path / "out" / "_penstock"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "generation": "two", "epoch": -1, "clearing": True}))
    new.deliver(epoch(0, [bag("+", "new", 1)], "two"))
    assert read(tmp_path / "out", "json") == [("new", 1)]
    with pytest.raises(FencedError, match="another driver"):
        old.deliver(epoch(3, [bag("+", "old", 3)]))


def test_files_refuse_a_folder_that_is_not_theirs(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "out" / "epoch=4").mkdir(parents=True)
    with pytest.raises(SinkError, match="no file _penstock"):
        opened(append_only=True, connector="files", path="out").position("one")
    opened(append_only=True, connector="files", path="mine").position("one")
    other = open_sink("other", "v", {"connector": "files", "path": "mine"}, SMALL, None, append_only=True, complete=False, folder=tmp_path)
    with pytest.raises(SinkError, match="belongs to sink `s`"):
        other.position("one")
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match="cannot write to"):
        opened(append_only=True, connector="files", path="file").position("one")


def consumed(servers: str, topic: str, count: int) -> list[tuple[bytes | None, bytes | None, dict[str, bytes]]]:
    """The records of a topic by key: key, value, headers."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False, "auto.offset.reset": "earliest"})
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[tuple[bytes | None, bytes | None, dict[str, bytes]]] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(10_000, timeout=1.0):
            assert message.error() is None
            found.append((message.key(), message.value(), dict(message.headers() or [])))  # type: ignore[arg-type]
    consumer.close()
    return sorted(found, key=lambda record: record[0] or b"")  # the order of one key is kept, that of partitions means nothing


def test_kafka_gets_rows_keys_and_tombstones(opened: Opener, kafka: str) -> None:
    sink = opened(key=("k",), connector="kafka", servers=kafka, topic="keyed")
    assert sink.position("one") is None
    sink.deliver(epoch(7, [put("O'Hara 東京", 1), taken("O'Hara 東京", 1), put(None, 2)]))
    sink.deliver(epoch(8, []))
    found = consumed(kafka, "keyed", 3)
    assert [(json.loads(key or b""), value and json.loads(value)) for key, value, _ in found] == [
        (["O'Hara 東京"], {"k": "O'Hara 東京", "n": 1}),
        (["O'Hara 東京"], None),
        ([None], {"k": None, "n": 2}),
    ]
    assert {headers["penstock-epoch"] for _, _, headers in found} == {b"7"}


def test_kafka_takes_its_key_from_a_column(kafka: str) -> None:
    sink = open_sink(
        "s", "v", {"connector": "kafka", "servers": kafka, "topic": "bag", "key": "K"}, SMALL, None, append_only=False, complete=False, folder=Path()
    )
    sink.deliver(epoch(0, [bag("+", "a", 1), bag("-", "a", 1)]))
    sink.close()
    assert [(key, value, headers["penstock-op"]) for key, value, headers in consumed(kafka, "bag", 2)] == [
        (b"a", small("a", 1).encode(), b"+"),
        (b"a", small("a", 1).encode(), b"-"),
    ]


def test_kafka_gets_the_whole_of_a_complete_result(opened: Opener, kafka: str) -> None:
    sink = opened(key=("k",), complete=True, connector="kafka", servers=kafka, topic="complete")
    sink.deliver_complete(epoch(0, [taken("b", 1), put("a", 1)]), [small("a", 1), small("c", 1)])
    assert [(key, value) for key, value, _ in consumed(kafka, "complete", 3)] == [
        (b'{"k":"a"}', small("a", 1).encode()),
        (b'{"k":"b"}', None),
        (b'{"k":"c"}', small("c", 1).encode()),
    ]


def test_kafka_takes_a_hundred_thousand_rows(opened: Opener, kafka: str) -> None:
    opened(append_only=True, connector="kafka", servers=kafka, topic="many").deliver(epoch(0, [bag("+", "x", n) for n in range(100_000)]))
    found = consumed(kafka, "many", 100_000)
    assert sum(json.loads(value or b"")["n"] for _, value, _ in found) == sum(range(100_000))


def test_kafka_that_is_not_there_is_reported_within_ten_seconds(opened: Opener) -> None:
    began = time.monotonic()
    with pytest.raises(SinkError, match=r"topic `t` of Kafka at 127\.0\.0\.1:1:"):
        opened(connector="kafka", servers="127.0.0.1:1", topic="t").deliver(epoch(0, [bag("+", "a", 1)]))
    assert time.monotonic() - began < 10.5


def test_console_prints_a_line_for_each_change(opened: Opener, capsys: pytest.CaptureFixture[str]) -> None:
    sink = opened(connector="console")
    assert sink.position("one") is None
    sink.deliver(epoch(0, [bag("+", "O'Hara", 1), bag("-", "東", 2)]))
    sink.deliver_complete(epoch(1, []), [small("c", 3)])
    assert capsys.readouterr().out.splitlines() == ["+ v " + small("O'Hara", 1), "- v " + small("東", 2), "+ v " + small("c", 3)]


CALLBACK = """
import neighbour

def send(changes, epoch):
    for change in changes:
        if change["row"]["n"] < 0:
            neighbour.fail(change)
        neighbour.seen.append((change["op"], change["key"], change["row"]["k"], epoch))
"""
NEIGHBOUR = """
seen = []

def fail(change):
    raise ValueError(f"negative: {change['row']['k']}")
"""


def test_callback_is_called_with_decoded_changes(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "alerts.py").write_text(CALLBACK.replace("neighbour", "neighbour_a"))
    (tmp_path / "neighbour_a.py").write_text(NEIGHBOUR)
    sink = opened(key=("k",), connector="callback", callback="alerts:send")
    sink.deliver(epoch(4, [put("O'Hara", 1), taken("b", 2)]))
    sink.deliver(epoch(5, []))
    sink.deliver_complete(epoch(6, []), [small("c", 3)])
    assert sys.modules["neighbour_a"].seen == [("+", ["O'Hara"], "O'Hara", 4), ("-", ["b"], "b", 4), ("+", None, "c", 6)]


def test_an_error_of_a_callback_names_the_users_line(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "alerts.py").write_text(CALLBACK.replace("neighbour", "neighbour_b"))
    (tmp_path / "neighbour_b.py").write_text(NEIGHBOUR)
    with pytest.raises(SinkError, match="alerts:send raised ValueError: negative: a") as caught:
        opened(connector="callback", callback="alerts:send").deliver(epoch(0, [bag("+", "a", -1)]))
    assert caught.value.where is not None
    assert (Path(caught.value.where.file).name, caught.value.where.line) == ("neighbour_b.py", 5)


@pytest.mark.parametrize(
    ("callback", "message"),
    [("absent:send", r"no file absent\.py"), ("alerts:sned", "has no function `sned`"), ("broken:send", "cannot be imported: NameError")],
)
def test_a_callback_that_cannot_be_loaded_is_the_apps_fault(opened: Opener, tmp_path: Path, callback: str, message: str) -> None:
    (tmp_path / "alerts.py").write_text("def send(changes, epoch): ...\n")
    (tmp_path / "broken.py").write_text("send = nothing\n")
    with pytest.raises(AppFault, match=message):
        opened(connector="callback", callback=callback)


def test_kafka_that_stops_answering_is_given_up_within_ten_seconds(opened: Opener, tmp_path: Path) -> None:
    """A broker of the test's own, stopped in the middle."""
    broker = Broker(tmp_path / "broker")
    try:
        sink = opened(append_only=True, connector="kafka", servers=broker.start(port=0).servers, topic="t")
        sink.deliver(epoch(0, [bag("+", "a", 1)]))
    finally:
        broker.stop()
    began = time.monotonic()
    with pytest.raises(SinkError, match="topic `t` of Kafka at"):
        sink.deliver(epoch(1, [bag("+", "b", 1)]))
    assert time.monotonic() - began < 12

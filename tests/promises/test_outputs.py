"""What leaves a view: added, changed and removed rows, in every kind of sink, with every kind of value."""

from __future__ import annotations

import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet
import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from penstock.errors import UserError
from penstock.testing.postgres import TemporaryPostgres
from penstock.testing.trial import Row, Trial

SALES = """
CREATE STREAM sales (item STRING, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 0 SECONDS)
  WITH (connector = 'files', path = 'sales', format = 'json');
"""
# Rows can leave this view: a total that falls to 10 or less is not there any more.
BEST = "CREATE MATERIALIZED VIEW best AS SELECT item, sum(amount) AS total FROM sales GROUP BY item HAVING sum(amount) > 10;"
CALLS = """
import json
from pathlib import Path

def note(changes, epoch):
    with (Path(__file__).parent / "noted").open("a") as file:
        file.write(json.dumps({"epoch": epoch, "changes": changes}) + "\\n")
"""


def sold(trial: Trial, *pairs: tuple[str, int], at: str = "2024-05-01T10:00:00Z") -> None:
    trial.feed("sales", *({"item": item, "amount": amount, "at": at} for item, amount in pairs))


def app(trial: Trial, *statements: str) -> None:
    trial.write("app.sql", "\n".join([SALES, *statements]))
    trial.write("calls.py", CALLS)
    (trial.folder / "sales").mkdir(exist_ok=True)


def rise_change_and_leave(trial: Trial) -> None:
    """Two drains: tea and milk arrive, then tea changes, milk leaves and salt comes."""
    sold(trial, ("tea", 20), ("milk", 15), ("salt", 1))
    trial.drain()
    sold(trial, ("tea", 5), ("milk", -9), ("salt", 30))
    trial.drain()


AFTER = [{"item": "salt", "total": 31}, {"item": "tea", "total": 25}]


def by_item(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row["item"]))


def noted(trial: Trial) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (trial.folder / "noted").read_text(encoding="utf-8").splitlines()]


def epochs(folder: Path) -> dict[int, list[Row]]:
    """The json files of a sink, by epoch."""
    return {
        int(path.parent.name.removeprefix("epoch=")): [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(folder.glob("epoch=*/*.json"))
    }


def epoch_of(record: Message) -> int:
    return int(dict(record.headers() or [])["penstock-epoch"] or b"")


def records(servers: str, topic: str) -> list[Message]:
    """Everything in a topic, in order of the epochs; records of one key keep their order."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "enable.auto.commit": False})
    try:
        places = [TopicPartition(topic, number, 0) for number in consumer.list_topics(topic, 30).topics[topic].partitions]
        consumer.assign(places)
        high = sum(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)
        found = [consumer.poll(30) for _ in range(high)]
        assert all(record is not None and record.error() is None for record in found)
        return sorted((record for record in found if record is not None), key=epoch_of)
    finally:
        consumer.close()


def compacted(found: list[Message]) -> dict[bytes, Row]:
    """What a reader of the topic holds who keeps the newest value of each key."""
    held: dict[bytes, Row] = {}
    for record in found:
        key, value = record.key(), record.value()
        assert isinstance(key, bytes)
        if value is None:
            held.pop(key, None)
        else:
            held[key] = json.loads(value)
    return held


def postgres_options(server: dict[str, str | int], database: str) -> str:
    options = {**server, "database": database}
    return ", ".join(f"{name} = '{value}'" for name, value in options.items() if value not in ("", None))


def table(server: TemporaryPostgres, database: str, query: str) -> list[tuple[object, ...]]:
    with server.connect(database) as connection:
        return connection.execute(psycopg.sql.SQL(query)).fetchall()


def test_a_view_that_only_adds_gives_each_row_once_to_files_and_functions(trial: Trial) -> None:
    """Append: every epoch holds its own rows and nothing of what was before."""
    app(
        trial,
        "CREATE MATERIALIZED VIEW large AS SELECT item, amount FROM sales WHERE amount > 10;",
        "CREATE SINK f FROM large WITH (connector = 'files', path = 'out');",
        "CREATE SINK c FROM large WITH (connector = 'callback', callback = 'calls:note');",
    )
    sold(trial, ("tea", 20), ("tea", 20), ("milk", 1))
    trial.drain()
    sold(trial, ("salt", 30))
    trial.drain()
    tea, salt = {"item": "tea", "amount": 20}, {"item": "salt", "amount": 30}
    assert epochs(trial.folder / "out") == {0: [tea, tea], 1: [salt]}
    assert [[change["row"] for change in call["changes"]] for call in noted(trial)] == [[tea, tea], [salt]]
    assert trial.rows("large") == [tea, tea, salt]


def test_changed_rows_replace_and_removed_rows_leave_in_files_functions_and_on_the_console(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    """Update: an epoch holds what changed; a row that no longer satisfies HAVING is taken back."""
    app(
        trial,
        BEST,
        "CREATE SINK f FROM best WITH (connector = 'files', path = 'out');",
        "CREATE SINK c FROM best WITH (connector = 'callback', callback = 'calls:note');",
        "CREATE SINK p FROM best WITH (connector = 'console');",
    )
    rise_change_and_leave(trial)
    assert by_item(trial.rows("best")) == AFTER
    first, second = (by_item(rows) for rows in epochs(trial.folder / "out").values())
    assert first == [{"_op": "+", "item": "milk", "total": 15}, {"_op": "+", "item": "tea", "total": 20}]
    assert second == [{"_op": "-", "item": "milk", "total": 15}, *({"_op": "+", **row} for row in AFTER)]
    changes = {(change["op"], change["key"]["item"], change["row"]["total"]) for change in noted(trial)[1]["changes"]}
    assert changes == {("-", "milk", 15), ("+", "salt", 31), ("+", "tea", 25)}
    printed = capsys.readouterr().out.splitlines()
    assert '- best {"item":"milk","total":15}' in printed
    assert '+ best {"item":"tea","total":25}' in printed
    assert len(printed) == 5


def test_a_complete_view_gives_its_whole_result_each_time(trial: Trial, kafka: str) -> None:
    """EMIT COMPLETE: files keep the newest result only, a function gets every row, a topic every row under one and the same key."""
    topic = uuid.uuid4().hex
    app(
        trial,
        BEST.replace("> 10;", "> 10 EMIT COMPLETE;"),
        "CREATE SINK f FROM best WITH (connector = 'files', path = 'out');",
        "CREATE SINK c FROM best WITH (connector = 'callback', callback = 'calls:note');",
        f"CREATE SINK k FROM best WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');",
    )
    rise_change_and_leave(trial)
    assert [by_item(rows) for rows in epochs(trial.folder / "out").values()] == [AFTER]
    assert by_item([change["row"] for change in noted(trial)[-1]["changes"]]) == AFTER
    assert by_item(list(compacted(records(kafka, topic)).values())) == AFTER


def test_a_keyed_view_is_a_topic_of_upserts_and_tombstones(trial: Trial, kafka: str) -> None:
    """A reader who keeps the newest value of each key holds the view; the epoch is in a header."""
    topic, chosen = uuid.uuid4().hex, uuid.uuid4().hex
    app(
        trial,
        BEST,
        f"CREATE SINK k FROM best WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');",
        f"CREATE SINK n FROM best WITH (connector = 'kafka', servers = '{kafka}', topic = '{chosen}', key = 'item');",
    )
    rise_change_and_leave(trial)
    found = records(kafka, topic)
    assert compacted(found) == {b'{"item":"salt"}': AFTER[0], b'{"item":"tea"}': AFTER[1]}
    assert [record.key() for record in found if record.value() is None] == [b'{"item":"milk"}']
    assert [epoch_of(record) for record in found] == [0, 0, 1, 1, 1]
    assert compacted(records(kafka, chosen)) == {b"salt": AFTER[0], b"tea": AFTER[1]}


def test_a_postgres_table_holds_what_the_view_holds(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """Keyed views upsert and delete, bags take back single copies, complete views are replaced."""
    place = postgres_options(postgres, database)
    app(
        trial,
        BEST,
        "CREATE MATERIALIZED VIEW large AS SELECT item FROM sales WHERE amount > 10;",
        "CREATE MATERIALIZED VIEW sums AS SELECT sum(amount) AS total FROM sales GROUP BY item EMIT COMPLETE;",
        f"CREATE SINK p1 FROM best WITH (connector = 'postgres', {place}, table = 'best');",
        f"CREATE SINK p2 FROM large WITH (connector = 'postgres', {place}, table = 'large');",
        f"CREATE SINK p3 FROM sums WITH (connector = 'postgres', {place}, table = 'sums');",
    )
    rise_change_and_leave(trial)
    assert table(postgres_server, database, "SELECT item, total FROM best ORDER BY item") == [("salt", 31), ("tea", 25)]
    assert table(postgres_server, database, "SELECT item FROM large ORDER BY item") == [("milk",), ("salt",), ("tea",)]
    assert table(postgres_server, database, "SELECT total FROM sums ORDER BY total") == [(6,), (25,), (31,)]


@pytest.mark.parametrize("store", ["", " WITH (store = false)"], ids=["stored", "unstored"])
def test_windows_that_close_together_are_distinguished_by_their_key_in_tables_and_topics(
    trial: Trial, kafka: str, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str, store: str
) -> None:
    place, topic = postgres_options(postgres, database), uuid.uuid4().hex
    app(
        trial,
        f"CREATE MATERIALIZED VIEW closed{store} AS"
        " SELECT window, item, sum(amount) AS total FROM sales GROUP BY window(at, '1 hour'), item EMIT ON WINDOW CLOSE;",
        f"CREATE SINK p FROM closed WITH (connector = 'postgres', {place}, table = 'closed');",
        f"CREATE SINK k FROM closed WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');",
    )
    sold(trial, ("tea", 20), ("milk", 15), ("tea", 1))
    sold(trial, ("salt", 1), at="2024-05-01T12:00:00Z")
    trial.drain()
    assert table(postgres_server, database, "SELECT item, total FROM closed ORDER BY item") == [("milk", 15), ("tea", 21)]
    keys = [json.loads(record.key() or b"null") for record in records(kafka, topic)]
    assert sorted(key["item"] for key in keys) == ["milk", "tea"]
    assert {key["window"]["start"] for key in keys} == {"2024-05-01T10:00:00Z"}


ODD = """
CREATE STREAM odd (`Größe` STRING, price DECIMAL(20,4), at TIMESTAMP, day DATE, tags ARRAY<STRING>, WATERMARK FOR at AS at - INTERVAL 0 SECONDS)
  WITH (connector = 'files', path = 'odd', format = 'json');
CREATE MATERIALIZED VIEW kept AS SELECT `Größe`, price, at, day, tags, price / 3 AS third FROM odd;
CREATE MATERIALIZED VIEW hourly AS SELECT window, `Größe`, sum(price) AS total FROM odd GROUP BY window(at, '1 hour'), `Größe`;
"""
ODD_ROWS: list[Row] = [
    {
        "Größe": 'O\'Brien "quoted" \\ \n straße 日本 🫖',
        "price": 12345678901.2345,
        "at": "2024-05-01T10:00:00.123456Z",
        "day": "2024-02-29",
        "tags": ["a,b", ""],
    },
    {"Größe": None, "price": None, "at": "2024-05-01T10:59:59Z", "day": None, "tags": None},
    {"Größe": "", "price": 0.1, "at": "2024-05-01T11:00:00+02:00", "day": "0001-01-01", "tags": []},
]


def test_every_kind_of_value_survives_every_way_out(
    trial: Trial, kafka: str, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """Decimals, times, nulls, empty texts, quotes, other scripts and nested windows are the same in the store, in files, Kafka and Postgres."""
    topic, place = uuid.uuid4().hex, postgres_options(postgres, database)
    trial.write(
        "app.sql",
        f"""{ODD}
        CREATE SINK f1 FROM kept WITH (connector = 'files', path = 'out/kept', format = 'parquet');
        CREATE SINK f2 FROM hourly WITH (connector = 'files', path = 'out/hourly', format = 'parquet');
        CREATE SINK k FROM kept WITH (connector = 'kafka', servers = '{kafka}', topic = '{topic}');
        CREATE SINK p1 FROM kept WITH (connector = 'postgres', {place}, table = 'kept');
        CREATE SINK p2 FROM hourly WITH (connector = 'postgres', {place}, table = 'hourly');
        """,
    )
    trial.feed("odd", *ODD_ROWS)
    trial.drain()
    held = trial.rows("kept")
    assert [row["Größe"] for row in held] == [row["Größe"] for row in ODD_ROWS]
    assert [row["price"] for row in held] == ["12345678901.2345", None, "0.1000"]
    assert [row["at"] for row in held] == ["2024-05-01T10:00:00.123456Z", "2024-05-01T10:59:59Z", "2024-05-01T09:00:00Z"]
    assert [row["day"] for row in held] == ["2024-02-29", None, "0001-01-01"]
    assert trial.batch("kept") == held
    values = [record.value() for record in records(kafka, topic)]
    assert sorted(json.dumps(json.loads(value)) for value in values if value is not None) == sorted(json.dumps(row) for row in held)
    files = [
        row for path in sorted((trial.folder / "out" / "kept").glob("epoch=*/*.parquet")) for row in pyarrow.parquet.read_table(path).to_pylist()
    ]
    assert [(row["Größe"], row["price"], row["tags"]) for row in files] == [
        (row["Größe"], None if row["price"] is None else Decimal(row["price"]), row["tags"]) for row in held
    ]
    stored = table(postgres_server, database, 'SELECT "Größe", price, at, day, tags, third FROM kept')
    assert {(row[0], row[1]) for row in stored} == {(row["Größe"], None if row["price"] is None else Decimal(row["price"])) for row in held}
    windows = {(row["Größe"], row["window"]["start"], row["total"]) for row in trial.rows("hourly")}
    assert windows == {
        (ODD_ROWS[0]["Größe"], "2024-05-01T10:00:00Z", "12345678901.2345"),
        (None, "2024-05-01T10:00:00Z", None),
        ("", "2024-05-01T09:00:00Z", "0.1000"),
    }
    in_table = table(postgres_server, database, 'SELECT "Größe", "window"->>\'start\', total::text FROM hourly')
    assert set(in_table) == windows


def test_a_view_without_a_store_writes_straight_to_its_sinks(trial: Trial) -> None:
    """Nothing is kept in the results store, everything is in the sinks, once."""
    app(
        trial,
        "CREATE MATERIALIZED VIEW large WITH (store = false) AS SELECT item, amount FROM sales WHERE amount > 10;",
        "CREATE SINK f FROM large WITH (connector = 'files', path = 'out');",
        "CREATE SINK c FROM large WITH (connector = 'callback', callback = 'calls:note');",
    )
    sold(trial, ("tea", 20), ("milk", 1))
    trial.drain()
    sold(trial, ("salt", 30))
    trial.drain()
    trial.drain()
    tea, salt = {"item": "tea", "amount": 20}, {"item": "salt", "amount": 30}
    assert epochs(trial.folder / "out") == {0: [tea], 1: [salt]}
    assert [[change["row"] for change in call["changes"]] for call in noted(trial)] == [[tea], [salt]]
    with trial.engine() as engine:
        assert engine.query("SELECT count(*) AS n FROM large").lines.__next__() == '{"n":2}'


def test_a_view_over_a_view_without_a_store_is_right_all_the_same(trial: Trial) -> None:
    """What is not kept cannot be followed, so the upper view reads the stream itself."""
    app(
        trial,
        """CREATE MATERIALIZED VIEW hours WITH (store = false) AS
             SELECT window.start AS hour, count(*) AS n FROM sales GROUP BY window(at, '1 hour') EMIT ON WINDOW CLOSE;""",
        "CREATE MATERIALIZED VIEW busiest AS SELECT max(n) AS n FROM hours;",
    )
    sold(trial, ("tea", 1), ("tea", 1), at="2024-05-01T10:00:00Z")
    sold(trial, ("tea", 1), at="2024-05-01T12:30:00Z")
    trial.drain()
    sold(trial, ("tea", 1), at="2024-05-01T15:30:00Z")
    trial.drain()
    assert trial.rows("busiest") == trial.batch("busiest") == [{"n": 2}]


def test_the_results_store_on_postgres_gives_the_same_answers(
    trial: Trial, postgres: dict[str, str | int], postgres_server: TemporaryPostgres, database: str
) -> None:
    """One setting moves results, change log and ledger to Postgres, where plain SQL finds the views by name."""
    app(
        trial,
        BEST,
        "CREATE MATERIALIZED VIEW top AS SELECT item, total FROM best ORDER BY total DESC LIMIT 1;",
        "CREATE SINK f FROM top WITH (connector = 'files', path = 'out');",
    )
    login = f"{postgres['user']}:{postgres['password']}" if postgres.get("password") else str(postgres["user"])
    there = trial.having(store=f"postgres://{login}@{postgres['host']}:{postgres['port']}/{database}")
    rise_change_and_leave(there)
    assert not (trial.state / "results.db").exists()
    assert by_item(there.rows("best")) == AFTER
    assert there.rows("top") == [{"item": "salt", "total": 31}]
    assert epochs(trial.folder / "out")[1][-1] == {"_op": "+", "item": "salt", "total": 31}
    assert table(postgres_server, database, "SELECT item, total FROM best ORDER BY item") == [("salt", 31), ("tea", 25)]


def test_a_view_over_a_view_changes_with_it_in_the_same_epoch(trial: Trial) -> None:
    """The follower's rows and changes are those of the moment at which the view below changed."""
    app(
        trial,
        BEST,
        "CREATE MATERIALIZED VIEW top AS SELECT item FROM best ORDER BY total DESC, item LIMIT 1;",
        "CREATE MATERIALIZED VIEW shout AS SELECT upper(item) AS item FROM top;",
        "CREATE SINK c FROM shout WITH (connector = 'callback', callback = 'calls:note');",
    )
    rise_change_and_leave(trial)
    assert trial.rows("shout") == [{"item": "SALT"}]
    changes = [[(change["op"], change["row"]["item"]) for change in call["changes"]] for call in noted(trial)]
    assert changes == [[("+", "TEA")], [("-", "TEA"), ("+", "SALT")]]


def test_a_view_that_is_recomputed_each_time_delivers_only_what_changed(trial: Trial) -> None:
    """Rows that are overtaken are taken back in files and functions, and the view keeps its order."""
    app(
        trial,
        "CREATE MATERIALIZED VIEW best AS SELECT item, amount FROM sales ORDER BY amount DESC LIMIT 2;",
        "CREATE SINK f FROM best WITH (connector = 'files', path = 'out');",
        "CREATE SINK c FROM best WITH (connector = 'callback', callback = 'calls:note');",
    )
    sold(trial, ("tea", 20), ("milk", 15), ("salt", 1))
    trial.drain()
    sold(trial, ("salt", 30))
    trial.drain()
    tea, milk, salt = {"item": "tea", "amount": 20}, {"item": "milk", "amount": 15}, {"item": "salt", "amount": 30}
    assert trial.rows("best") == [salt, tea]
    assert epochs(trial.folder / "out")[1] == [{"_op": "-", **milk}, {"_op": "+", **salt}]
    assert [[(change["op"], change["row"]["item"]) for change in call["changes"]] for call in noted(trial)][1] == [("-", "milk"), ("+", "salt")]


def test_a_sink_that_is_added_later_gets_the_whole_view(trial: Trial) -> None:
    """Even when the change log no longer reaches back to the beginning."""
    app(trial, BEST)
    short = trial.having(changes_kept_epochs="1")
    rise_change_and_leave(short)
    sold(trial, ("salt", 1))
    short.drain()
    app(trial, BEST, "CREATE SINK f FROM best WITH (connector = 'files', path = 'out');")
    sold(trial, ("salt", 1))
    short.drain()
    held: dict[str, int] = {}
    for rows in epochs(trial.folder / "out").values():
        for change in rows:
            if change["_op"] == "+":
                held[change["item"]] = change["total"]
            else:
                held.pop(change["item"])
    assert held == {"salt": 33, "tea": 25}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("store = false", "keeps no store, but its rows change"),
        ("stor = false", "did you mean `store`?"),
        ("store = 'maybe'", "`store` cannot be 'maybe'"),
        ("trigger = 'now and then'", "`trigger` cannot be 'now and then'"),
    ],
)
def test_options_that_a_view_cannot_have_are_refused_before_it_runs(trial: Trial, options: str, words: str) -> None:
    """An option that meant nothing would be a promise that is not kept."""
    app(trial, BEST.replace("best AS", f"best WITH ({options}) AS"))
    with pytest.raises(UserError) as raised:
        trial.drain()
    assert words in str(raised.value)
    assert "app.sql:" in str(raised.value)


def test_a_view_without_a_store_has_no_whole_result_to_give(trial: Trial) -> None:
    app(trial, "CREATE MATERIALIZED VIEW large WITH (store = false) AS SELECT item FROM sales EMIT COMPLETE;")
    with pytest.raises(UserError, match="keeps no store"):
        trial.drain()


def test_windows_over_a_join_that_is_bounded_by_time_are_the_same_live_and_over_history(trial: Trial) -> None:
    """Such a join holds the watermark back by its bound, and what has not closed yet is not there, whoever asks."""
    app(
        trial,
        "CREATE STREAM returns (item STRING, back TIMESTAMP, WATERMARK FOR back AS back - INTERVAL 0 SECONDS)"
        " WITH (connector = 'files', path = 'returns', format = 'json');",
        "CREATE MATERIALIZED VIEW hourly AS SELECT window, count(*) AS n FROM sales s JOIN returns r"
        " ON s.item = r.item AND r.back BETWEEN s.at AND s.at + INTERVAL 1 HOUR 30 MINUTES GROUP BY window(s.at, '1 hour') EMIT ON WINDOW CLOSE;",
    )
    for hour in ("10", "11", "12", "13"):
        sold(trial, (hour, 1), at=f"2024-05-01T{hour}:05:00Z")
        trial.feed("returns", {"item": hour, "back": f"2024-05-01T{hour}:20:00Z"})
    trial.drain()
    assert [row["window"]["start"] for row in trial.rows("hourly")] == ["2024-05-01T10:00:00Z"]
    assert trial.batch("hourly") == trial.rows("hourly")

"""One suite for every source: what is read live, in several batches and after a restart, is what history holds."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSourceRegistration

from penstock.decode import Rules, dead_rows, decode
from penstock.dev.produce import produce
from penstock.errors import OptionFault, SourceError, TypeFault
from penstock.schema import Column, Schema
from penstock.source import Limits, Source, SourceSpec, Span
from penstock.source.files.broken import SKIPPING
from penstock.source.open import open_source, table_frame
from penstock.source.supplier import Supplier, Supply
from penstock.spark.checkpoint.epoch_log import logged_epochs
from penstock.spark.checkpoint.offset_log import last_epoch
from penstock.spark.checkpoint.positions import place_of

SCHEMA = Schema((Column("id", "bigint"), Column("Text", "string"), Column("at", "timestamp")))
NOW = "TIMESTAMP'2024-06-01 00:00:00'"
PART = 100
SMALL = Limits(rows=60, megabytes=1, files=1)


@dataclass
class World:
    """A stream with its source: `put` makes records appear there."""

    spec: SourceSpec
    put: Callable[[list[bytes]], None]
    broken: bool = True
    generated: bool = False
    renames: bool = False
    bare: bool = False  # an object without any declared column is a row of NULLs
    sources: list[Source] = field(default_factory=list)

    def open(self) -> Source:
        self.sources.append(open_source(self.spec))
        return self.sources[-1]


def record(number: int) -> bytes:
    """Every twentieth record is broken, each in another way."""
    if number % 20 == 7:
        ways = [b"{broken", b'{"id": "seven"}', b'{"id": 1, "Text": "\xff"}', b'{"other": 1}', b'{"id": 5, "at": "2031-01-01T00:00:00Z"}']
        return ways[number // 20 % len(ways)]
    text = ["plain", 'it\'s "quoted"', "für 漢字 😀", "back\\slash, comma"][number % 4]
    return json.dumps({"id": number, "Text": text, "at": f"2024-01-01T00:00:{number % 60:02d}.5+0000"}, ensure_ascii=number % 8 < 4).encode()


def spec_in(folder: Path, **options: str) -> SourceSpec:
    return SourceSpec("events", options, SCHEMA, folder, folder / ".penstock")


def files_world(folder: Path) -> World:
    (folder / "in").mkdir()

    def put(records: list[bytes]) -> None:
        for half in (records[: len(records) // 2], records[len(records) // 2 :]):
            fresh = folder / "in" / f".{uuid.uuid4().hex}"
            fresh.write_bytes(b"\n".join(half) + b"\n")
            fresh.rename(folder / "in" / f"{uuid.uuid4().hex} (1)+ü.json")

    return World(spec_in(folder, connector="files", path="in", format="json"), put, bare=True)


def parquet_world(folder: Path) -> World:
    (folder / "in").mkdir()

    def put(records: list[bytes]) -> None:
        rows = [json.loads(text) for text in records]
        table = pyarrow.table({"id": [row["id"] for row in rows], "Text": [row["Text"] for row in rows]})
        pyarrow.parquet.write_table(table, folder / "in" / f"{uuid.uuid4().hex}.parquet")

    return World(spec_in(folder, connector="files", path="in/*.parquet", format="parquet"), put, broken=False)


def tail_world(folder: Path) -> World:
    def put(records: list[bytes]) -> None:
        log = folder / "app.log"
        if log.exists():
            log.rename(folder / "app.log.1")
        with log.open("ab") as file:
            file.write(b"\r\n\r\n".join(records) + b"\n")

    return World(spec_in(folder, connector="files", path="app.log", format="json", tail="true"), put, renames=True)


def kafka_world(folder: Path, servers: str) -> World:
    topic = uuid.uuid4().hex
    produce([], servers, topic, partitions=2)
    return World(spec_in(folder, connector="kafka", servers=servers, topic=topic), lambda records: void(produce(records, servers, topic)))


def void(_: object) -> None:
    return None


def generator_world(folder: Path) -> World:
    options = {
        "rows_per_second": "0.001",
        "start": "2024-01-01",
        "keys": "10",
        "skew": "1.2",
        "disorder": "3 seconds",
        "step": "1 second",
        "seed": "5",
        "id": "n",
        "text": "concat('käse-', key)",
    }
    spec = spec_in(folder, connector="generator", **options)
    supply = Supply(None, 0.001)
    return World(spec, lambda records: Supplier(supply, spec.state / "recorded" / spec.name).finish(PART), broken=False, generated=True)


@contextlib.contextmanager
def feeding(records: list[bytes]) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                with connection:
                    for start in range(0, len(records), 25):
                        connection.sendall(b"\r\n".join(records[start : start + 25]) + b"\n")
                        time.sleep(0.3)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
    thread.join(10)


def socket_world(folder: Path) -> World:
    world = World(spec_in(folder, connector="socket", host="127.0.0.1", port="0"), lambda records: None)

    def put(records: list[bytes]) -> None:
        with feeding(records) as port:
            world.spec = spec_in(folder, connector="socket", host="127.0.0.1", port=str(port))
            source = world.open()
            assert source.caught_up(20)  # type: ignore[attr-defined]
            time.sleep(0.2)
            source.close()

    world.put = put
    return world


WORLDS = {"files": files_world, "parquet": parquet_world, "tail": tail_world, "generator": generator_world, "socket": socket_world}


@pytest.fixture(params=[*WORLDS, "kafka"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = kafka_world(tmp_path, request.getfixturevalue("kafka")) if request.param == "kafka" else WORLDS[request.param](tmp_path)
    yield made
    for source in made.sources:
        source.close()


def decoded(world: World, raw: DataFrame) -> DataFrame:
    return decode(raw, world.spec, Rules("at", "1 day", NOW))


def drain(spark: SparkSession, world: World, checkpoint: Path, limits: Limits = SMALL) -> list[Row]:
    """What a view sees until it has caught up."""
    found: list[Row] = []
    frame = decoded(world, world.open().live(spark, limits)).observe("counted", F.count(F.lit(1)).alias("rows"))
    query = frame.writeStream.foreachBatch(lambda rows, _: found.extend(rows.collect())).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()
    return found


def ended(checkpoint: Path) -> str:
    last = max((path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    return last.read_text().splitlines()[-1]


def bag(rows: list[Row]) -> Counter[str]:
    # Positions are history's to tell.
    return Counter(json.dumps({name: value for name, value in row.asDict().items() if name != "__position"}, default=str) for row in rows)


def test_live_is_history(spark: SparkSession, world: World, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    numbers = [number for number in range(2 * PART) if world.broken or number % 20 != 7]
    if world.bare:
        numbers = [number for number in numbers if b"other" not in record(number)]
    world.put([record(number) for number in numbers if number < PART])
    first = drain(spark, world, checkpoint)
    middle = ended(checkpoint)
    world.put([record(number) for number in numbers if number >= PART])
    second = drain(spark, world, checkpoint)
    log = checkpoint / "sources" / "0"
    assert len([path for path in (checkpoint / "offsets").iterdir() if path.name.isdigit()]) >= 2

    source = world.open()
    # A log that was renamed is part of what was read, but no longer of what the path means.
    everything = Span(None, ended(checkpoint), log) if world.renames else Span()
    whole = decoded(world, source.history(spark, everything)).collect()
    assert bag(whole) == bag(first + second)
    assert bag(decoded(world, source.history(spark, Span(None, middle, log))).collect()) == bag(first)
    assert bag(decoded(world, source.history(spark, Span(middle, ended(checkpoint), log))).collect()) == bag(second)

    good = [row for row in whole if row["__reason"] is None]
    bad = [number for number in numbers if number % 20 == 7]
    assert sorted(row["id"] for row in good) == sorted(range(2 * PART) if world.generated else set(numbers) - set(bad))
    assert len(whole) - len(good) == len(bad)
    assert all(row["__position"] for row in whole)
    if world.broken:
        texts = {row["id"]: row["Text"] for row in good}
        assert all(texts[number] == json.loads(record(number))["Text"] for number in texts)
        letters = dead_rows(decoded(world, source.history(spark, everything)), world.spec, world.spec.schema)
        reasons = Counter(row["reason"] for row in letters.collect())
        assert reasons == Counter(
            {
                "not valid JSON": 2,
                "does not fit the declared types: id": 2,
                "not valid UTF-8": 2,
                "none of the declared columns": 0 if world.bare else 2,
                "dated 2405 days in the future: beyond max_ahead 1 day": 2,
            }
        )
    check_places(spark, world, checkpoint)
    assert decoded(world, source.history(spark, Span(log=log, nothing=True))).collect() == []


def check_places(spark: SparkSession, world: World, checkpoint: Path) -> None:
    """A record's position tells which epoch took it: over the whole history the rows of each are those of its own span."""
    logged = logged_epochs(checkpoint, last_epoch(checkpoint / "offsets"))
    log, source = checkpoint / "sources" / "0", world.open()
    place = place_of(world.spec.options, log, 0, logged)
    rows = decoded(world, source.history(spark, Span(None, logged[-1].ends[0], log))).withColumn("place", F.expr(place)).collect()
    before = None
    for number, epoch in enumerate(logged):
        own = decoded(world, source.history(spark, Span(before, epoch.ends[0], log))).collect()
        there = [Row(**{name: value for name, value in row.asDict().items() if name != "place"}) for row in rows if row["place"] == number]
        assert bag(there) == bag(own)
        before = epoch.ends[0]
    assert all(row["place"] is not None for row in rows)


def test_a_bad_value_is_found_also_in_a_column_that_nobody_reads(spark: SparkSession, tmp_path: Path) -> None:
    world = files_world(tmp_path)
    bad = [b'{"id": "x", "Text": "a"}', b'{"Text": "a", "at": "never"}', b'{"id": 1, "other": {}']
    world.put([record(0), *bad, b'{"Text": 5, "id": 5}', b'{"other": 1}'])
    rows = decode(world.open().history(spark, Span()), world.spec, Rules(words=False)).where("__reason IS NULL").select("Text")
    assert sorted(row.Text or "" for row in rows.collect()) == ["", "5", "plain"]


def test_a_record_is_parsed_once_however_it_is_filtered(spark: SparkSession, tmp_path: Path) -> None:
    world = tail_world(tmp_path)
    world.put([record(1)])
    frame = decoded(world, world.open().history(spark, Span())).where("__reason IS NULL AND id > 0").selectExpr("id + 1", "upper(Text)")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("from_json") == 1


def test_a_line_knows_its_number_in_a_log_that_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    world = tail_world(tmp_path)
    world.put([b"{broken", record(1), b"{too"])
    rows = dead_rows(decoded(world, world.open().history(spark, Span())), world.spec, world.spec.schema).collect()
    assert sorted((json.loads(row["position"])["line"], bytes(row["raw"])) for row in rows) == [(1, b"{broken"), (5, b"{too")]


def test_a_session_learns_of_followed_files_once(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_bytes(b'{"id": 1}\n')
    source = open_source(spec_in(tmp_path, connector="files", path="a.log", format="json", tail="true"))
    kinds: list[object] = []
    register = DataSourceRegistration.register

    def registered(self: DataSourceRegistration, kind: type) -> None:
        kinds.append(kind)
        register(self, kind)

    monkeypatch.setattr(DataSourceRegistration, "register", registered)
    sessions = [spark.newSession(), spark.newSession()]
    for session in [*sessions, *sessions]:
        assert source.history(session, Span()).count() == 1
    assert len(kinds) == 2


def test_csv_columns_follow_the_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('at,id,more,Text\n2024-01-01,1,x,"say ""hi"", ü"\n,two,,\n,3,,\n1,2\n', encoding="utf-8")
    world = World(spec_in(tmp_path, connector="files", path="in.csv", format="csv", header="true"), void)
    rows = decoded(world, world.open().history(spark, Span())).collect()
    assert [(row["id"], row["Text"]) for row in rows if row["__reason"] is None] == [(1, 'say "hi", ü'), (3, None)]
    assert [row["__reason"] for row in rows if row["__reason"]] == ["does not fit the declared types"] * 2
    assert bag(drain(spark, world, tmp_path / "checkpoint")) == bag(rows)


def test_text_is_a_line_a_row(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ü 'x'\n\n\xff".encode("latin1").replace(b"\xfc", "ü".encode()))
    options = {"connector": "files", "path": "*.txt", "format": "text"}
    spec = SourceSpec("lines", options, Schema((Column("line", "string"),)), tmp_path, tmp_path)
    rows = decode(open_source(spec).history(spark, Span()), spec, Rules()).collect()
    assert [(row["line"], row["__reason"]) for row in rows][:2] == [("ü 'x'", None), ("", None)]
    assert rows[2]["__reason"] == "not valid UTF-8"
    assert bytes(rows[2]["__raw"]) == b"\xff"


def test_a_broken_parquet_file_stops_nothing_and_is_named(spark: SparkSession, tmp_path: Path) -> None:
    world = parquet_world(tmp_path)
    world.put([record(1)])
    (tmp_path / "in" / "broken.parquet").write_bytes(b"x" * 100)
    pyarrow.parquet.write_table(pyarrow.table({"id": ["text"]}), tmp_path / "in" / "other.parquet")
    source = world.open()
    with pytest.raises(StreamingQueryException, match="FAILED_READ_FILE"):
        drain(spark, world, tmp_path / "checkpoint")
    named = dict(source.unreadable(spark, Span(), thorough=True))  # type: ignore[attr-defined]
    assert [Path(name).name for name in named] == ["broken.parquet", "other.parquet"]
    assert [row["id"] for row in source.history(spark, Span()).collect()] == [1]
    past_damage = spark.newSession()
    past_damage.conf.set(SKIPPING, "true")
    assert [row["id"] for row in drain(past_damage, world, tmp_path / "other checkpoint")] == [1]


def test_the_keys_of_a_generator_follow_the_zipf_law_and_do_not_depend_on_partitions(spark: SparkSession, tmp_path: Path) -> None:
    options = {"connector": "generator", "rows": "100000", "keys": "1000", "skew": "1", "id": "key"}
    spec = SourceSpec("events", options, SCHEMA, tmp_path, tmp_path)
    rows = open_source(spec).history(spark, Span())
    counts = {row["id"]: row["count"] for row in rows.groupBy("id").count().collect()}
    harmonic = sum(1 / place for place in range(1, 1001))
    for key in (0, 1, 9, 30, 99):
        assert counts[key] == pytest.approx(100_000 / (key + 1) / harmonic, rel=0.15)
    assert min(counts) == 0
    assert max(counts) <= 999
    assert bag(rows.limit(50).collect()) == bag(rows.repartition(7).where("get_json_object(__position, '$.row') < 50").collect())


def test_a_bounded_generator_gives_all_its_rows_to_a_run_that_ends(spark: SparkSession, tmp_path: Path) -> None:
    options = {"connector": "generator", "rows": "250000", "rows_per_second": "10", "id": "n"}
    world = World(SourceSpec("events", options, SCHEMA, tmp_path, tmp_path), void)
    source = world.open()
    assert source.caught_up(1.0)  # type: ignore[attr-defined]
    assert len(drain(spark, world, tmp_path / "checkpoint")) == 250_000
    source.close()


def test_an_endless_generator_goes_on_where_it_ended(spark: SparkSession, tmp_path: Path) -> None:
    spec = SourceSpec("events", {"connector": "generator", "rows_per_second": "400", "id": "n"}, SCHEMA, tmp_path, tmp_path)
    seen: list[int] = []
    for _ in range(2):
        world = World(spec, void)
        source = world.open()
        source.caught_up(1.0)  # type: ignore[attr-defined]
        seen += [row["id"] for row in drain(spark, world, tmp_path / "checkpoint", Limits(rows=1_000_000, megabytes=1))]
        source.close()
    assert sorted(seen) == list(range(len(seen)))
    assert len(seen) >= 800
    assert open_source(spec).history(spark, Span()).count() >= len(seen)


def test_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "cards.csv").write_text("card,limit\nä,5\nb,x\n", encoding="utf-8")
    declared = Schema((Column("card", "string"), Column("limit", "int")))
    options = {"connector": "files", "path": "cards.csv", "format": "csv", "header": "true"}
    spec = SourceSpec("t", options, declared, tmp_path, tmp_path)
    rows = decode(table_frame(spark, spec), spec, Rules()).where("__reason IS NULL").select("card", "limit").collect()
    assert [tuple(row) for row in rows] == [("ä", 5)]
    found = table_frame(spark, SourceSpec("t", options, Schema(()), tmp_path, tmp_path))
    assert found.columns == ["card", "limit"]
    with pytest.raises(OptionFault, match=r"nothing\.csv"):
        table_frame(spark, SourceSpec("t", {**options, "path": "nothing.csv"}, declared, tmp_path, tmp_path))


def test_a_postgres_table(spark: SparkSession, postgres: dict[str, str | int], database: str, tmp_path: Path) -> None:
    import psycopg

    given = {name: str(value) for name, value in {**postgres, "database": database}.items()}
    with psycopg.connect(host=given["host"], port=given["port"], dbname=database, user=given["user"], password=given["password"]) as connection:
        connection.execute("CREATE TABLE cards (id int, name text, fee numeric(10,2), at timestamptz, tag uuid, raw bytea, rate numeric)")
        connection.execute(
            "INSERT INTO cards VALUES (1, 'für ''x''', 2.50, '2024-01-01 00:00:00+02', gen_random_uuid(), 'x'::bytea, 1 / 3.0 :: numeric(40,30))"
        )
        connection.execute("INSERT INTO cards (id) VALUES (2)")
    options = {"connector": "postgres", "table": "public.cards", **given}
    rows = table_frame(spark, SourceSpec("cards", options, Schema(()), tmp_path, tmp_path))
    assert dict(rows.dtypes) == {
        "id": "int",
        "name": "string",
        "fee": "decimal(10,2)",
        "at": "timestamp",
        "tag": "string",
        "raw": "binary",
        "rate": "decimal(38,18)",
    }
    assert rows.selectExpr("id", "name", "string(fee)", "string(at)").collect()[0] == (1, "für 'x'", "2.50", "2023-12-31 22:00:00")
    assert str(rows.collect()[0]["rate"]).startswith("0.3333333333333333")
    declared = Schema((Column("Name", "string"), Column("id", "bigint")))
    assert [tuple(row) for row in table_frame(spark, SourceSpec("cards", options, declared, tmp_path, tmp_path)).collect()] == [
        ("für 'x'", 1),
        (None, 2),
    ]
    with pytest.raises(SourceError, match="absent"):
        table_frame(spark, SourceSpec("cards", {**options, "table": "absent"}, declared, tmp_path, tmp_path))


def test_a_value_that_a_postgres_table_cannot_carry_is_reported_with_its_column(
    spark: SparkSession, postgres: dict[str, str | int], database: str, tmp_path: Path
) -> None:
    import psycopg

    given = {name: str(value) for name, value in {**postgres, "database": database}.items()}
    with psycopg.connect(host=given["host"], port=given["port"], dbname=database, user=given["user"], password=given["password"]) as connection:
        connection.execute("CREATE TABLE odd (n numeric, at timestamptz, day date)")
        connection.execute("INSERT INTO odd VALUES (1234567890123456789012345678901, NULL, '2024-01-01'), (1.5, NULL, NULL)")
    options = {"connector": "postgres", "table": "odd", **given}

    def rows(*columns: Column) -> list[tuple[object, ...]]:
        return [tuple(row) for row in table_frame(spark, SourceSpec("odd", options, Schema(columns), tmp_path, tmp_path)).collect()]

    with pytest.raises(TypeFault, match=r"`odd`: the column `n` holds 1234567890123456789012345678901, too long"):
        rows()
    assert rows(Column("n", "decimal(38,0)")) == [(Decimal("1234567890123456789012345678901"),), (Decimal(2),)]
    assert rows(Column("N", "string")) == [("1234567890123456789012345678901",), ("1.5",)]
    assert rows(Column("n", "double"))[1] == (1.5,)
    with psycopg.connect(host=given["host"], port=given["port"], dbname=database, user=given["user"], password=given["password"]) as connection:
        connection.execute("UPDATE odd SET n = 'NaN', at = 'infinity' WHERE n = 1.5")
    with pytest.raises(TypeFault, match=r"`odd`: the column `at` holds infinity") as raised:
        rows(Column("n", "string"), Column("at", "timestamp"))
    assert "declare" in str(raised.value.hint)
    with pytest.raises(TypeFault, match=r"`odd`: the column `n` holds NaN"):
        rows(Column("n", "decimal(38,0)"), Column("at", "string"))
    assert rows(Column("n", "string"), Column("at", "string"), Column("day", "date"))[1] == ("NaN", "infinity", None)
    assert rows(Column("day", "date")) == [(date(2024, 1, 1),), (None,)], "a column that is not asked for is in nobody's way"


def test_a_broker_that_is_not_there_is_reported_at_once(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_in(tmp_path, connector="kafka", servers="127.0.0.1:1", topic="t")
    with pytest.raises(SourceError, match="no Kafka broker answers"):
        open_source(spec).live(spark, SMALL)

"""Files in folders of partitions, read by those for whom they are: Spark, DuckDB and pandas; and files of a bounded size."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import duckdb
from penstock.change import Change, Epoch
from penstock.errors import OptionFault, RefusalError
from penstock.sink.open import SinkWriter, open_sink
from penstock.testing.trial import Trial
from penstock.verify.run import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = "country string, day date, n int, note string"
ODD = ['a/b=c:"d"', "São Tomé 東京", "100% [x] {y}^", "tab\there", ".."]
Opener = Callable[..., SinkWriter]


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Opens a sink `s` of view `v` to the folder `out`."""

    def open_one(ddl: str = DDL, key: tuple[str, ...] | None = None, append_only: bool = True, complete: bool = False, **more: object) -> SinkWriter:
        options = {"connector": "files", "path": "out", "partition_by": "country", **{name: str(value) for name, value in more.items()}}
        return open_sink("s", "v", options, ddl, key, append_only=append_only, complete=complete, folder=tmp_path)

    return open_one


def row(country: str | None, n: int, day: str = "2024-05-01", note: str = "x") -> str:
    return json.dumps({"country": country, "day": day, "n": n, "note": note}, ensure_ascii=False)


def epoch(number: int, *rows: str, generation: str = "one") -> Epoch:
    return Epoch("v", generation, number, [Change("+", None, line) for line in rows])


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("part-*"))


def in_duckdb(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_reader_finds_the_columns_that_are_folders(opened: Opener, tmp_path: Path, spark: SparkSession, form: str) -> None:
    sink = opened(format=form, partition_by="country, day")
    sink.deliver(epoch(0, *(row(country, number) for number, country in enumerate(ODD)), row(None, 98), row("", 99)))
    sink.deliver(epoch(1, row("PT", 7, "2024-05-02"), row("PT", 8)))
    out = tmp_path / "out"
    assert "epoch=1/country=PT/day=2024-05-02" in {str(Path(name).parent) for name in files(out)}
    expected: list[tuple[str | None, date, int]] = [(country, date(2024, 5, 1), number) for number, country in enumerate(ODD)]
    expected += [("PT", date(2024, 5, 2), 7), ("PT", date(2024, 5, 1), 8), (None, date(2024, 5, 1), 98), (None, date(2024, 5, 1), 99)]
    expected.sort(key=lambda found: found[2])

    reader = spark.read.option("header", True).option("inferSchema", True).format(form).load(str(out))
    assert [tuple(found) for found in reader.selectExpr("country", "day", "int(n)").orderBy("n").collect()] == expected

    call = {"json": "read_json", "csv": "read_csv", "parquet": "read_parquet"}[form]
    found = in_duckdb(f"SELECT country, day, n FROM {call}('{out}/**/*.{form}', hive_partitioning = true) ORDER BY n")
    assert found == expected
    if form == "parquet":
        frame = pd.read_parquet(out / "epoch=1").sort_values("n")  # pandas itself fails on partitions of which one is null
        held = [(str(country), str(day), int(n)) for country, day, n in frame[["country", "day", "n"]].to_numpy()]
        assert held == [("PT", "2024-05-02", 7), ("PT", "2024-05-01", 8)]


def test_spark_names_the_folders_alike(opened: Opener, tmp_path: Path, spark: SparkSession) -> None:
    """The same rows written by Spark lie in folders of the same names."""
    ddl = "k string, at timestamp, ok boolean, price decimal(8,2), n int"
    same = {"at": "2024-02-29T23:59:59.123456Z", "ok": True, "price": "1.50"}
    rows: list[dict[str, Any]] = [{"k": text, **same, "n": number} for number, text in enumerate([*ODD, "", "PT", "%"])]
    rows += [{"k": None, "at": "2024-02-29T00:00:00Z", "ok": None, "price": None, "n": 98}]
    opened(ddl, partition_by="k,at,ok,price").deliver(epoch(0, *(json.dumps(each) for each in rows)))
    moments = [(each["k"], datetime.fromisoformat(str(each["at"])), each["ok"], each["price"], each["n"]) for each in rows]
    frame = spark.createDataFrame(moments, "k string, at timestamp, ok boolean, price string, n int")
    frame = frame.selectExpr("k", "at", "ok", "CAST(price AS decimal(8,2)) AS price", "n")
    frame.write.partitionBy("k", "at", "ok", "price").json(str(tmp_path / "spark"))
    theirs = {str(path.parent.relative_to(tmp_path / "spark")) for path in (tmp_path / "spark").rglob("part-*")}
    assert {str(path.parent.relative_to(tmp_path / "out" / "epoch=0")) for path in (tmp_path / "out").rglob("part-*")} == theirs


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_rows_of_an_epoch_are_split_over_files_of_a_size(opened: Opener, tmp_path: Path, form: str) -> None:
    rows = [row(("PT", "ES")[number % 2], number, note=os.urandom(150 if number < 900 else 1500).hex()) for number in range(1000)]
    opened(format=form, file_mb_max="0.05").deliver(epoch(0, *rows))
    sizes = [path.stat().st_size for path in (tmp_path / "out").rglob("part-*")]
    assert len(sizes) >= 6
    assert max(sizes) <= 50_000
    call = {"json": "read_json", "csv": "read_csv", "parquet": "read_parquet"}[form]
    found = in_duckdb(f"SELECT country, n FROM {call}('{tmp_path}/out/**/*.{form}', hive_partitioning = true) ORDER BY n")
    assert found == [(("PT", "ES")[number % 2], number) for number in range(1000)]


def test_an_epoch_with_partitions_is_there_once_and_whole(opened: Opener, tmp_path: Path) -> None:
    first = opened()
    first.deliver(epoch(0, row("PT", 1), row("ES", 2)))
    again = opened()
    assert again.position("one") == 0
    again.deliver(epoch(0, row("PT", 1), row("ES", 2)))
    assert files(tmp_path / "out") == ["epoch=0/country=ES/part-0.json", "epoch=0/country=PT/part-0.json"]
    assert (tmp_path / "out/epoch=0/country=PT/part-0.json").read_text() == '{"day":"2024-05-01","n":1,"note":"x"}\n'
    again.deliver(epoch(0, row("FR", 3), generation="two"))
    assert files(tmp_path / "out") == ["epoch=0/country=FR/part-0.json"]


def test_epochs_of_one_folder_are_partitioned_alike(opened: Opener) -> None:
    opened().deliver(epoch(0, row("PT", 1)))
    with pytest.raises(RefusalError, match="partitioned by country, and `partition_by` says day now"):
        opened(partition_by="day").position("one")
    assert opened(partition_by="day").position("two") == -1
    assert opened(partition_by="Country").position("one") == 0


@pytest.mark.parametrize(
    ("ddl", "partition_by", "message"),
    [
        (DDL, "land", "`land`, which is no column of view `v`"),
        ("k string, w struct<start: timestamp>", "w", "`w`, which is struct"),
        ("epoch int, n int", "epoch", "the folder of an epoch has that name"),
        ("k string", "k", "all columns"),
        (DDL, "day, DAY", "twice"),
    ],
)
def test_what_cannot_be_folders_is_refused(opened: Opener, ddl: str, partition_by: str, message: str) -> None:
    with pytest.raises(OptionFault, match=message):
        opened(ddl, partition_by=partition_by)


def test_a_value_too_long_for_a_folder_is_refused(opened: Opener) -> None:
    with pytest.raises(RefusalError, match="bytes as a folder, and 255 are allowed"):
        opened().deliver(epoch(0, row("x" * 300, 1)))


def test_verify_reads_partitions_back(spark: SparkSession, tmp_path: Path) -> None:
    trial = Trial(tmp_path, spark, {"batch_files_max": "1"})
    sinks = [
        f"CREATE SINK {view}_{form} FROM {view} WITH (connector = 'files', path = 'out/{view}_{form}', format = '{form}',"
        f" partition_by = '{by}'{more});"
        for view, by in (("rows", "country, at"), ("totals", "country"), ("board", "country"))
        for form, more in (("json", ""), ("csv", ", file_mb_max = '0.0001'"), ("parquet", ""))
    ]
    sinks.append("CREATE SINK again FROM totals WITH (connector = 'files', path = 'out/a', partition_by = 'country', delivery = 'at-least-once');")
    trial.write(
        "app.sql",
        f"""
        CREATE STREAM sales (country STRING, amount DECIMAL(8,2), ok BOOLEAN, at TIMESTAMP)
        WITH (connector = 'files', path = 'sales', format = 'json');
        CREATE MATERIALIZED VIEW rows AS SELECT country, at, ok, amount, 1.5D AS ratio FROM sales;
        CREATE MATERIALIZED VIEW totals AS SELECT country, ok, sum(amount) AS total, count(*) AS n FROM sales GROUP BY country, ok;
        CREATE MATERIALIZED VIEW board AS SELECT country, ok, count(*) AS n FROM sales GROUP BY country, ok EMIT COMPLETE;
        {" ".join(sinks)}
        """,
    )
    for number, country in enumerate([*ODD, None, "", "PT", "PT", None]):
        ok = None if number == 8 else number % 2 == 0
        trial.feed("sales", {"country": country, "amount": f"{number}.25", "ok": ok, "at": f"2024-05-01T10:00:0{number}.5Z"})
    trial.drain()
    with trial.engine() as engine:
        found = list(verify(engine, session=spark))
    assert [verdict.as_json() for verdict in found if not verdict.equal] == []
    assert len(found) == 3 + 10
    lost = next((tmp_path / "out/rows_json").rglob("country=PT/*/part-0.json"))
    lost.write_text("")
    with trial.engine() as engine:
        wrong = [verdict for verdict in verify(engine, "rows", session=spark) if not verdict.equal]
    assert [(verdict.sink, len(verdict.found.missing)) for verdict in wrong] == [("rows_json", 1)]

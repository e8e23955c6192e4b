"""The verbs in the process of their user, over real Spark: what docs/python.md shows, line by line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import EngineError, NameFault, PlanFault, StateError, UserError
from penstock.interactive.live import Change
from penstock.testing.trial import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2024, 5, 1, 10, tzinfo=UTC)
CARDS = [{"customer": "ann", "country": "PT"}, {"customer": "bob", "country": "ES"}]


def order(number: int, customer: str, amount: str) -> dict[str, Any]:
    return {"id": f"o{number}", "customer": customer, "amount": Decimal(amount), "at": START + timedelta(minutes=number)}


FIRST = [order(1, "ann", "10.50"), order(2, "bob", "20.00")]
SECOND = [order(3, "ann", "100.00"), order(4, "eve", "7.00")]
COLUMNS = "id STRING, customer STRING, amount DECIMAL(12,2), at TIMESTAMP"


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    """A folder of the test's own; the verbs find the warm session of this process."""
    return tmp_path


def shop(state: Path | None = None, *steps: list[dict[str, Any]]) -> tuple[ps.App, ps.Query, ps.Memory]:
    app = ps.App("shop", state=state)
    memory = ps.Memory(list(steps or (FIRST, SECOND)))
    orders = app.stream("orders", memory, COLUMNS, event_time="at", lateness="10 seconds")
    cards = app.table("cards", ps.Memory(CARDS))
    app.view("sales", orders.join(cards, on="customer").group_by("country").agg(total="sum(amount)", n="count(*)"))
    return app, orders, memory


@pytest.fixture
def sales(folder: Path) -> Iterator[ps.App]:
    with shop()[0] as app:
        yield app


def totals(rows: Any) -> dict[str, Decimal]:
    return {row["country"]: row["total"] for row in rows}


def test_batch_peek_sql_and_query_values_give_results_with_real_types(sales: ps.App) -> None:
    result = sales.batch("sales")
    assert totals(result) == {"PT": Decimal("110.50"), "ES": Decimal("20.00")}
    assert result.columns == ["country", "total", "n"]
    assert result.to_arrow().schema.field("total").type == pa.decimal128(22, 2)
    assert sorted(result.to_pandas()["n"]) == [1, 2]
    assert result.dead.count == 0
    assert result.epoch is None
    assert len(sales.peek("orders", 3)) == 3
    assert sales.peek("cards").to_dicts() == CARDS
    assert totals(sales.sql("SELECT country, total FROM sales WHERE total > 100")) == {"PT": Decimal("110.50")}
    assert totals(sales.batch("sales")) == totals(result)


def test_a_query_value_can_be_asked_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app, orders, _ = shop()
    found = orders.where("amount > 10").order_by("at").select("id", "at").batch()
    assert found["id"] == ["o1", "o2", "o3"]
    assert found[0]["at"] == START + timedelta(minutes=1)
    assert orders.filter("customer = 'eve'").head(1)["id"] == ["o4"]
    assert orders.groupBy("customer").agg(n="count(*)").toPandas().shape == (3, 2)
    assert app.read("sales").where("n = 1").batch()["country"] == ["ES"]
    assert app.query("SELECT max(amount) AS most FROM orders").batch()["most"] == [Decimal("100.00")]
    orders.show(2)
    assert "customer" in capsys.readouterr().out
    app.close()


def test_nested_values_binary_and_nulls_come_back_as_they_are(folder: Path) -> None:
    app = ps.App("types")
    row = {
        "id": 2**53 + 1,
        "raw": b"\x00\xff",
        "day": date(2024, 2, 29),
        "at": START,
        "tags": ["a", None],
        "place": {"lat": 1.5, "since": START},
        "ratio": float("inf"),
        "nothing": None,
    }
    app.stream("things", ps.Memory([row]))
    app.view("kept", "SELECT *, map('a', CAST(1.5 AS DECIMAL(5,2))) AS prices FROM things")
    wanted = {**row, "prices": {"a": Decimal("1.50")}}
    assert app.batch("kept").to_dicts() == [wanted]
    with app.run(drain=True) as live:
        live.wait(120)
    assert app.rows("kept").to_dicts() == [wanted]
    assert app.rows("kept").to_arrow().schema == app.batch("kept").to_arrow().schema
    app.close()


@pytest.mark.parametrize(
    "data",
    [CARDS, pd.DataFrame(CARDS), pa.Table.from_pylist(CARDS), pl.DataFrame(CARDS)],
    ids=["dicts", "pandas", "arrow", "polars"],
)
def test_data_of_the_program_is_a_table_in_every_form(folder: Path, data: object) -> None:
    with ps.App("cards") as app:
        cards = app.table("cards", ps.Memory(data))
        assert cards.order_by("customer").batch().to_dicts() == CARDS


def test_a_live_app_is_waited_for_asked_and_followed(folder: Path) -> None:
    app, _, memory = shop()
    with app.run() as live:
        live.wait_until_caught_up(timeout=120)
        held = live.rows("sales")
        assert totals(held) == {"PT": Decimal("110.50"), "ES": Decimal("20.00")}
        assert held.epoch == 1
        assert totals(live.rows("sales", where="total > 100")) == {"PT": Decimal("110.50")}
        assert len(live.rows("sales", limit=1)) == 1
        with pytest.raises(PlanFault):
            live.rows("sales", where="total > (SELECT 1)")
        with pytest.raises(PlanFault, match="totl"):
            live.rows("sales", where="totl > 1")
        changes = live.follow("sales")
        first = [next(changes), next(changes)]
        assert [(change.op, change.epoch) for change in first] == [("+", 1), ("+", 1)]
        assert first[0].token is None
        assert first[1].token
        memory.append([order(5, "bob", "1.00")])
        taken, put = next(changes), next(changes)
        assert (taken.op, taken.row["total"], put.op, put.row["total"]) == ("-", Decimal("20.00"), "+", Decimal("21.00"))
        assert taken.key == put.key == {"country": "ES"}
        assert put.epoch == 2
        memory.append([order(6, "bob", "1.00")])
        live.wait_until_caught_up(timeout=120)
        assert totals(live.rows("sales"))["ES"] == Decimal("22.00")
        assert [progress.status for progress in live.status()] == ["running"]
        assert "running" in live._repr_html_()
    assert not live.running
    assert totals(app.rows("sales"))["ES"] == Decimal("22.00")
    assert app.status()[0].status == "stopped"
    verdicts = app.verify()
    assert [(one.view, one.sink, one.rows, one.missing, one.extra, one.different, one.equal) for one in verdicts] == [
        ("sales", None, 2, 0, 0, 0, True)
    ]
    assert "equal" in str(verdicts)
    app.close()


def test_one_step_is_one_epoch_and_a_drain_ends_by_itself(folder: Path) -> None:
    app = ps.App("steps")
    numbers = app.stream("numbers", ps.Memory([[{"n": 1}], [{"n": 2}, {"n": 3}], pd.DataFrame({"n": [4]})]))
    app.view("all_numbers", numbers)
    with app.run(drain=True) as live:
        seen = [(change.epoch, change.row["n"]) for change in live.follow("all_numbers")]
    assert sorted(n for _, n in seen) == [1, 2, 3, 4]
    again = app.run(drain=True)
    again.wait(120)
    with app.run(drain=True) as live:
        whole = list(live.follow("all_numbers"))
    assert {change.epoch for change in whole} == {2}
    assert app.rows("all_numbers").epoch == 2
    app.close()


def test_the_epoch_of_rows_and_changes_never_goes_back(folder: Path) -> None:
    """Over a restart, a view that means something else, one that is rebuilt from history, and one that is dropped and made again."""

    def asked(query: str, *steps: list[dict[str, Any]]) -> tuple[int, int]:
        app = ps.App("epochs", state=folder / "state")
        app.stream("numbers", ps.Memory(list(steps)))
        app.view("sums", query)
        with app.run(drain=True) as live:
            live.wait(120)
        with app.run() as live:
            live.wait_until_caught_up(120)
            rows, change = live.rows("sums"), next(live.follow("sums"))
        assert (app.rows("sums").epoch, change.epoch) == (rows.epoch, rows.epoch)
        app.close()
        return rows.epoch or 0, rows[0]["total"]

    first, second = [{"n": 1}], [{"n": 2}]
    total = "SELECT sum(n) AS total FROM numbers"
    seen = [
        asked(total, first, second),
        asked(total, first, second, second),
        asked("SELECT sum(n) * 10 AS total FROM numbers WHERE n > 0", first, second, second),
        asked(total, first, second, second),
    ]
    assert [row for _, row in seen] == [3, 5, 50, 5]
    epochs = [epoch for epoch, _ in seen]
    assert epochs == sorted(set(epochs)), epochs


def upto(changes: Iterator[Change], count: int) -> list[Change]:
    return [next(changes) for _ in range(count)]


def test_following_goes_on_after_a_restart_with_the_very_next_change(folder: Path) -> None:
    app, _, memory = shop(folder / "state", FIRST)
    with app.run() as live:
        changes = live.follow("sales")
        upto(changes, 2)
        memory.append([order(5, "ann", "1.00"), order(6, "bob", "2.00")])
        before = upto(changes, 2)
    assert app.rows("sales").epoch == 1
    app.close()

    later, _, memory = shop(folder / "state", FIRST, [order(5, "ann", "1.00"), order(6, "bob", "2.00")])
    with later.run() as live:
        rest = live.follow("sales", resume=before[-1].token)
        upto_now = upto(rest, 2)
        memory.append([order(7, "ann", "0.50")])
        upto_now += upto(rest, 2)
    assert [change.op for change in [*before, *upto_now]] == ["-", "+", "-", "+", "-", "+"]
    assert len({json.dumps(change.key) for change in before + upto_now[:2]}) == 2
    assert upto_now[-1].row["total"] == Decimal("12.00")
    later.close()


def test_what_a_function_cannot_take_is_in_dead_and_said_and_mistakes_are_found_before_spark(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "own.py").write_text("def ratio(amount):\n    return 1 / (float(amount) - 20)\n", encoding="utf-8")
    (folder / "app.sql").write_text("CREATE FUNCTION ratio AS 'own:ratio' RETURNS DOUBLE;", encoding="utf-8")
    app = ps.open(folder)
    orders = app.stream("orders", ps.Memory(FIRST), COLUMNS)
    found = orders.select("id", r="ratio(amount)").batch()
    assert found["id"] == ["o1"]
    assert found.dead.count == 1
    assert "ZeroDivisionError" in found.dead.reasons[0]
    assert json.loads(found.dead[0].position) == {"file": str(folder / "own.py"), "line": 2, "function": "own:ratio"}
    assert json.loads(found.dead[0].raw) == {"amount": "20.00"}
    assert [record for record in caplog.records if "`orders`: 1 record was set aside" in record.getMessage()]
    assert "1 record of `orders`" in repr(found)
    for wrong, words in (("ratio()", "ratio"), ("ratioo(amount)", "there is no function `ratioo`"), ("amuont", "there is no column `amuont`")):
        with pytest.raises(UserError, match=words):
            orders.select(x=wrong).batch()
    with pytest.raises(UserError, match="there is no column `amuont`"):
        app.sql("SELECT amuont FROM orders")
    assert orders.count() == 2
    assert orders.groupBy("customer").count().order_by("customer").collect() == [{"customer": "ann", "count": 1}, {"customer": "bob", "count": 1}]
    app.close()


def test_an_app_of_a_folder_is_opened_and_says_what_was_set_aside(folder: Path) -> None:
    home = folder / "shop"
    (home / "orders").mkdir(parents=True)
    (home / "orders" / "1.json").write_text('{"id":"a","amount":1.5}\n{"id":"b","amount":"much"}\n{"id":"c","amount":2}\n', encoding="utf-8")
    (home / "app.sql").write_text(
        "CREATE STREAM orders (id STRING, amount DOUBLE) WITH (connector = 'files', path = 'orders');\n"
        "CREATE MATERIALIZED VIEW sales AS SELECT sum(amount) AS total FROM orders;",
        encoding="utf-8",
    )
    app = ps.open(home)
    assert app.batch("sales").to_dicts() == [{"total": 3.5}]
    app.run(drain=True).wait(120)
    assert app.rows("sales").to_dicts() == [{"total": 3.5}]
    assert app.peek("orders__dead")["reason"] != []
    with pytest.raises(NameFault):
        app.batch("sale")
    other = ps.open(home)
    assert other.rows("sales").epoch == 0
    app.close()
    other.close()


def test_what_a_run_fails_of_is_raised_where_it_is_waited_for(folder: Path) -> None:
    app, _, _ = shop(folder / "state")
    with app.run() as live:
        live.wait_until_caught_up(120)
        second = shop(folder / "state")[0]
        with pytest.raises(StateError):
            second.run(drain=True).wait(120)
        with pytest.raises(EngineError, match="within"):
            live.wait(0.1)
    app.close()


def tasks(spark: SparkSession) -> int:
    """How many tasks run in the JVM, with or without a job."""
    jvm: Any = spark.sparkContext._jvm
    return sum(" for task " in str(thread.getName()) for thread in jvm.java.lang.Thread.getAllStackTraces().keySet())


def test_ctrl_c_stops_the_work_and_not_the_session(folder: Path, spark: SparkSession) -> None:
    """Tasks end at the next record that they read, so the cores are free for the next question."""
    (folder / "texts.json").write_text("".join(f'{{"v": "text {number}"}}\n' for number in range(5000)), encoding="utf-8")
    app = ps.App("slow")
    app.table("texts", ps.Files(str(folder / "texts.json"), format="json"), "v STRING")
    small = app.table("cards", ps.Memory(CARDS))

    def interrupt() -> None:
        eventually(lambda: tasks(spark))
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            app.sql("SELECT max(sha2(repeat(v, 500000), 512)) AS m FROM texts")
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 60
    eventually(lambda: not tasks(spark), 10)
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    assert len(small.batch()) == 2
    app.close()


SCRIPT = """
import json, os, signal, sys, threading, time
import penstock as ps

settings = {"master": "local[2]", "driver_memory": "1g", "fast_start": True, "shuffle_partitions": 2}
steps = [[{"k": "a", "n": 1}], [{"k": "a", "n": 2}], [{"k": "b", "n": 5}]]
app = ps.App("later", state=sys.argv[1], settings=settings)
numbers = app.stream("numbers", ps.Memory(steps[: int(sys.argv[2])]))
app.view("sums", numbers.group_by("k").agg(total="sum(n)"))
stored = None
if len(sys.argv) > 3:
    stored = app.rows("sums").to_dicts()
    from pyspark import SparkContext
    assert SparkContext._active_spark_context is None, "stored rows need no Spark"
live = app.run(drain=True)
live.wait(120)
with app.run(drain=True) as live:
    seen = [[change.op, change.row, change.token] for change in live.follow("sums", resume=sys.argv[3] if len(sys.argv) > 3 else None)]
if len(sys.argv) > 3:
    endless = ps.App("endless", settings=settings)
    endless.table("numbers", ps.Generator(rows=10**12, columns={"v": "sha2(CAST(n AS STRING), 512)"}), "v STRING")
    threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    try:
        endless.sql("SELECT max(v) AS m FROM numbers")
    except KeyboardInterrupt:
        print("stopped after", time.monotonic() - began, file=sys.stderr)
    else:
        raise AssertionError("it was to be stopped")
    began = time.monotonic()
scratch = ps.App("scratch", settings=settings)
assert len(scratch.table("t", ps.Memory([{"x": 1}])).batch()) == 1
print(json.dumps({"seen": seen, "stored": stored, "temporary": str(scratch.state), "jvm": __import__("pyspark").SparkContext._gateway.proc.pid}))
"""


def later_process(folder: Path, *arguments: str) -> dict[str, Any]:
    script = folder / "later.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(600)
def test_a_later_process_goes_on_from_a_token_and_leaves_nothing_behind(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    first = later_process(tmp_path, state, "1")
    assert [entry[:2] for entry in first["seen"]] == [["+", {"k": "a", "total": 1}]]
    token = first["seen"][-1][2]
    second = later_process(tmp_path, state, "3", token)
    assert second["stored"] == [{"k": "a", "total": 1}]  # and its last question was asked after a Ctrl-C, with the cores free
    assert [entry[:2] for entry in second["seen"]] == [
        ["-", {"k": "a", "total": 1}],
        ["+", {"k": "a", "total": 3}],
        ["+", {"k": "b", "total": 5}],
    ]
    for found in (first, second):
        assert not Path(found["temporary"]).exists()
        assert not Path(f"/proc/{found['jvm']}").exists()

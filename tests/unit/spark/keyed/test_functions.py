"""Functions of buckets without Spark: in whatever steps rows come, they give what a plain loop over all rows gives."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.plan.python.process import Context, ProcessFunction
from penstock.spark.keyed.advance import KeyedOperator, advance, empty
from penstock.spark.keyed.bucket import BucketFunction, Clock, Dead
from penstock.spark.keyed.columns import Columns
from penstock.spark.keyed.ipc import from_bytes, to_bytes
from penstock.spark.keyed.loop import Kept, Loop
from penstock.spark.keyed.process import Process
from penstock.spark.keyed.pythonic import Unfit

TIME = pa.timestamp("us", "UTC")
ROWS = pa.schema([("card", pa.string()), ("n", pa.int64()), ("tags", pa.list_(pa.string())), ("at", TIME)])
KEYS = pa.schema([("card", pa.string())])
OUT = pa.schema([("card", pa.string()), ("sum", pa.int64())])
START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = 1_000_000


def rows(count: int, seed: int, cards: int = 7) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    names = [f"c{card}" for card in range(cards)] + [None]
    made = [
        {"card": chance.choice(names), "n": chance.randint(1, 99), "tags": [str(n)], "at": START + timedelta(seconds=chance.randint(0, 60))}
        for n in range(count)
    ]
    return sorted(made, key=lambda row: row["at"])


def micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def run(function: BucketFunction, given: list[dict[str, Any]], cuts: list[int], time: str | None = "at", side: str | None = None) -> Any:
    """The operator in steps, its state written and read between them; what came out, what was set aside, and what was late."""
    operator = pickle.loads(pickle.dumps(KeyedOperator(function, ROWS, ("card",), ("at",) if time else (), time, side)))
    bucket, outputs, dead, late = empty(operator), list[Any](), list[Dead](), 0
    for start, end in zip([0, *cuts], [*cuts, len(given)], strict=True):
        part = given[start:end]
        mark = micros(max(row["at"] for row in given[:start])) - 10 * SECOND if start else 0
        shuffled = random.Random(end).sample(part, len(part))
        found = advance(operator, bucket, pa.Table.from_pylist(shuffled, schema=ROWS), Clock(mark if time else None, 5))
        outputs += found.output.to_pylist()
        dead += found.dead
        late += found.late
        kept = found.bucket
        bucket = type(kept)(from_bytes(to_bytes(kept.waiting)), from_bytes(to_bytes(kept.state)), kept.mark, kept.timer, kept.wake)
    found = advance(operator, bucket, None, Clock(micros(given[-1]["at"]) + 3600 * SECOND if time else None, 5))
    return sorted(outputs + found.output.to_pylist(), key=repr), [*dead, *found.dead], late


def add(row: dict[str, Any], state: Any) -> Any:
    if row["n"] == 13:
        raise ValueError("unlucky")
    total = (state or {"total": 0})["total"] + row["n"]
    return [{"card": row["card"], "sum": total}], {"total": total}


def add_value(row: dict[str, Any], state: Any) -> Any:
    answer, new = add(row, None if state is None else {"total": state})
    return answer[0], new["total"]


def add_anything(row: dict[str, Any], state: Any) -> Any:
    answer, new = add(row, None if state is None else {"total": state[0]})
    return (each for each in answer), (new["total"], {"a": {1, 2}})


def add_columns(given: pa.Table, state: pa.Table) -> Any:
    if 13 in given["n"].to_pylist():
        raise ValueError("unlucky")
    totals = dict(zip(state["card"].to_pylist(), state["total"].to_pylist(), strict=True))
    made = []
    for card, n in zip(given["card"].to_pylist(), given["n"].to_pylist(), strict=True):
        totals[card] = totals.get(card, 0) + n
        made.append({"card": card, "sum": totals[card]})
    kept = pa.table({"card": pa.array(totals.keys(), pa.string()), "total": pa.array(totals.values(), pa.int32())})
    return pa.Table.from_pylist(made, schema=OUT), kept


def add_frames(given: pd.DataFrame, state: pd.DataFrame) -> Any:
    answer, kept = add_columns(pa.Table.from_pandas(given[["card", "n"]]), pa.Table.from_pandas(state))
    return answer.to_pandas(), kept.to_pandas()


TOTAL = pa.schema([("total", pa.int64())])
FUNCTIONS: dict[str, BucketFunction] = {
    "dict": Loop(add, OUT, Kept(KEYS, TOTAL)),
    "value": Loop(add_value, OUT, Kept(KEYS, pa.schema([("__value", pa.int64())]))),
    "pickled": Loop(add_anything, OUT, Kept(KEYS, None)),
    "columns": Columns(add_columns, OUT, Kept(KEYS, TOTAL)),
    "frames": Columns(add_frames, OUT, Kept(KEYS, TOTAL), pandas=True),
}


def oracle(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    totals: dict[Any, int] = {}
    found = []
    for row in sorted(given, key=lambda row: (row["at"], row["n"])):
        if row["n"] != 13:
            totals[row["card"]] = totals.get(row["card"], 0) + row["n"]
            found.append({"card": row["card"], "sum": totals[row["card"]]})
    return sorted(found, key=repr)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(4))
def test_in_any_steps_a_function_gives_what_a_plain_loop_gives(name: str, seed: int) -> None:
    given = rows(120, seed)
    cuts = sorted(random.Random(seed).sample(range(1, 119), 5))
    made, dead, late = run(FUNCTIONS[name], given, cuts)
    assert made == oracle(given)
    assert late == 0
    assert sorted(each.row["n"] for each in dead) == [13] * sum(row["n"] == 13 for row in given)
    assert made == run(FUNCTIONS[name], given, [])[0]


def test_a_row_behind_the_watermark_is_late_and_left_out() -> None:
    operator = KeyedOperator(FUNCTIONS["dict"], ROWS, ("card",), ("at",), "at")
    row = {"card": "a", "n": 1, "tags": None, "at": START}
    first = advance(operator, empty(operator), pa.Table.from_pylist([row], schema=ROWS), Clock(micros(START), 5))
    assert first.output.to_pylist() == [{"card": "a", "sum": 1}]
    again = advance(
        operator, first.bucket, pa.Table.from_pylist([row, {**row, "at": START + timedelta(seconds=1)}], schema=ROWS), Clock(micros(START), 5)
    )
    assert (again.late, again.output.num_rows, again.bucket.waiting.num_rows) == (1, 0, 1)


def test_rows_are_taken_as_they_come_where_there_is_no_event_time() -> None:
    given = rows(60, 9)
    made = run(FUNCTIONS["dict"], given, [20, 40], time=None)[0]
    assert {row["card"]: row["sum"] for row in sorted(made, key=lambda row: row["sum"])} == {
        card: sum(row["n"] for row in given if row["card"] == card and row["n"] != 13) for card in {row["card"] for row in given}
    }


def seen_before(row: dict[str, Any], state: Any) -> Any:
    return {"card": row["card"], "sum": 0 if state is None else 1}, True


@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3]])
def test_a_state_ends_its_time_to_live_after_the_last_row(cuts: list[int]) -> None:
    given = [{"card": "a", "n": 1, "tags": None, "at": START + timedelta(seconds=second)} for second in (0, 9, 30, 39)]
    made = run(Loop(seen_before, OUT, Kept(KEYS, None, 10 * SECOND, "at")), given, cuts)[0]
    assert [row["sum"] for row in made] == [0, 0, 1, 1]


class Quiet(ProcessFunction):
    """Counts the rows of a key, and says when none has come for ten seconds."""

    def process(self, row: dict[str, Any], ctx: Context) -> Iterator[dict[str, Any]]:
        count = ctx.value("count", 0)
        count.set(count.get() + 1)
        ctx.list("seen", ttl="20 seconds").add(row["n"])
        ctx.map("by", ttl="20 seconds").put(row["n"], ctx.time)
        last = ctx.value("timer")
        if last.get() is not None:
            ctx.delete_timer(last.get())
        assert ctx.time is not None
        last.set(ctx.time + timedelta(seconds=10))
        ctx.timer(last.get())
        if row["n"] == 13:
            raise ValueError("unlucky")
        yield {"card": row["card"], "sum": len(ctx.list("seen"))}

    def on_timer(self, ctx: Context) -> dict[str, Any]:
        ctx.side("quiet", {"card": ctx.key["card"], "sum": ctx.value("count").get()})
        ctx.value("count").clear()
        return {"card": ctx.key["card"], "sum": -1}


@pytest.mark.parametrize("seed", range(4))
def test_timers_and_states_of_a_process_function_do_not_depend_on_the_steps(seed: int) -> None:
    given = rows(60, seed, cards=12)
    cuts = sorted(random.Random(seed).sample(range(1, 59), 6))
    for side in (None, "quiet"):
        function = Process(Quiet(), OUT, KEYS, "at", side)
        whole, dead, _ = run(function, given, [], side=side)
        stepped, others, late = run(function, given, cuts, side=side)
        assert stepped == whole
        assert late == 0
        assert len(others) == len(dead)
    assert sum(row["sum"] for row in whole) == len(given)
    assert len(whole) == quiet_spells(given)


class Later(ProcessFunction):
    """Says a second later, on the clock, that a row came."""

    def process(self, row: dict[str, Any], ctx: Context) -> None:
        ctx.processing_timer(ctx.processing_time + timedelta(seconds=1))

    def on_timer(self, ctx: Context) -> dict[str, Any]:
        return {"card": ctx.key["card"], "sum": ctx.processing_time.second}


def test_a_timer_on_the_clock_goes_off_in_the_first_epoch_after_it() -> None:
    operator = KeyedOperator(Process(Later(), OUT, KEYS), ROWS, ("card",))
    given = pa.Table.from_pylist([{"card": "a", "n": 1, "tags": None, "at": START}], schema=ROWS)
    first = advance(operator, empty(operator), given, Clock(None, 5 * SECOND))
    early = advance(operator, first.bucket, None, Clock(None, 5 * SECOND + 1))
    late = advance(operator, early.bucket, None, Clock(None, 7 * SECOND))
    assert (first.output.num_rows, early.output.num_rows) == (0, 0)
    assert late.output.to_pylist() == [{"card": "a", "sum": 7}]
    assert late.bucket.state.num_rows == 0


def quiet_spells(given: list[dict[str, Any]]) -> int:
    found = 0
    for card in {row["card"] for row in given}:
        times = [row["at"] for row in given if row["card"] == card]
        found += sum(after - before > timedelta(seconds=10) for before, after in pairwise(times)) + 1
    return found


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda row, state: 1, "returned int, and not"),
        (lambda row, state: (1, 2, 3), "returned 3 values, and not"),
        (lambda row, state: ({"card": "a"}, None), "a row with card, but declares card, sum"),
        (lambda row, state: ({"card": "a", "sum": "x"}, None), "in `sum` a value that is not int64"),
        (lambda row, state: (None, {"total": "x"}), "in `total` a value that is not int64"),
        (lambda row, state: (None, 5), "int as a state, and not a dict of total"),
        (lambda row, state: (5, None), "int as outputs"),
    ],
)
def test_what_a_function_returns_is_held_to_what_it_declares(function: Any, said: str) -> None:
    loop = Loop(function, OUT, Kept(KEYS, TOTAL))
    with pytest.raises(Unfit, match=said):
        loop.step(pa.Table.from_pylist(rows(1, 1), schema=ROWS), loop.state.empty_table(), Clock(None, 0))


def test_columns_of_a_vectorised_function_are_cast_or_refused() -> None:
    narrow = Columns(lambda given, state: (given.select(["card", "n"]).rename_columns(["card", "sum"]), None), OUT, Kept(KEYS, TOTAL))
    given = pa.Table.from_pylist(rows(3, 1), schema=ROWS)
    assert pc.sum(narrow.step(given, narrow.state.empty_table(), Clock(None, 0)).output["sum"]).as_py() == pc.sum(given["n"]).as_py()
    wrong = Columns(lambda given, state: (given, state), OUT, Kept(KEYS, TOTAL))
    with pytest.raises(Unfit, match="outputs with the columns card, n, tags, at, but declares card, sum"):
        wrong.step(given, wrong.state.empty_table(), Clock(None, 0))

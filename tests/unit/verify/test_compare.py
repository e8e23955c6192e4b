from __future__ import annotations

import json
import math
import random
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce
from itertools import product
from operator import add

import pytest

from penstock.schema import Column, Schema, parse_type
from penstock.verify.changes import ReadChange, followed
from penstock.verify.compare import compare
from penstock.verify.rows import Reader, Row, rounding, value_of

SALES = Schema((Column("item", "string"), Column("total", "decimal(12,2)"), Column("mean", "double"), Column("at", "timestamp")))


def row(item: str | None, total: str = "1.00", mean: float = 1.0, at: str = "2024-05-01T10:00:00Z", epoch: int | None = None) -> Row:
    return Row(json.dumps({"item": item, "total": total, "mean": mean, "at": at}), f"place of {item}", epoch)


KEYED, BAG = Reader(SALES, ("item",)), Reader(SALES, None)


def test_equal_rows_are_equal_in_any_order_and_spelling() -> None:
    other = Row('{"mean": 1, "at": "2024-05-01T10:00:00.000000+00:00", "total": 1.0, "item": "tea"}')
    found = compare(BAG, [row("tea"), row("milk")], [row("milk"), other])
    assert found.equal
    assert found.rows == 2


def test_a_lost_row_is_missing_and_a_doubled_one_extra() -> None:
    found = compare(BAG, [row("tea"), row("milk")], [row("milk"), row("milk")])
    assert [one.text for one in found.missing] == [row("tea").text]
    assert [one.place for one in found.extra] == ["place of milk"]
    assert found.rows == 1
    assert not found.equal


def test_a_changed_value_is_different_in_a_keyed_view_and_missing_and_extra_in_a_bag() -> None:
    expected, held = [row("tea"), row("milk")], [row("tea", "2.00"), row("milk")]
    keyed, bag = compare(KEYED, expected, held), compare(BAG, expected, held)
    assert (len(keyed.missing), len(keyed.extra), len(keyed.different), keyed.rows) == (0, 0, 1, 1)
    assert (len(bag.missing), len(bag.extra), len(bag.different), bag.rows) == (1, 1, 0, 1)


def test_the_row_of_a_null_key_is_a_row_as_any_other() -> None:
    assert compare(KEYED, [row(None)], [row(None)]).equal
    assert len(compare(KEYED, [row(None)], [row(None, "7.00")]).different) == 1
    assert len(compare(KEYED, [row(None)], []).missing) == 1


def test_the_last_digits_of_doubles_do_not_matter_and_others_do() -> None:
    for reader in (KEYED, BAG):
        assert compare(reader, [row("tea", mean=0.1 + 0.2)], [row("tea", mean=0.3)]).equal
        assert not compare(reader, [row("tea", mean=0.3)], [row("tea", mean=0.30001)]).equal
        assert not compare(reader, [row("tea", mean=0.3)] * 2, [row("tea", mean=0.1 + 0.2)]).equal
        assert not compare(reader, [row("tea", mean=1.6e-10)], [row("tea", mean=3.2e-10)]).equal, "small numbers are numbers too"
        assert compare(reader, [row("tea", mean=0.0)], [row("tea", mean=5e-17)]).equal, "what cancels leaves digits behind"


def test_a_row_that_is_lost_in_a_large_sum_of_doubles_is_not_taken_for_its_last_digits() -> None:
    """As long as so few rows were added that the order of the additions cannot explain it."""
    for reader in (KEYED, BAG):
        lost = [row("tea", mean=2e9 + 1.5)], [row("tea", mean=2e9)]
        assert not compare(reader, *lost).equal
        assert not compare(reader, *lost, rounding(1_000_000)).equal
        assert compare(reader, *lost, rounding(100_000_000)).equal


@pytest.mark.parametrize("values", [[0.1] * 200_000, [1 / number for number in range(1, 200_001)], [1e9 + number / 7 for number in range(200_000)]])
def test_the_order_in_which_doubles_are_added_is_no_difference(values: list[float]) -> None:
    """Epoch by epoch, partition by partition, or one after the other."""
    shuffled = random.Random(1).sample(values, len(values))
    sums = [reduce(add, values), reduce(add, shuffled), reduce(add, reversed(values)), math.fsum(values)]
    sums += [reduce(add, (reduce(add, values[at : at + size]) for at in range(0, len(values), size))) for size in (7, 1000, 50_000)]
    assert len(set(sums)) > 1
    for one, other in product(sums, sums):
        assert compare(KEYED, [row("tea", mean=one)], [row("tea", mean=other)], rounding(len(values))).equal


def test_a_second_row_of_a_key_is_extra() -> None:
    found = compare(KEYED, [row("tea")], [row("tea"), row("tea", "2.00")])
    assert (len(found.missing), len(found.extra), len(found.different)) == (0, 1, 0)


def test_a_row_that_is_no_row_and_a_column_too_many_are_faults() -> None:
    assert len(compare(BAG, [], [Row('"junk"')]).extra) == 1
    wide = Row(json.dumps({**json.loads(row("tea").text), "more": 1}))
    found = compare(BAG, [row("tea")], [wide])
    assert (len(found.missing), len(found.extra)) == (1, 1)


def test_values_are_the_same_from_json_csv_and_a_database() -> None:
    for kind, forms in {
        "decimal(8,2)": ("1.50", Decimal("1.5"), 1.5),
        "bigint": (7, "7", Decimal(7)),
        "boolean": (True, "true"),
        "timestamp": ("2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        "binary": ("AQI=", b"\x01\x02", memoryview(b"\x01\x02")),
        "float": (0.1, "0.1", 0.10000000149011612),
        "array<int>": ([1, 2], "[1, 2]"),
        "struct<a: int, b: string>": ({"a": 1, "b": "x"}, '{"b": "x", "a": 1}'),
        "map<int, string>": ({"1": "x", "2": "y"}, [(2, "y"), (1, "x")], '{"1": "x", "2": "y"}'),
        "double": ("NaN", float("nan")),
    }.items():
        assert len({value_of(parse_type(kind), form) for form in forms}) == 1, kind


def test_the_last_digits_of_a_float_do_not_count_inside_of_a_map_either() -> None:
    reader = Reader(Schema((Column("m", "map<string, double>"),)), None)
    held = [Row('{"m": {"b": 2, "a": 0.30000000000000004}}')]
    assert compare(reader, [Row('{"m": {"a": 0.3, "b": 2.0}}')], held).equal
    assert not compare(reader, [Row('{"m": {"a": 0.4, "b": 2.0}}')], held).equal


def test_a_value_that_does_not_fit_its_type_equals_nothing_that_does() -> None:
    assert value_of(parse_type("int"), "seven") != value_of(parse_type("int"), 7)
    assert value_of(parse_type("int"), 7.5) != value_of(parse_type("int"), 7)


def test_a_row_read_from_a_database_is_printed_so_that_it_reads_the_same_again() -> None:
    schema = Schema((Column("m", "map<string, int>"), Column("b", "binary"), Column("w", "struct<start: timestamp, end: timestamp>")))
    reader = Reader(schema, None)
    held = {"m": {"x": 1}, "b": b"\x01", "w": {"start": "2024-05-01T10:00:00Z", "end": "2024-05-01T10:01:00Z"}}
    assert reader.values(reader.text(held)) == reader.values(held)


def test_what_a_sink_cannot_hold_is_not_held_against_it() -> None:
    text = Schema((Column("t", "string"),))
    assert Reader(text, None, as_held=lambda line: line.replace("\\u0000", "")).values('{"t": "a\\u0000b"}') == ("ab",)


def test_followed_changes_of_a_keyed_view_leave_the_last_row_of_each_key() -> None:
    changes = [
        ReadChange("+", row("tea", epoch=0)),
        ReadChange("+", row("milk", epoch=0)),
        ReadChange("+", row("tea", "2.00", epoch=1)),
        ReadChange("-", row("milk", epoch=2)),
    ]
    rows, repeated = followed(KEYED, changes)
    assert [json.loads(one.text)["total"] for one in rows] == ["2.00"]
    assert repeated == []


def test_a_tombstone_takes_away_by_its_key_also_what_an_earlier_life_left() -> None:
    rows, _ = followed(KEYED, [ReadChange("-", Row('{"item":"tea"}', epoch=0), ("tea",))], before=[ReadChange("+", row("tea", epoch=9))])
    assert rows == []


def test_the_same_change_twice_in_an_epoch_was_delivered_twice() -> None:
    changes = [ReadChange("+", row("tea", epoch=3)), ReadChange("+", row("tea", epoch=3)), ReadChange("+", row("tea", epoch=4))]
    rows, repeated = followed(KEYED, changes)
    assert len(rows) == 1
    assert [one.place for one in repeated] == ["place of tea (delivered twice)"]


def test_a_bag_counts_copies_and_cannot_give_back_what_it_has_not() -> None:
    rows, wrong = followed(BAG, [ReadChange("+", row("tea")), ReadChange("+", row("tea")), ReadChange("-", row("tea")), ReadChange("-", row("milk"))])
    assert len(rows) == 1
    assert [one.place for one in wrong] == ["place of milk (taken back, but it was not there)"]

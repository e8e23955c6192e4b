"""What turns one result into another."""

from __future__ import annotations

import random
from collections import Counter

from penstock.store.difference import Fresh, Stored, as_bag, by_key, common_prefix


def held(*rows: str) -> list[Stored]:
    return [Stored(number, None, None, row) for number, row in enumerate(rows)]


def test_a_bag_keeps_multiplicities() -> None:
    change = as_bag(held("x", "x", "y"), [Fresh(None, None, row) for row in ("x", "y", "y", "z")])
    assert [row.row for row in change.gone] == ["x"]
    assert [row.row for row in change.added] == ["y", "z"]


def test_applying_a_difference_gives_the_new_bag() -> None:
    dice = random.Random(7)
    for _ in range(200):
        old, new = ([str(dice.randrange(5)) for _ in range(dice.randrange(12))] for _ in range(2))
        change = as_bag(held(*old), [Fresh(None, None, row) for row in new])
        result = Counter(old) - Counter(row.row for row in change.gone) + Counter(row.row for row in change.added)
        assert result == Counter(new)
        assert not {row.row for row in change.gone} & {row.row for row in change.added}


def test_keyed_rows_are_replaced_removed_and_moved() -> None:
    old = [Stored(1, "a", "p", "1"), Stored(2, "b", "p", "2"), Stored(3, "c", "p", "3")]
    change = by_key(old, [Fresh("a", "q", "1"), Fresh("b", "p", "9"), Fresh("d", None, "4")])
    assert (change.gone, change.added, change.moved) == ([old[2]], [Fresh("b", "p", "9"), Fresh("d", None, "4")], [(1, "q")])


def test_the_common_prefix_compares_key_part_and_row() -> None:
    old = [Stored(1, "a", None, "1"), Stored(2, "b", None, "2")]
    assert common_prefix(old, [Fresh("a", None, "1"), Fresh("b", "p", "2")]) == 1
    assert common_prefix(old, []) == 0

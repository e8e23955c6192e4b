"""Rows that are only added are changes like any other."""

from __future__ import annotations

from penstock.change import Additions, Change


def test_additions_are_changes_one_by_one_by_number_and_in_parts() -> None:
    rows = ['{"a":1}', '{"a":2}', '{"a":3}']
    wanted = [Change("+", None, row) for row in rows]
    made = Additions(rows)
    assert list(made) == wanted
    assert len(made) == 3
    assert made[1] == wanted[1]
    assert list(made[1:]) == wanted[1:]
    assert not Additions([])

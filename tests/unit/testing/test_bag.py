from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from penstock.testing.bag import bag, difference


def test_a_row_is_the_same_whoever_printed_it() -> None:
    printed = bag([{"n": 1.0, "d": "2.50", "at": "2026-03-02T23:59:00.5Z", "x": None}])
    fetched = bag([{"n": 1, "d": Decimal("2.5"), "at": datetime.fromisoformat("2026-03-02T23:59:00.500000+00:00"), "x": None}])
    assert difference(printed, fetched) == ""


def test_copies_count_and_differences_are_shown() -> None:
    assert "1 missing, 0 too many" in difference(bag([{"a": 1}, {"a": 1}]), bag([{"a": 1}]))
    assert "0 missing, 1 too many" in difference(bag([{"a": 1}]), bag([{"a": 1}, {"a": None}]))
    assert "1 missing, 1 too many" in difference(bag([{"a": "x"}]), bag([{"a": "y"}]))

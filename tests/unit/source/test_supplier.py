"""Ranges of row numbers are landed once, whole, and in order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.source import supplier
from penstock.source.landing import land
from penstock.source.supplier import Supplier, Supply, files_for, landed


def ranges(folder: Path) -> list[tuple[int, int]]:
    lines = [path.read_text().split() for path in sorted(folder.glob("*.txt"))]
    return [(int(first), int(end)) for first, end in lines]


def until(condition: object, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:  # type: ignore[operator]
        time.sleep(0.02)
    assert condition()  # type: ignore[operator]


def test_a_bounded_supply_is_landed_at_once_and_only_once(tmp_path: Path) -> None:
    supplier = Supplier(Supply(250_000, None), tmp_path)
    supplier.start()
    until(lambda: landed(tmp_path)[1] == 250_000)
    supplier.finish(0)
    supplier.stop()
    assert ranges(tmp_path) == [(0, 100_000), (100_000, 200_000), (200_000, 250_000)]


def test_a_rate_is_kept_and_a_new_supplier_goes_on(tmp_path: Path) -> None:
    for _ in range(2):
        supplier = Supplier(Supply(None, 200.0), tmp_path)
        supplier.start()
        before = landed(tmp_path)[1]
        until(lambda before=before: landed(tmp_path)[1] > before)
        supplier.stop()
    found = ranges(tmp_path)
    assert [first for first, _ in found[1:]] == [end for _, end in found[:-1]]


def test_the_end_of_a_bounded_supply_is_never_passed(tmp_path: Path) -> None:
    supplier = Supplier(Supply(10, 1000.0), tmp_path)
    supplier.finish(5)
    supplier.finish(5)
    assert landed(tmp_path) == (1, 10)


@pytest.mark.parametrize("rate", [None, 1000.0])
def test_a_supplier_goes_on_when_the_full_disk_has_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, rate: float | None
) -> None:
    tries: list[Path] = []

    def full_twice(file: Path, content: bytes) -> bool:
        tries.append(file)
        if len(tries) < 3:
            raise OSError(28, "No space left on device")
        return land(file, content)

    monkeypatch.setattr(supplier, "land", full_twice)
    monkeypatch.setattr(supplier, "_STEP_S", 0.02)
    supplying = Supplier(Supply(50, rate), tmp_path)
    supplying.start()
    until(lambda: landed(tmp_path)[1] == 50)
    supplying.stop()
    found = ranges(tmp_path)
    assert (found[0][0], [first for first, _ in found[1:]]) == (0, [end for _, end in found[:-1]])
    assert [record.levelname for record in caplog.records if "No space left" in record.message] == ["WARNING"] * 2


def test_a_driver_that_wakes_up_lands_behind_its_successor_and_replaces_nothing(tmp_path: Path) -> None:
    frozen = Supplier(Supply(None, 100.0), tmp_path)
    frozen.finish(50)
    successor = Supplier(Supply(None, 100.0), tmp_path)
    for _ in range(4):
        successor.finish(25)
    before = ranges(tmp_path)
    frozen.finish(120)
    successor.finish(25)
    found = ranges(tmp_path)
    assert found[: len(before)] == before
    assert [first for first, _ in found[1:]] == [end for _, end in found[:-1]]
    assert not list(tmp_path.glob(".*"))


def test_a_driver_that_wakes_up_supplies_no_more_than_is_due(tmp_path: Path) -> None:
    frozen, successor = (Supplier(Supply(100, 10.0), tmp_path) for _ in range(2))
    successor.finish(0)
    frozen.finish(0)
    assert ranges(tmp_path) == [(0, 100)]


def test_a_micro_batch_takes_about_as_many_rows_as_its_bound() -> None:
    assert files_for(2_000_000, Supply(None, None)) == 20
    assert files_for(100, Supply(None, 40.0)) == 10
    assert files_for(1, Supply(None, 1e9)) == 1

from __future__ import annotations

from pathlib import Path

from penstock.spark.checkpoint.epoch_log import NAME, EpochLog, kept_epochs, logged_epochs


def planned(checkpoint: Path, epoch: int) -> None:
    (checkpoint / "offsets").mkdir(exist_ok=True)
    text = f'v1\n{{"batchWatermarkMs":{epoch * 10},"batchTimestampMs":{epoch * 100},"conf":{{}}}}\n{{"logOffset":{epoch}}}\n-'
    (checkpoint / "offsets" / str(epoch)).write_text(text, encoding="utf-8")


def test_epochs_outlive_sparks_own_log(tmp_path: Path) -> None:
    log = EpochLog(tmp_path)
    for epoch in range(3):
        planned(tmp_path, epoch)
        log.keep(epoch)
        (tmp_path / "offsets" / str(epoch)).unlink()
    found = kept_epochs(tmp_path)
    assert list(found) == [0, 1, 2]
    assert found[2].ends == ('{"logOffset":2}', None)
    assert (found[2].watermark_ms, found[2].time_ms) == (20, 200)


def test_half_a_line_of_a_crash_costs_only_itself(tmp_path: Path) -> None:
    planned(tmp_path, 7)
    EpochLog(tmp_path).keep(7)
    with (tmp_path / NAME).open("ab") as log:
        log.write(b'{"epoch":8,"en')
    planned(tmp_path, 8)
    EpochLog(tmp_path).keep(8)
    assert list(kept_epochs(tmp_path)) == [7, 8]


def test_a_log_that_is_too_long_loses_its_older_half(tmp_path: Path) -> None:
    log = EpochLog(tmp_path, bytes_max=1000)
    for epoch in range(100):
        planned(tmp_path, epoch)
        log.keep(epoch)
    found = list(kept_epochs(tmp_path))
    assert found[-1] == 99
    assert found == list(range(found[0], 100))
    assert (tmp_path / NAME).stat().st_size <= 1000


def test_nothing_is_kept_where_nothing_ran(tmp_path: Path) -> None:
    assert kept_epochs(tmp_path) == {}


def test_the_past_is_read_once_and_then_added_to(tmp_path: Path) -> None:
    for epoch in range(3):
        planned(tmp_path, epoch)
        EpochLog(tmp_path).keep(epoch)
    (tmp_path / "offsets" / "0").unlink()
    log = EpochLog(tmp_path)
    planned(tmp_path, 3)
    log.keep(3)
    assert [epoch.epoch for epoch in log.upto(3)] == [0, 1, 2, 3]
    (tmp_path / NAME).unlink()
    for epoch in (3, 4):  # an epoch may run again
        planned(tmp_path, epoch)
        log.keep(epoch)
    assert [epoch.epoch for epoch in log.upto(4)] == [0, 1, 2, 3, 4]
    assert [epoch.epoch for epoch in logged_epochs(tmp_path, 4)] == [1, 2, 3, 4], "as far back as there is no gap"

"""Checkpoint, ledger and sinks that do not agree are refused, and the file or row is named."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import StateError
from penstock.spark.checkpoint.agreement import check_checkpoint, check_ledger, check_place
from penstock.spark.checkpoint.offset_log import log_of


def write(path: Path, text: str) -> None:
    """A file as Hadoop's local file system leaves it: with its checksums beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(content)
    sums = b"".join(zlib.crc32(content[at : at + 512]).to_bytes(4, "big") for at in range(0, len(content), 512))
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\x00" + (512).to_bytes(4, "big") + sums)


def offsets(entry: int) -> str:
    return f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{{}}}}\n{{"logOffset":{entry}}}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Epochs 0 to 5 planned, 0 to 4 committed."""
    write(tmp_path / "metadata", '{"id":"5f0d8a55-0000-4000-8000-000000000000"}')
    for number in range(6):
        write(tmp_path / "offsets" / str(number), offsets(number))
        write(tmp_path / "sources" / "0" / str(number), f'v1\n{{"path":"file:///in/{number}","timestamp":1,"batchId":{number}}}')
        if number < 5:
            write(tmp_path / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
    return tmp_path


def test_a_sound_checkpoint_is_taken_and_an_empty_one_too(checkpoint: Path, tmp_path: Path) -> None:
    assert check_checkpoint(checkpoint) == (4, 5)
    for ledger in (4, 5):
        check_ledger("job", checkpoint, ledger)
    assert check_checkpoint(tmp_path / "new") == (-1, -1)
    check_ledger("job", tmp_path / "new", -1)


def test_a_crash_while_spark_removes_old_entries_is_no_damage(checkpoint: Path) -> None:
    for number in range(6, 130):
        write(checkpoint / "offsets" / str(number), offsets(number))
        write(checkpoint / "sources" / "0" / str(number), "v1")
        write(checkpoint / "commits" / str(number - 1), 'v1\n{"nextBatchWatermarkMs":0}')
    for number in (0, 3, 7):
        (checkpoint / "offsets" / str(number)).unlink()
    assert check_checkpoint(checkpoint) == (128, 129)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [cut_short, emptied, flipped])
@pytest.mark.parametrize("file", ["metadata", "offsets/5", "offsets/2", "commits/4", "commits/1", "sources/0/5"])
def test_a_damaged_file_is_named(checkpoint: Path, file: str, damage: Callable[[Path], None]) -> None:
    damage(checkpoint / file)
    with pytest.raises(StateError) as caught:
        check_ledger("job", checkpoint, 5)
    assert str(checkpoint / file) in caught.value.message
    assert f"remove {checkpoint} to rebuild" in str(caught.value.hint)


@pytest.mark.parametrize("damage", [cut_short, emptied])
@pytest.mark.parametrize("file", ["metadata", "offsets/5", "commits/4"])
def test_a_damaged_file_is_named_even_without_checksums(checkpoint: Path, file: str, damage: Callable[[Path], None]) -> None:
    for path in checkpoint.rglob(".*.crc"):
        path.unlink()
    damage(checkpoint / file)
    with pytest.raises(StateError, match=str(checkpoint / file)):
        check_ledger("job", checkpoint, 5)


@pytest.mark.parametrize("file", ["metadata", "offsets/5", "offsets/4", "offsets/2", "commits/4", "commits/2", "sources/0/5"])
def test_a_missing_file_is_named(checkpoint: Path, file: str) -> None:
    (checkpoint / file).unlink()
    with pytest.raises(StateError) as caught:
        check_ledger("job", checkpoint, 5)
    assert str(checkpoint / file) in caught.value.message


def test_a_compacted_log_of_files_stands_for_the_entries_before_it(checkpoint: Path) -> None:
    for number in range(6):
        (checkpoint / "sources" / "0" / str(number)).unlink()
    write(checkpoint / "sources" / "0" / "9.compact", "v1")
    assert check_checkpoint(checkpoint) == (4, 5)


@pytest.mark.parametrize(("ledger", "older"), [(3, "results store"), (-1, "results store"), (6, "checkpoint"), (9, "checkpoint")])
def test_copies_of_different_age_are_distinguished(checkpoint: Path, ledger: int, older: str) -> None:
    with pytest.raises(StateError, match=f"the {older} seems to be an older copy") as caught:
        check_ledger("job", checkpoint, ledger)
    assert str(checkpoint) in str(caught.value)


@pytest.mark.parametrize(
    ("at", "confirmed", "words"), [(9, 5, "has epoch 9 of view `v`, but the results store only 5"), (3, 5, "epochs up to 5 were")]
)
def test_a_sink_that_is_ahead_or_has_lost_epochs_is_refused(tmp_path: Path, at: int, confirmed: int, words: str) -> None:
    with pytest.raises(StateError, match=words) as caught:
        check_place("s", "v", "the row of sink `s`", at=at, confirmed=confirmed, ledger=5, checkpoint=tmp_path)
    assert "the row of sink `s`" in caught.value.message
    assert str(tmp_path) in str(caught.value.hint)


@pytest.mark.parametrize(("at", "confirmed"), [(5, 5), (5, 4), (-1, -1), (3, 3)])
def test_a_sink_that_lags_or_confirmed_late_is_taken(tmp_path: Path, at: int, confirmed: int) -> None:
    check_place("s", "v", "place", at=at, confirmed=confirmed, ledger=5, checkpoint=tmp_path)


def test_a_source_with_two_places_in_the_offset_log_has_one_folder(tmp_path: Path) -> None:
    """As that of a stream on both sides of a union."""
    for number in range(2):
        write(
            tmp_path / "offsets" / str(number),
            f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1}}\n{{"logOffset":{number}}}\n{{"logOffset":{number}}}',
        )
        write(tmp_path / "commits" / str(number), 'v1\n{"nextBatchWatermarkMs":0}')
        write(tmp_path / "sources" / "0" / str(number), "v1")
    write(tmp_path / "metadata", '{"id":"q"}')
    assert check_checkpoint(tmp_path) == (1, 1)
    assert log_of(tmp_path, ["s", "s"], 1) == tmp_path / "sources" / "0"
    (tmp_path / "sources" / "0" / "1").unlink()
    with pytest.raises(StateError, match="sources/0/1 is missing"):
        check_checkpoint(tmp_path)
    (tmp_path / "sources" / "1").mkdir()
    assert log_of(tmp_path, ["s", "s"], 1) == tmp_path / "sources" / "1"
    assert log_of(tmp_path, ["s", "t", "s"], 2) == tmp_path / "sources" / "0"

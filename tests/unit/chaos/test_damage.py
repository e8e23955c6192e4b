from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from penstock.catalog import Catalog
from penstock.chaos.damage import KINDS, WAYS, Corrupted, corrupt, restore_last
from penstock.errors import StateError
from penstock.spark.checkpoint.agreement import check_checkpoint


def test_only_a_checkpoint_that_is_in_use_is_spoilt(tmp_path: Path) -> None:
    """Damage to what an earlier generation left would be seen by nobody."""
    catalog = Catalog(tmp_path)
    for plan in ("first", "second"):
        checkpoint = catalog.open_generation("job", plan).checkpoint
        for log in ("offsets", "commits"):
            (checkpoint / log).mkdir()
            (checkpoint / log / "0").write_text("v1", encoding="utf-8")
    present = catalog.current("job")
    assert present is not None
    for choice in range(40):
        corrupted = corrupt(tmp_path, ["job"], choice)
        assert corrupted is not None
        assert present[1] in corrupted.path.parents
        corrupted.restore()


def test_without_a_checkpoint_there_is_nothing_to_spoil(tmp_path: Path) -> None:
    assert corrupt(tmp_path, ["job"], 3) is None


@pytest.mark.parametrize("choice", [31 * number for number in range(len(WAYS))])
def test_a_file_that_a_run_has_rewritten_is_left_as_it_is(tmp_path: Path, choice: int) -> None:
    checkpoint = Catalog(tmp_path).open_generation("job", "plan").checkpoint
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir()
        (checkpoint / log / "0").write_text("old one", encoding="utf-8")
    corrupted = corrupt(tmp_path, ["job"], choice)
    assert corrupted is not None
    corrupted.path.write_text("another", encoding="utf-8")
    corrupted.restore()
    assert corrupted.path.read_text(encoding="utf-8") == "another"
    assert restore_last(tmp_path) is None


def written(path: Path, text: str) -> None:
    """As Hadoop's local file system does: with its checksum beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\x00" + (512).to_bytes(4, "big") + zlib.crc32(text.encode()).to_bytes(4, "big"))


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_what_a_source_of_files_has_read_is_spoilt_too_and_a_run_names_it(tmp_path: Path, way: int) -> None:
    """The newest entry that an epoch was made of: one that was started after it is nobody's yet."""
    checkpoint = Catalog(tmp_path).open_generation("job", "plan").checkpoint
    written(checkpoint / "metadata", '{"id":"1"}')
    for epoch in (0, 1):
        ends = f'{{"topic":{{"0":5}}}}\n{{"logOffset":{epoch}}}'
        written(checkpoint / "offsets" / str(epoch), f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1}}\n{ends}')
        written(checkpoint / "commits" / str(epoch), "v1\n{}")
    for entry in (0, 1, 2):
        written(checkpoint / "sources" / "1" / str(entry), f'v1\n{{"path":"file:///{entry}","timestamp":1,"batchId":{entry}}}')
    choice = next(one for one in range(10_000) if KINDS[one // 7 % len(KINDS)] == "sources" and one // 31 % len(WAYS) == way)
    corrupted = corrupt(tmp_path, ["job"], choice)
    assert isinstance(corrupted, Corrupted)
    assert str(corrupted) == f"sources/1/1 {WAYS[way]}"
    with pytest.raises(StateError) as refused:
        check_checkpoint(checkpoint)
    assert corrupted.named_in(f"error: {refused.value.message}")
    corrupted.restore()
    assert check_checkpoint(checkpoint) == (1, 1)

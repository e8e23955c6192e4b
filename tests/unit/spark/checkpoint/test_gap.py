"""What is missing of a topic, and how a checkpoint is taken across it."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.source.kafka.topic import Topic
from penstock.spark.checkpoint.agreement import _check_sum
from penstock.spark.checkpoint.gap import _next_to_read, _passed, _rewrite, _Source, _sources
from penstock.spark.checkpoint.missing import Gap, gaps

HELD = Topic("clicks", "first", {0: (15, 40), 1: (0, 9)})


def planned(checkpoint: Path, *epochs: dict[str, int], committed: int) -> _Source:
    """A checkpoint with one offset-log entry for each of `epochs`, the ends of the only source."""
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True)
    for number, ends in enumerate(epochs):
        text = f'v1\n{{"batchWatermarkMs":0,"batchTimestampMs":1}}\n{json.dumps({"clicks": ends})}'
        (checkpoint / "offsets" / str(number)).write_text(text, encoding="utf-8")
        (checkpoint / "offsets" / f".{number}.crc").write_bytes(b"sum")
    for number in range(committed + 1):
        (checkpoint / "commits" / str(number)).write_text("v1\n{}", encoding="utf-8")
    return _Source("clicks", checkpoint / "sources" / "0", (0,), checkpoint, len(epochs) - 1)


def test_a_gap_is_what_lies_between_the_next_record_and_the_first_one_left() -> None:
    assert gaps("s", HELD, {"0": 10, "1": 3}, recreated=False) == [Gap("s", "clicks", 0, 10, 15)]
    assert gaps("s", HELD, {"0": 15, "1": 9}, recreated=False) == []


def test_a_topic_that_lacks_a_partition_is_another_one_and_one_that_ends_early_was_cut_short() -> None:
    assert gaps("s", HELD, {"1": 10, "2": 4}, recreated=False) == [Gap("s", "clicks", 1, 10, 9), Gap("s", "clicks", 2, 4, 0, recreated=True)]
    assert str(Gap("s", "clicks", 1, 10, 9)) == "partition 1 was read up to 10 and now ends at 9"
    assert [gap.recreated for gap in gaps("s", HELD, {"0": 20, "1": 3}, recreated=True)] == [True, True]


def test_after_a_finished_epoch_the_next_one_begins_behind_the_gap(tmp_path: Path) -> None:
    source = planned(tmp_path, {"0": 4, "1": 1}, {"0": 10, "1": 3}, committed=1)
    begin, named_by = _next_to_read(source, "clicks")
    assert begin == {"0": 10, "1": 3}
    assert named_by is not None
    _rewrite(source, HELD, named_by, _passed(begin, HELD, gaps("s", HELD, begin, recreated=False)))
    assert _next_to_read(source, "clicks")[0] == {"0": 15, "1": 3}
    assert (tmp_path / "offsets" / "1").read_text(encoding="utf-8").splitlines()[:2] == ["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1}']
    _check_sum(tmp_path / "offsets" / "1")
    assert (tmp_path / "offsets" / ".1.crc").read_bytes().startswith(b"crc\0")
    assert (tmp_path / "offsets" / ".0.crc").read_bytes() == b"sum"


def test_an_epoch_that_was_planned_and_not_done_keeps_what_is_left_of_it(tmp_path: Path) -> None:
    source = planned(tmp_path, {"0": 10, "1": 3}, {"0": 30, "1": 5}, committed=0)
    begin, named_by = _next_to_read(source, "clicks")
    assert (begin, named_by) == ({"0": 10, "1": 3}, tmp_path / "offsets" / "0")
    assert named_by is not None
    _rewrite(source, HELD, named_by, _passed(begin, HELD, gaps("s", HELD, begin, recreated=False)))
    assert _next_to_read(source, "clicks")[0] == {"0": 15, "1": 3}
    assert json.loads((tmp_path / "offsets" / "1").read_text(encoding="utf-8").splitlines()[2]) == {"clicks": {"0": 30, "1": 5}}


def test_an_epoch_that_is_gone_whole_becomes_empty(tmp_path: Path) -> None:
    source = planned(tmp_path, {"0": 2}, {"0": 8}, committed=0)
    begin, named_by = _next_to_read(source, "clicks")
    assert named_by is not None
    _rewrite(source, HELD, named_by, _passed(begin, HELD, gaps("s", HELD, begin, recreated=False)))
    assert [json.loads((tmp_path / "offsets" / epoch).read_text(encoding="utf-8").splitlines()[2]) for epoch in "01"] == [{"clicks": {"0": 15}}] * 2


def test_the_very_first_epoch_begins_where_spark_noted_it(tmp_path: Path) -> None:
    source = planned(tmp_path, {"0": 8}, committed=-1)
    first = tmp_path / "sources" / "0" / "0"
    first.parent.mkdir(parents=True)
    first.write_bytes(b'\0v1\n{"clicks":{"0":0}}')
    begin, named_by = _next_to_read(source, "clicks")
    assert (begin, named_by) == ({"0": 0}, first)
    assert named_by is not None
    _rewrite(source, HELD, named_by, _passed(begin, HELD, gaps("s", HELD, begin, recreated=False)))
    assert first.read_bytes() == b'\0v1\n{"clicks":{"0":15}}'
    assert _next_to_read(_Source("clicks", tmp_path / "none" / "sources" / "0", (0,), tmp_path / "none", -1), "clicks") == ({}, None)


def test_a_source_that_stands_twice_in_a_union_is_passed_once_and_at_both_its_places(tmp_path: Path) -> None:
    """`logs UNION ALL logs UNION ALL clicks UNION ALL clicks`: four places in the offset log, two sources."""
    (tmp_path / "offsets").mkdir()
    ends = ['{"logs":{"0":1}}'] * 2 + ['{"clicks":{"0":8}}'] * 2
    entry = tmp_path / "offsets" / "0"
    entry.write_text("\n".join(["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1}', *ends]), encoding="utf-8")
    for number, topic in enumerate(("logs", "clicks")):
        (tmp_path / "sources" / str(number)).mkdir(parents=True)
        (tmp_path / "sources" / str(number) / "0").write_bytes(b'\0v1\n{"%s":{"0":0}}' % topic.encode())
    (source,) = _sources("clicks", ["logs", "logs", "clicks", "clicks"], tmp_path, 0)
    begin, named_by = _next_to_read(source, "clicks")
    assert (begin, named_by) == ({"0": 0}, tmp_path / "sources" / "1" / "0")
    assert named_by is not None
    _rewrite(source, HELD, named_by, _passed(begin, HELD, gaps("s", HELD, begin, recreated=False)))
    assert named_by.read_bytes() == b'\0v1\n{"clicks":{"0":15}}'
    assert entry.read_text(encoding="utf-8").split("\n")[2:] == ends[:2] + ['{"clicks":{"0":15}}'] * 2

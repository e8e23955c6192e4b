"""Where each epoch ended, as the offset log tells it for every kind of source."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.source.files.follow import Mark, to_offset
from penstock.spark.checkpoint.offset_log import LoggedEpoch, log_of
from penstock.spark.checkpoint.positions import _by_file, _by_row, _lines, _offsets, file_places, place_of


def test_a_partition_that_came_later_has_nothing_in_the_epochs_before() -> None:
    ends = [None, '{"t": {"0": 4}}', '{"t": {"0": 4, "1": 7}}', None]
    assert _offsets(ends) == {"0": [0, 4, 4, 4], "1": [0, 0, 7, 7]}


def test_a_followed_file_is_known_by_its_last_name_and_only_its_last_turn_counts() -> None:
    epochs = [
        {1: Mark("a.log", lines=5), 2: Mark("b.log", lines=3)},
        {1: Mark("a.log.1", lines=8), 2: Mark("b.log", lines=2, rewrites=1), 3: Mark("a.log", lines=1)},
        {1: Mark("a.log.1", lines=8), 2: Mark("b.log", lines=6, rewrites=1), 3: Mark("a.log", lines=4)},
    ]
    ends = [json.dumps(to_offset(marks)) for marks in epochs]
    assert _lines(ends) == {"a.log.1": [5, 8, 8], "b.log": [0, 2, 6], "a.log": [0, 1, 4]}


def entry(log: Path, number: int, *files: Path) -> None:
    lines = [json.dumps({"path": file.as_uri(), "timestamp": 1, "batchId": number}) for file in files]
    (log / str(number)).write_text("\n".join(["v1", *lines]), encoding="utf-8")


def test_generated_rows_are_placed_by_their_ranges_in_whatever_order_the_files_were_taken(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    files = [tmp_path / f"{number:012}.txt" for number in range(4)]
    for number, file in enumerate(files):
        file.write_text(f"{number * 10} {number * 10 + 10}\n", encoding="ascii")
    entry(log, 0, files[0], files[1])
    entry(log, 1, files[3])
    entry(log, 2, files[2])
    places = file_places(log, ['{"logOffset":0}', '{"logOffset":1}', '{"logOffset":2}'])
    assert list(places.values()) == [0, 0, 1, 2]
    assert "[0, 2, 1]" in _by_row(places), "rows 0 to 19, 20 to 29, 30 to 39"
    assert '{"": [20, 30, 40]}' in _by_row(places)
    files[3].unlink()
    assert '{"": [20, 30]}' in _by_row(places), "what is gone is reported by who reads it"
    assert _by_row({}) == "0"


def test_the_ends_of_a_source_are_found_at_its_place_and_not_at_that_of_its_folder(tmp_path: Path) -> None:
    """`s UNION ALL s UNION ALL t`: the folder of t is the second, its place in the offset log the third."""
    names = ["s", "s", "t"]
    for folder in ("0", "1"):
        (tmp_path / "sources" / folder).mkdir(parents=True)
    log = log_of(tmp_path, names, 2)
    assert log == tmp_path / "sources" / "1"
    for number in range(3):
        entry(log, number, Path(f"/in/t/{number}.json"))
    logged = [LoggedEpoch(number, ('{"logOffset":0}', '{"logOffset":0}', f'{{"logOffset":{number}}}'), 1000, 0) for number in range(3)]
    text = place_of({"connector": "files"}, log, 2, logged)
    assert all(f'"/in/t/{number}.json": {number}' in text for number in range(3))


def test_however_many_files_there_are_few_are_searched() -> None:
    text = _by_file({f"/in/{number}.json": number for number in range(10_000)})
    buckets = json.loads(text.split("from_json('")[1].split("', 'array<map")[0])
    assert sum(map(len, buckets)) == 10_000
    assert max(map(len, buckets)) < 40

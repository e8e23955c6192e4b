from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.schema import Column, Schema
from penstock.sink.spec import SinkSpec
from penstock.verify.files import _csv, _json, read_files
from penstock.verify.rows import Reader

READER = Reader(Schema((Column("k", "string"), Column("n", "int"))), ("k",))


def read(folder: Path, text: str) -> list[tuple[int, object]]:
    file = folder / "part.csv"
    file.write_text(text, encoding="utf-8")
    return list(_csv(file, READER))


def test_an_empty_text_in_quotes_is_not_null(tmp_path: Path) -> None:
    found = read(tmp_path, '_op,k,n\n+,"",1\n+,,2\n+,"a\nb",3\n')
    assert found == [(2, {"_op": "+", "k": "", "n": "1"}), (3, {"_op": "+", "k": None, "n": "2"}), (4, {"_op": "+", "k": "a\nb", "n": "3"})]


def test_rows_of_another_length_are_read_too(tmp_path: Path) -> None:
    assert [number for number, _ in read(tmp_path, "k,n\na,1\nb\n")] == [2, 3]


def test_a_row_whose_only_value_is_null_is_an_empty_line(tmp_path: Path) -> None:
    assert read(tmp_path, 'k\n"a"\n\n""\n\n') == [(2, {"k": "a"}), (3, {"k": None}), (4, {"k": ""}), (5, {"k": None})]


def test_line_ends_of_unicode_stand_inside_a_line(tmp_path: Path) -> None:
    text = "one\u2028two\u2029three\u0085four"
    file = tmp_path / "part.json"
    file.write_text(json.dumps({"k": text}, ensure_ascii=False) + "\n" + "junk\n", encoding="utf-8")
    assert list(_json(file, READER)) == [(1, {"k": text}), (2, "junk")]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_result_of_a_complete_view_that_should_have_left_is_rows_too_many(tmp_path: Path, delivery: str) -> None:
    """Any reader of the folder has both: which of them is the newest only Penstock could tell."""
    spec = SinkSpec("out", "board", {"connector": "files", "path": "out", "delivery": delivery}, READER.schema, ("k",), False, True, tmp_path)
    for epoch in (3, 4):
        folder = tmp_path / "out" / f"epoch={epoch}"
        folder.mkdir(parents=True)
        (folder / "part-0.json").write_text('{"k":"a","n":1}\n', encoding="utf-8")
    found = read_files(spec, READER, "generation", datetime(2024, 5, 1, tzinfo=UTC), lambda: 4)
    assert (found.epoch, [row.place for row in found.rows]) == (4, ["epoch=3/part-0.json line 1", "epoch=4/part-0.json line 1"])

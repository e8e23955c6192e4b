"""What `produce` reads from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import cli
from penstock.cli.produce import RecordFormat, records
from penstock.errors import AppFault


def test_json_lines_are_sent_as_they_are_even_broken_ones(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}\r\nnot json\n\n{"a": "é"}\n', encoding="utf-8")
    assert [record.decode() for record in records(file, RecordFormat.csv)] == ['{"a": 1}', "not json", '{"a": "é"}']


def test_csv_rows_are_sent_as_lines_or_as_objects_by_the_header(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,text\n1,\"two\nlines, and 'quotes'\"\n", encoding="utf-8")
    assert list(records(file, RecordFormat.csv)) == [b"1,\"two\nlines, and 'quotes'\""]
    assert [json.loads(record) for record in records(file, RecordFormat.json)] == [{"id": "1", "text": "two\nlines, and 'quotes'"}]


@pytest.mark.parametrize("name", ["absent.json", "absent.csv"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(AppFault, match="No such file"):
        list(records(tmp_path / name, RecordFormat.json))


def test_csv_lines_have_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["produce", "a.csv", "--topic", "t", "--key", "id"])
    assert ended.value.code == 2
    assert "--format json" in capsys.readouterr().err


def test_a_file_or_a_stream_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["a.json", "--app", "b.sql"], ["--app", "b.sql"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(["produce", "--topic", "t", *arguments])
        assert ended.value.code == 2
    assert "either a file, or --app and --stream" in capsys.readouterr().err

"""What `produce` reads from files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from penstock import cli
from penstock.cli.produce import RecordFormat, keyed, records
from penstock.errors import AppFault, NameFault
from penstock.schema import Column, Schema


def test_json_lines_are_sent_as_they_are_even_broken_ones(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}\r\nnot json\n\n{"a": "é"}\n', encoding="utf-8")
    assert [record.decode() for record in records(file, RecordFormat.csv)] == ['{"a": 1}', "not json", '{"a": "é"}']


def test_csv_rows_are_sent_as_lines_or_as_objects_by_the_header(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,text\n1,\"two\nlines, and 'quotes'\"\n", encoding="utf-8")
    assert list(records(file, RecordFormat.csv)) == [b"1,\"two\nlines, and 'quotes'\""]
    assert [json.loads(record) for record in records(file, RecordFormat.json)] == [{"id": "1", "text": "two\nlines, and 'quotes'"}]


@pytest.mark.parametrize("value", ["li\nne", "li\r\nne", "\r", 'say "x"', "a,b", "  ahead", ""])
def test_a_value_of_a_csv_row_is_sent_so_that_it_is_read_again(tmp_path: Path, value: str) -> None:
    file = tmp_path / "a.csv"
    with file.open("w", encoding="utf-8", newline="") as written:
        csv.writer(written, quoting=csv.QUOTE_ALL).writerows([["id", "name"], ["3", value]])
    (record,) = records(file, RecordFormat.csv)
    assert list(csv.reader(io.StringIO(record.decode(), newline=""))) == [["3", value]]
    assert b"\n" not in record or b'"' in record


def test_two_columns_of_one_name_cannot_be_one_object(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b,a\n1,2,3\n", encoding="utf-8")
    with pytest.raises(AppFault, match="two columns of the header are called `a`"):
        list(records(file, RecordFormat.json))
    assert list(records(file, RecordFormat.csv)) == [b"1,2,3"]


@pytest.mark.parametrize("name", ["absent.json", "absent.csv"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(AppFault, match="No such file"):
        list(records(tmp_path / name, RecordFormat.json))


@pytest.mark.parametrize("schema", [None, Schema((Column("a", "int"), Column("b", "int")))], ids=["without types", "with types"])
def test_a_csv_row_with_more_fields_than_the_header_is_named_and_one_with_fewer_has_nulls(tmp_path: Path, schema: Schema | None) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n3\n4,5,6\n", encoding="utf-8")
    sent = records(file, RecordFormat.json, schema)
    assert [json.loads(next(sent))["b"] for _ in range(2)] == ["2" if schema is None else 2, None]
    with pytest.raises(AppFault, match="more fields than the 2 of the header") as raised:
        next(sent)
    assert str(raised.value.where) == f"{file}:4"
    assert list(records(file, RecordFormat.csv)) == [b"1,2", b"3", b"4,5,6"], "csv lines are sent as they are"


@pytest.mark.parametrize("format", RecordFormat)
def test_a_csv_field_that_is_too_long_is_named_by_file_and_line(tmp_path: Path, format: RecordFormat) -> None:
    file = tmp_path / "a.csv"
    file.write_text(f"a,b\n1,2\n{'x' * 140_000},3\n", encoding="utf-8")
    with pytest.raises(AppFault, match="field larger than field limit") as raised:
        list(records(file, format))
    assert str(raised.value.where) == f"{file}:3"


def test_csv_lines_have_no_key(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["produce", "a.csv", "--topic", "t", "--key", "id"])
    assert ended.value.code == 2
    assert "--format json" in capsys.readouterr().err


def test_an_app_and_a_stream_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["a.json", "--app", "b.sql"], ["--app", "b.sql"], ["--stream", "s"]):
        with pytest.raises(SystemExit) as ended:
            cli.main(["produce", "--topic", "t", *arguments])
        assert ended.value.code == 2
    assert "a file, or --app and --stream, or all three" in capsys.readouterr().err


def test_a_stream_is_known_whatever_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.sql").write_text("CREATE STREAM Orders (id BIGINT) WITH (connector = 'files', path = 'in');", encoding="utf-8")
    (tmp_path / "a.csv").write_text("id\n1\n", encoding="utf-8")
    sent: list[bytes] = []
    monkeypatch.setattr("penstock.cli.produce._send", lambda lines, *_: sent.extend(lines))
    arguments = ["produce", str(tmp_path / "a.csv"), "--format", "json", "--app", str(tmp_path / "app.sql"), "--stream", "orders", "--topic", "t"]
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code in (0, None)
    assert sent == [b'{"id": 1}']


def test_csv_values_are_sent_as_the_stream_declares_them(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id,price,name,open,at,more\n1,2.50,,true,2026-01-01,x\n,,b,,,\n007,1e3,c,maybe,,\n", encoding="utf-8")
    types = {"ID": "bigint", "price": "decimal(12,2)", "name": "string", "open": "boolean", "at": "timestamp"}
    schema = Schema(tuple(Column(name, kind) for name, kind in types.items()))
    assert [record.decode() for record in records(file, RecordFormat.json, schema)] == [
        '{"id": 1, "price": 2.50, "name": "", "open": true, "at": "2026-01-01", "more": "x"}',
        '{"id": null, "price": null, "name": "b", "open": null, "at": null, "more": ""}',
        '{"id": "007", "price": 1e3, "name": "c", "open": "maybe", "at": null, "more": ""}',
    ]


def test_a_key_that_no_record_has_is_an_error_before_anything_is_sent() -> None:
    lines = [b'{"id": 1, "name": "a"}', b'{"id": 2}']
    assert list(keyed(iter(lines), "name")) == lines
    with pytest.raises(NameFault, match="no column `nmae`") as raised:
        keyed(iter(lines), "nmae")
    assert raised.value.hint == "did you mean `name`?"
    with pytest.raises(NameFault) as raised:
        keyed(iter([b"plain text"]), "name")
    assert raised.value.hint == "they are no JSON objects"
    assert list(keyed(iter([]), "name")) == []


def test_a_file_that_is_not_there_is_reported_before_a_broker_is_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["produce", str(tmp_path / "absent.json"), "--topic", "t", "--servers", "127.0.0.1:1"])
    assert ended.value.code == 2
    assert "there is no file" in capfd.readouterr().err

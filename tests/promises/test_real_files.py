"""Small files as real tools write them: what `infer` proposes for each is read without a single dead letter, in batch and live."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from penstock.errors import SourceError
from penstock.source.infer.propose import propose_files
from penstock.testing.trial import Trial


@dataclass(frozen=True)
class Case:
    """A file, the columns and options that are proposed for it, and all of its rows."""

    file: str
    content: bytes
    columns: str
    rows: list[dict[str, Any]]
    options: dict[str, str] = field(default_factory=dict)
    event_time: str | None = None


def _parquet() -> bytes:
    table = pyarrow.table(
        {"id": [1, 2], "at": pyarrow.array([datetime(2024, 5, 1, tzinfo=UTC)] * 2, pyarrow.timestamp("us", "UTC")), "tags": [["a"], []]}
    )
    written = io.BytesIO()
    pyarrow.parquet.write_table(table, written)
    return written.getvalue()


def _frame() -> bytes:
    """As pandas writes it: times in nanoseconds, its index beside the columns."""
    at = numpy.array(["2024-05-01T10:00:00.123456789", "NaT"], "datetime64[ns]")
    frame = pandas.DataFrame({"at": at, "day": [date(2024, 5, 1)] * 2, "n": [1, 2]}, index=[10, 20])
    written = io.BytesIO()
    frame.to_parquet(written)
    return written.getvalue()


T = "2024-05-01T10:00:00Z"
CASES = [
    Case(
        "plain.csv",
        b"id,city,amount\n1,Lisboa,1.50\n2,Porto,12.25\n",
        "id BIGINT, city STRING, amount DECIMAL(18,2)",
        [{"id": 1, "city": "Lisboa", "amount": "1.50"}, {"id": 2, "city": "Porto", "amount": "12.25"}],
        {"header": "true"},
    ),
    Case(
        "bom.csv",
        "\ufeffid,name\r\n1,Zoë\r\n2,b\r\n".encode(),
        "id BIGINT, name STRING",
        [{"id": 1, "name": "Zoë"}, {"id": 2, "name": "b"}],
        {"header": "true"},
    ),
    Case(
        "semicolons.csv",
        b"id;text\n1;a, b\n2;c\n",
        "id BIGINT, text STRING",
        [{"id": 1, "text": "a, b"}, {"id": 2, "text": "c"}],
        {"header": "true", "delimiter": ";"},
    ),
    Case(
        "tabs.tsv",
        b"id\ttext\n1\ta\n2\tb c\n",
        "id BIGINT, text STRING",
        [{"id": 1, "text": "a"}, {"id": 2, "text": "b c"}],
        {"header": "true", "delimiter": "\\t"},
    ),
    Case(
        "pipes.txt",
        b"id|text\n1|a\n2|b\n",
        "id BIGINT, text STRING",
        [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}],
        {"header": "true", "delimiter": "|"},
    ),
    Case(
        "breaks.csv",
        b'id,note\r\n1,"first\r\nsecond, ""quoted"""\r\n2,plain\r\n',
        "id BIGINT, note STRING",
        [{"id": 1, "note": 'first\nsecond, "quoted"'}, {"id": 2, "note": "plain"}],
        {"header": "true", "multiline": "true"},
    ),
    Case(
        "backslash.csv",
        b'id,note\n1,"say \\"hi\\", please"\n2,x\n',
        "id BIGINT, note STRING",
        [{"id": 1, "note": 'say "hi", please'}, {"id": 2, "note": "x"}],
        {"header": "true", "escape": "\\"},
    ),
    Case(
        "no_header.csv",
        b"1,2.5,a\n2,3.25,b\n3,4,c\n",
        "c1 BIGINT, c2 DOUBLE, c3 STRING",
        [{"c1": 1, "c2": 2.5, "c3": "a"}, {"c1": 2, "c2": 3.25, "c3": "b"}, {"c1": 3, "c2": 4.0, "c3": "c"}],
    ),
    Case(
        "epoch_s.csv",
        b"ts,v\n1714557600,1\n1714557600,2\n",
        "ts TIMESTAMP, v BIGINT",
        [{"ts": T, "v": 1}, {"ts": T, "v": 2}],
        {"header": "true", "timestamp_format": "epoch_seconds"},
        "ts",
    ),
    Case(
        "epoch_ms.json",
        b'{"created_at":1714557600123,"v":1}\n{"created_at":1714557600000,"v":2}\n',
        "created_at TIMESTAMP, v BIGINT",
        [{"created_at": "2024-05-01T10:00:00.123Z", "v": 1}, {"created_at": T, "v": 2}],
        {"timestamp_format": "epoch_millis"},
        "created_at",
    ),
    Case(
        "pretty.json",
        b'{\n  "id": 1,\n  "at": "2024-05-01T10:00:00Z"\n}\n{\n  "id": 2,\n  "at": "2024-05-01T10:00:00Z"\n}\n',
        "id BIGINT, at TIMESTAMP",
        [{"id": 1, "at": T}, {"id": 2, "at": T}],
        {"multiline": "true"},
        "at",
    ),
    Case(
        "array.json",
        b'\xef\xbb\xbf[{"id": 1, "n": 0.1},\r\n {"id": 2, "n": 12345678901234567.89}]',
        "id BIGINT, n DOUBLE",
        [{"id": 1, "n": 0.1}, {"id": 2, "n": 1.2345678901234568e16}],
        {"multiline": "true"},
    ),
    Case("packed.csv.gz", gzip.compress(b"id,x\n1,a\n2,b\n"), "id BIGINT, x STRING", [{"id": 1, "x": "a"}, {"id": 2, "x": "b"}], {"header": "true"}),
    Case("header_only.csv", b"id,name\n", "id STRING, name STRING", [], {"header": "true"}),
    Case(
        "mixed.csv",
        b"id,v\n1,5\n2,five\n3,6.5\n",
        "id BIGINT, v STRING",
        [{"id": 1, "v": "5"}, {"id": 2, "v": "five"}, {"id": 3, "v": "6.5"}],
        {"header": "true"},
    ),
    Case(
        "nulls.csv",
        b"id,v,w\n1,NA,x\n2,2.5,\n3,,NA\n",
        "id BIGINT, v DOUBLE, w STRING",
        [{"id": 1, "v": None, "w": "x"}, {"id": 2, "v": 2.5, "w": None}, {"id": 3, "v": None, "w": None}],
        {"header": "true", "null_value": "NA"},
    ),
    Case(
        "latin.csv",
        "id;größe\r\n1;„drei“ €\r\n2;x\r\n".encode("cp1252"),
        "id BIGINT, größe STRING",
        [{"id": 1, "größe": "„drei“ €"}, {"id": 2, "größe": "x"}],
        {"header": "true", "delimiter": ";", "encoding": "windows-1252"},
    ),
    Case(
        "utf16.csv",
        "id,name\r\n1,Zoë\r\n2,b\r\n".encode("utf-16"),
        "id BIGINT, name STRING",
        [{"id": 1, "name": "Zoë"}, {"id": 2, "name": "b"}],
        {"header": "true", "encoding": "utf-16", "multiline": "true"},
    ),
    Case(
        "comma.csv",
        b"id;amount\n1;1.234,56\n2;7,00\n",
        "id BIGINT, amount DECIMAL(18,2)",
        [{"id": 1, "amount": "1234.56"}, {"id": 2, "amount": "7.00"}],
        {"header": "true", "delimiter": ";", "decimal": ","},
    ),
    Case(
        "thousands.csv",
        b'id,amount\n1,"1,234.50"\n2,"7.25"\n',
        "id BIGINT, amount DECIMAL(18,2)",
        [{"id": 1, "amount": "1234.50"}, {"id": 2, "amount": "7.25"}],
        {"header": "true"},
    ),
    Case(
        "german_days.csv",
        b"day;v\n31.12.2023;1\n01.05.2024;2\n",
        "day TIMESTAMP, v BIGINT",
        [{"day": "2023-12-31T00:00:00Z", "v": 1}, {"day": "2024-05-01T00:00:00Z", "v": 2}],
        {"header": "true", "delimiter": ";", "timestamp_format": "dd.MM.yyyy"},
        "day",
    ),
    Case(
        "american.csv",
        b"when,v\n5/1/2024 10:00:00 AM,1\n12/31/2024 1:05:09 PM,2\n",
        "when TIMESTAMP, v BIGINT",
        [{"when": T, "v": 1}, {"when": "2024-12-31T13:05:09Z", "v": 2}],
        {"header": "true", "timestamp_format": "M/d/yyyy h:mm:ss a"},
        "when",
    ),
    Case(
        "iso_zone.csv",
        b"at,v\n2024-05-01T12:00:00+02:00,1\n2024-05-01 10:00:00Z,2\n",
        "at TIMESTAMP, v BIGINT",
        [{"at": T, "v": 1}, {"at": T, "v": 2}],
        {"header": "true"},
        "at",
    ),
    Case(
        "commits.csv",
        b"time,commits\n2015/01/01 01:00:00,3\n2015/01/01 02:00:00,4\n",
        "time TIMESTAMP, commits BIGINT",
        [{"time": "2015-01-01T01:00:00Z", "commits": 3}, {"time": "2015-01-01T02:00:00Z", "commits": 4}],
        {"header": "true", "timestamp_format": "yyyy/MM/dd HH:mm:ss"},
        "time",
    ),
    Case(
        "access.log",
        b'1.2.3.4 - - [10/Oct/2023:13:55:36 -0700] "GET /a?x=1,2 HTTP/1.0" 200 23 "-" "M (X; Y)"\n::1 - - [x] "GET /b" 1 2 "-" "curl"\n',
        "line STRING",
        [
            {"line": '1.2.3.4 - - [10/Oct/2023:13:55:36 -0700] "GET /a?x=1,2 HTTP/1.0" 200 23 "-" "M (X; Y)"'},
            {"line": '::1 - - [x] "GET /b" 1 2 "-" "curl"'},
        ],
    ),
    Case(
        "trailing.csv",
        b"id,x,\n1,a,\n2,b,\n",
        "id BIGINT, x STRING, c3 STRING",
        [{"id": 1, "x": "a", "c3": None}, {"id": 2, "x": "b", "c3": None}],
        {"header": "true"},
    ),
    Case(
        "twice.csv",
        b"id,v,v\n1,2,a\n3,4,b\n",
        "id BIGINT, v BIGINT, v_2 STRING",
        [{"id": 1, "v": 2, "v_2": "a"}, {"id": 3, "v": 4, "v_2": "b"}],
        {"header": "true"},
    ),
    Case(
        "headlines.csv",
        "Größe (m²),Straße & Nr.\n1.5,Am Markt 1\n2.5,Hof 2\n".replace("²", "2").encode(),
        "Größe (m2) DOUBLE, Straße & Nr. STRING",
        [{"Größe (m2)": 1.5, "Straße & Nr.": "Am Markt 1"}, {"Größe (m2)": 2.5, "Straße & Nr.": "Hof 2"}],
        {"header": "true"},
    ),
    Case(
        "blanks.csv",
        b"id, v, w\n1, 2, a\n3, 4, b\n",
        "id BIGINT, v BIGINT, w STRING",
        [{"id": 1, "v": 2, "w": "a"}, {"id": 3, "v": 4, "w": "b"}],
        {"header": "true", "trim": "true"},
    ),
    Case(
        "rows.parquet",
        _parquet(),
        "id BIGINT, at TIMESTAMP, tags ARRAY<STRING>",
        [{"id": 1, "at": "2024-05-01T00:00:00Z", "tags": ["a"]}, {"id": 2, "at": "2024-05-01T00:00:00Z", "tags": []}],
        {},
        "at",
    ),
    Case("missing.json", b'{"id":1}\r\n{"id":2,"more":true}\r\n', "id BIGINT, more BOOLEAN", [{"id": 1, "more": None}, {"id": 2, "more": True}]),
    Case(
        "nested.json",
        b'{"id":1,"who":{"name":"ana","tags":["x"]},"n":1}\n{"id":2,"who":{"age":7},"n":2.5}\n',
        "id BIGINT, who STRUCT<name: STRING, tags: ARRAY<STRING>, age: BIGINT>, n DOUBLE",
        [{"id": 1, "who": {"name": "ana", "tags": ["x"], "age": None}, "n": 1.0}, {"id": 2, "who": {"name": None, "tags": None, "age": 7}, "n": 2.5}],
    ),
    Case(
        "epoch_fraction.csv",
        b"time,v\n1714557600.123,1\n1714557600,2\n",
        "time TIMESTAMP, v BIGINT",
        [{"time": "2024-05-01T10:00:00.123Z", "v": 1}, {"time": T, "v": 2}],
        {"header": "true", "timestamp_format": "epoch_seconds"},
        "time",
    ),
    Case(
        "epoch_text.json",
        b'{"timestamp":"1714557600123","v":1}\n{"timestamp":"1714557600000","v":2}\n',
        "timestamp TIMESTAMP, v BIGINT",
        [{"timestamp": "2024-05-01T10:00:00.123Z", "v": 1}, {"timestamp": T, "v": 2}],
        {"timestamp_format": "epoch_millis"},
        "timestamp",
    ),
    Case(
        "epoch_ns.json",
        b'{"ts":1714557600123456789,"v":1}\n{"ts":1714557600000000000,"v":2}\n',
        "ts TIMESTAMP, v BIGINT",
        [{"ts": "2024-05-01T10:00:00.123456Z", "v": 1}, {"ts": T, "v": 2}],
        {"timestamp_format": "epoch_nanos"},
        "ts",
    ),
    Case(
        "squeezed.csv.bz2", bz2.compress(b"id,x\n1,a\n2,b\n"), "id BIGINT, x STRING", [{"id": 1, "x": "a"}, {"id": 2, "x": "b"}], {"header": "true"}
    ),
    Case(
        "postgres.csv",
        b"id,at\n18446744073709551616,2024-05-01 10:00:00.5+00\n1,2024-05-01 12:00:00+02\n",
        "id DECIMAL(38,0), at TIMESTAMP",
        [{"id": "18446744073709551616", "at": "2024-05-01T10:00:00.5Z"}, {"id": "1", "at": T}],
        {"header": "true"},
        "at",
    ),
    Case(
        "quotes.tsv",
        b'id\ttext\n1\tthe 5" disk\n2\t"open\n3\tsay "hi" there\n4\tlast\n',
        "id BIGINT, text STRING",
        [{"id": 1, "text": 'the 5" disk'}, {"id": 2, "text": '"open'}, {"id": 3, "text": 'say "hi" there'}, {"id": 4, "text": "last"}],
        {"header": "true", "delimiter": "\\t", "quote": ""},
    ),
    Case(
        "frame.parquet",
        _frame(),
        "at TIMESTAMP, day DATE, n BIGINT",
        [{"at": "2024-05-01T10:00:00.123456Z", "day": "2024-05-01", "n": 1}, {"at": None, "day": "2024-05-01", "n": 2}],
        {"timestamp_format": "epoch_nanos"},
        "at",
    ),
    Case(
        "units.csv",
        "T [°C],ok?,phone\n1.5,true,+351912345678\n2.5,false,+4930123456\n".encode(),
        "T [°C] DOUBLE, ok? BOOLEAN, phone STRING",
        [{"T [°C]": 1.5, "ok?": True, "phone": "+351912345678"}, {"T [°C]": 2.5, "ok?": False, "phone": "+4930123456"}],
        {"header": "true"},
    ),
    Case(
        "zips.csv",
        b"zip,ok\n00501,true\n10001,FALSE\n",
        "zip STRING, ok BOOLEAN",
        [{"zip": "00501", "ok": True}, {"zip": "10001", "ok": False}],
        {"header": "true"},
    ),
]
OWN = ("connector", "path", "format")


def test_every_file_is_read_as_it_is_proposed(trial: Trial) -> None:
    declared = []
    for case in CASES:
        folder = trial.folder / case.file.split(".")[0]
        folder.mkdir()
        (folder / case.file).write_bytes(case.content)
        found = propose_files(folder / case.file)
        assert ", ".join(f"{name} {kind}" for name, kind in found.columns) == case.columns, case.file
        assert {name: value for name, value in found.options.items() if name not in OWN} == case.options, case.file
        assert found.event_time == case.event_time, case.file
        declared.append(propose_files(folder, name=f"s_{folder.name}").sql())
        declared.append(f"CREATE MATERIALIZED VIEW v_{folder.name} AS SELECT * FROM s_{folder.name};")
    trial.write("app.sql", "\n".join(declared))
    in_batch = {case.file: _answer(trial, case) for case in CASES}
    wrong = {file: answer for file, answer in in_batch.items() if answer[0] != next(case for case in CASES if case.file == file).rows or answer[1]}
    assert not wrong, json.dumps(wrong, ensure_ascii=False, indent=1, default=str)
    trial.drain()
    live = {case.file: (_sorted(trial.rows(f"v_{case.file.split('.')[0]}")), trial.rows(f"s_{case.file.split('.')[0]}__dead")) for case in CASES}
    assert live == {case.file: (_sorted(case.rows), []) for case in CASES}


def _answer(trial: Trial, case: Case) -> tuple[list[dict[str, Any]], list[str]]:
    with trial.engine() as engine:
        answer = engine.batch(f"v_{case.file.split('.')[0]}")
        try:
            rows = [json.loads(line) for line in answer.lines]
        except Exception as error:
            return [], [str(error)]
        return rows, [found.first for found in answer.dead()]


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_there_are_enough_kinds_of_files() -> None:
    assert len(CASES) >= 30
    assert len({case.file for case in CASES}) == len(CASES)


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_is_no_declaration(content: bytes, trial: Trial) -> None:
    file = trial.folder / "empty.csv"
    file.write_bytes(content)
    with pytest.raises(SourceError, match="nothing in it"):
        propose_files(file)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("book.xlsx", b"PK\x03\x04" + bytes(200), "zip"),
        ("packed.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "gzip"),
        ("noise.bin", bytes(range(256)) * 4, "holds no text"),
        ("excel.csv", b"sep=;\r\nid;v\r\n1;2\r\n", "first line `sep=;`"),
        ("notes.csv", b"# made by a tool\n# today\nid,v\n1,2\n", "2 lines of comments"),
        ("lists.json", b"[[1, 2], [3, 4]]", "no records"),
        ("none.json", b"{}\n{}\n", "no columns"),
        ("pretty.json", '[{\n"id": "Zoë"}]'.encode("cp1252"), "as UTF-8 only"),
    ],
)
def test_what_holds_no_records_is_refused_with_the_reason(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=words) as refused:
        propose_files(tmp_path / name)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("content", "head"),
    [(b"#id,v\n1,2\n", "c1"), ("id,v\n1,2\n2,é\n".encode("utf-16-le"), "id"), (b'{"a":{"0":1,"1":2},"b":{"0":"x","1":"y"}}', "a")],
)
def test_what_only_looks_odd_is_proposed(content: bytes, head: str, tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(content)
    assert propose_files(tmp_path / "odd").columns[0][0] == head

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SourceError
from penstock.plan.model.declare import Stream
from penstock.plan.sql.statements import Create, parse
from penstock.schema import Column, Schema
from penstock.source import SourceSpec
from penstock.source.infer.causes import remedy
from penstock.source.infer.propose import propose_files, propose_sample, stream_name
from penstock.source.infer.sample import sample_of


def test_a_proposal_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "2024 Big Orders.csv"
    file.write_bytes("\ufeffOrder;At;Größe (m)\r\n1;01.05.2024 10:00;1,5\r\n2;31.05.2024 11:00;2,25\r\n".encode())
    (made,) = parse(propose_files(file).sql(), "app.sql")
    assert isinstance(made, Create)
    declared = made.declaration
    assert isinstance(declared, Stream)
    assert declared.name == "big_orders"
    assert [(column.name, column.type) for column in declared.schema] == [
        ("Order", "bigint"),
        ("At", "timestamp"),
        ("Größe (m)", "decimal(18,2)"),
    ]
    assert (declared.event_time, declared.options["delimiter"], declared.options["decimal"]) == ("At", ";", ",")
    assert declared.options["timestamp_format"] == "dd.MM.yyyy HH:mm"


def test_records_of_a_topic_are_looked_at_as_lines() -> None:
    found = propose_sample("s", {"connector": "kafka"}, sample_of(b'{"id":1,"ts":1714557600}\n{"id":2,"ts":1714557601.5}'))
    assert found.columns == (("id", "BIGINT"), ("ts", "TIMESTAMP"))
    assert found.options["timestamp_format"] == "epoch_seconds"


def test_times_of_two_kinds_leave_one_as_text() -> None:
    found = propose_sample("s", {}, sample_of(b"at,other\n2024-05-01 10:00:00,01.05.2024 10:00\n2024-05-01 10:00:00,31.05.2024 10:00\n"), "csv")
    assert found.columns == (("at", "TIMESTAMP"), ("other", "STRING"))
    assert "timestamp_format" not in found.options
    assert any("`other` is STRING" in note for note in found.assumed)


def test_a_folder_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    for number, value in enumerate(("1", "2.5", "x")):
        (tmp_path / f"{number}.csv").write_text(f"id,v\n{number},{value}\n")
    assert propose_files(tmp_path).columns == (("id", "BIGINT"), ("v", "STRING"))


def test_nothing_to_look_at_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no file"):
        propose_files(tmp_path / "none")


@pytest.mark.parametrize(("name", "stream"), [("orders.csv.gz", "orders"), ("2024-05 Sales.csv", "sales"), ("1.csv", "records")])
def test_streams_are_named_after_files(name: str, stream: str) -> None:
    assert stream_name(Path(name)) == stream


def test_a_declaration_that_reads_nothing_is_reported_with_what_it_lacks(tmp_path: Path) -> None:
    spec = SourceSpec("s", {"connector": "kafka", "format": "csv"}, Schema((Column("id", "int"), Column("at", "timestamp"))), tmp_path, tmp_path)
    assert "delimiter = ';'" in remedy(spec, [b"1;2024-05-01T00:00:00Z", b"2;2024-05-01T00:00:00Z"], None)
    assert "timestamp_format = 'dd.MM.yyyy HH:mm'" in remedy(spec, [b"1,01.05.2024 10:00", b"2,31.05.2024 10:00"], None)

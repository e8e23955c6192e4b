"""Data of the program in every form, as typed files, step by step."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.errors import OptionFault, TypeFault
from penstock.interactive.memory import as_table
from penstock.plan.sql.definition import parse_columns

ROWS = [{"card": "a", "n": 1}, {"card": "b", "n": None}]


@pytest.mark.parametrize(
    "data",
    [ROWS, pd.DataFrame({"card": ["a", "b"], "n": pd.array([1, None], dtype="Int64")}), pa.Table.from_pylist(ROWS), pl.DataFrame(ROWS)],
    ids=["dicts", "pandas", "arrow", "polars"],
)
def test_every_form_has_the_same_columns_and_rows(data: object, tmp_path: Path) -> None:
    memory = ps.Memory(data)
    assert memory.columns() == "`card` string, `n` bigint"
    memory.written(tmp_path, parse_columns(memory.columns()))
    assert pq.read_table(tmp_path).to_pylist() == ROWS


def test_an_index_with_a_name_is_a_column_and_a_bare_one_is_none() -> None:
    frame = pd.DataFrame({"card": ["a", "b"], "n": [1, 2]}, index=[7, 8])
    assert ps.Memory(frame).columns() == "`card` string, `n` bigint"
    assert ps.Memory(frame.groupby("card").sum()).columns() == "`card` string, `n` bigint"
    assert ps.Memory(frame.set_index("card", drop=False)).columns() == "`card` string, `n` bigint"
    with pytest.raises(OptionFault, match="Series"):
        ps.Memory(frame["n"])


def test_steps_are_files_in_order_and_one_more_can_come(tmp_path: Path) -> None:
    memory = ps.Memory([[{"n": 1}], pd.DataFrame({"n": [2, 3]})])
    memory.written(tmp_path, parse_columns(memory.columns()))
    memory.append([{"n": 4}])
    files = sorted(tmp_path.glob("*.parquet"))
    assert [pq.read_table(file)["n"].to_pylist() for file in files] == [[1], [2, 3], [4]]
    assert sorted(files, key=lambda file: file.stat().st_mtime) == files


def test_the_same_data_again_leaves_its_files_as_they_are(tmp_path: Path) -> None:
    schema = parse_columns("n BIGINT")
    ps.Memory([[{"n": 1}], [{"n": 2}]]).written(tmp_path, schema)
    before = {file.name: file.stat().st_ino for file in tmp_path.iterdir()}
    ps.Memory([[{"n": 1}], [{"n": 2}], [{"n": 3}]]).written(tmp_path, schema)
    assert {name: inode for name, inode in ((file.name, file.stat().st_ino) for file in tmp_path.iterdir()) if name in before} == before
    ps.Memory([[{"n": 1}]]).written(tmp_path, schema)
    assert len(list(tmp_path.iterdir())) == 1


def test_types_are_found_in_all_steps_and_times_are_utc() -> None:
    moment = datetime(2024, 5, 1, 10, tzinfo=UTC)
    first = [{"at": moment, "amount": Decimal("1.5"), "tags": ["a"], "place": {"lat": 1.0}, "extra": None}]
    second = pd.DataFrame({"at": pd.to_datetime(["2024-05-01"]), "amount": [Decimal("2.25")], "extra": ["x"]})
    found = ps.Memory([first, second]).columns()
    assert found == "`at` timestamp, `amount` decimal(19,2), `tags` array<string>, `place` struct<`lat`: double>, `extra` string"


def test_declared_columns_decide_the_types(tmp_path: Path) -> None:
    ps.Memory([{"n": "12", "at": "2024-05-01T10:00:00Z"}]).written(tmp_path, parse_columns("at TIMESTAMP, n DECIMAL(5,1)"))
    assert pq.read_table(tmp_path).to_pylist() == [{"at": datetime(2024, 5, 1, 10, tzinfo=UTC), "n": Decimal("12.0")}]


def test_what_cannot_be_a_table_is_refused_with_a_reason(tmp_path: Path) -> None:
    for wrong in (5, "text", [1, 2], {"a": [1]}):
        with pytest.raises(OptionFault):
            ps.Memory(wrong)
    with pytest.raises(OptionFault, match="no columns"):
        ps.Memory([]).columns()
    with pytest.raises(TypeFault):
        as_table([{"a": 1}, {"a": "x"}])
    with pytest.raises(TypeFault, match="no column `b`"):
        ps.Memory([{"a": 1}]).written(tmp_path, parse_columns("b INT"))
    with pytest.raises(TypeFault, match="does not fit"):
        ps.Memory([{"a": "x"}]).written(tmp_path, parse_columns("a INT"))
    with pytest.raises(TypeFault, match="duration"):
        ps.Memory(pd.DataFrame({"a": pd.to_timedelta(["1s"])})).columns()

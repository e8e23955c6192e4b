"""An answer has the view's own types, in every form that it is asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from penstock.change import Rows, SetAside
from penstock.errors import NameFault, OptionFault
from penstock.interactive.result import Result
from penstock.schema import columns

DDL = (
    "id bigint, name string, total decimal(12,2), ratio double, at timestamp, local timestamp_ntz, day date, raw binary, flag boolean,"
    " tags array<string>, inner struct<a: int, when: timestamp>, by_day map<date, decimal(5,1)>, small smallint"
)
LINE = (
    '{"id":9007199254740993,"name":"a","total":"12.50","ratio":"NaN","at":"2024-05-01T10:00:00.123456Z","local":"2024-05-01T10:00:00",'
    '"day":"2024-05-01","raw":"AAH/","flag":true,"tags":["x",null],"inner":{"a":1,"when":"2024-05-01T00:00:00Z"},'
    '"by_day":{"2024-05-01":"1.5"},"small":3}'
)
EMPTY = '{"id":null}'


@pytest.fixture
def result() -> Result:
    return Result(columns(DDL), [LINE, EMPTY])


def test_rows_are_dicts_of_real_values(result: Result) -> None:
    row = result[0]
    assert row["id"] == 9007199254740993
    assert row["total"] == Decimal("12.50")
    assert row["ratio"] != row["ratio"]
    assert row["at"] == datetime(2024, 5, 1, 10, 0, 0, 123456, UTC)
    assert row["at"].tzinfo is not None
    assert row["local"].tzinfo is None
    assert row["day"] == date(2024, 5, 1)
    assert row["raw"] == b"\x00\x01\xff"
    assert row["tags"] == ["x", None]
    assert row["inner"] == {"a": 1, "when": datetime(2024, 5, 1, tzinfo=UTC)}
    assert row["by_day"] == {date(2024, 5, 1): Decimal("1.5")}
    assert set(result[1].values()) == {None}


def test_it_is_a_sequence_with_columns_and_a_schema(result: Result) -> None:
    assert len(result) == 2
    assert result.columns[:2] == ["id", "name"]
    assert result.schema.find("TOTAL") is not None
    assert result["name"] == ["a", None]
    assert len(result[:1]) == len(result.head(1)) == 1
    assert [row["id"] for row in result] == [row["id"] for row in result.to_dicts()]
    with pytest.raises(NameFault, match="nme"):
        result["nme"]


def test_arrow_has_the_types_of_the_view(result: Result) -> None:
    table = result.to_arrow()
    assert table.schema.field("total").type == pa.decimal128(12, 2)
    assert table.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("by_day").type == pa.map_(pa.date32(), pa.decimal128(5, 1))
    assert table.schema.field("inner").type == pa.struct([("a", pa.int32()), ("when", pa.timestamp("us", tz="UTC"))])
    assert table["by_day"].to_pylist() == [[(date(2024, 5, 1), Decimal("1.5"))], None]
    assert Result(columns(DDL), []).to_arrow().schema == table.schema


def test_pandas_and_polars(result: Result) -> None:
    frame = result.to_pandas()
    assert str(frame["at"].dtype) == "datetime64[us, UTC]"
    assert frame["id"][0] == 9007199254740993
    assert frame["id"].isna()[1]
    assert isinstance(frame["total"][0], Decimal)
    assert result.to_polars()["total"].to_list() == [Decimal("12.50"), None]
    assert pl.from_arrow(pa.table(result))["day"].to_list() == [date(2024, 5, 1), None]  # type: ignore[index]
    assert isinstance(frame, pd.DataFrame)


def test_it_prints_and_draws_itself_and_what_it_shows_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    result = Result(columns("name string, n int"), ['{"name":"<b>&","n":1}', '{"name":"b","n":2}'], epoch=7)
    result.show(1)
    printed = capsys.readouterr().out
    assert "<b>&" in printed
    assert "1 more row" in printed
    assert "2 rows as of epoch 7" in repr(result)
    assert "&lt;b&gt;&amp;" in result._repr_html_()
    assert "<b>" not in result._repr_html_()


def test_what_was_set_aside_is_reported() -> None:
    aside = SetAside("orders", 3, '{"file":"a"}', "not a number: amount", b"x")
    result = Result.of(Rows(columns("n int"), iter(['{"n":1}']), lambda: (aside,)))
    assert result.dead.count == 3
    assert result.dead.reasons == ["not a number: amount"]
    assert list(result.dead) == [aside]
    assert result.dead.to_pandas()["raw"].tolist() == [b"x"]
    assert "3 records of `orders`" in repr(result)
    assert Result(columns("n int"), []).dead.count == 0


def test_a_chart_is_drawn_of_numbers() -> None:
    lines = ['{"w":{"start":"2024-05-01T10:00:00Z","end":"2024-05-01T11:00:00Z"},"total":"1.5"}', '{"w":null,"total":null}']
    result = Result(columns("w struct<start: timestamp, end: timestamp>, total decimal(5,1)"), lines)
    for kind in ("line", "bar"):
        assert "05-01 10:00" in result.plot(kind=kind)._repr_html_()
    assert result.plot(x="w", y="total").series == (("total", (1.5, None)),)
    with pytest.raises(OptionFault, match="pie"):
        result.plot(kind="pie")
    with pytest.raises(OptionFault, match="numbers"):
        Result(columns("a string"), []).plot()

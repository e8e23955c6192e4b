"""What a plan's result is called and typed, and what each name means where it stands."""

from __future__ import annotations

import pytest

from penstock.plan.names import columns_of
from penstock.plan.select import parse_select
from penstock.plan.spread import lateral_view
from penstock.plan.types import comparable, parse_columns, unknown_type
from penstock.schema import Schema

SCHEMAS: dict[str, Schema] = {
    "payments": parse_columns(
        "id STRING, card STRING, amount DECIMAL(12,2), tags ARRAY<STRING>, place STRUCT<city: STRING, lat: DOUBLE>, at TIMESTAMP"
    ),
    "cards": parse_columns("card STRING, country STRING"),
}


def columns(sql: str) -> str | None:
    schema = columns_of(parse_select(sql), lambda name: SCHEMAS.get(name.lower()))
    return None if schema is None else ", ".join(f"{column.name} {column.type}" for column in schema)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT card, amount FROM payments", "card string, amount decimal(12,2)"),
        ("SELECT * FROM cards", "card string, country string"),
        ("SELECT c.*, 1 AS one FROM cards AS c", "card string, country string, one int"),
        ("SELECT * FROM payments JOIN cards USING (card)", "card string, id string, amount decimal(12,2), tags array<string>, "
         "place struct<city:string,lat:double>, at timestamp, country string"),
        ("SELECT place.city, p.place.lat FROM payments p", "city string, lat double"),
        ("SELECT place.* FROM payments", "city string, lat double"),
        ("SELECT window, sum(amount) AS total, avg(amount) AS mean, count(*) AS n FROM payments GROUP BY window(at, '1 hour')",
         "window struct<start:timestamp,end:timestamp>, total decimal(22,2), mean decimal(16,6), n bigint"),
        ("SELECT window.start AS since, max(at) AS last FROM payments GROUP BY window(at, '1 hour')", "since timestamp, last timestamp"),
        ("SELECT cast(amount AS DOUBLE) AS d, upper(card) AS u FROM payments", "d double, u string"),
        ("SELECT tag FROM payments LATERAL VIEW explode(tags) t AS tag", "tag string"),
        ("SELECT card, row_number() OVER (PARTITION BY card ORDER BY at) AS n FROM payments", "card string, n int"),
        ("SELECT x.b FROM (SELECT amount AS b FROM payments) AS x", "b decimal(12,2)"),
        ("WITH w AS (SELECT card AS c FROM cards) SELECT c FROM w", "c string"),
        ("SELECT card FROM payments UNION ALL SELECT card FROM cards", "card string"),
        ("SELECT country FROM cards LEFT SEMI JOIN payments USING (card)", "country string"),
        ("SELECT collect_list(card) AS every FROM cards", "every array<string>"),
        ("SELECT * EXCEPT (country) FROM cards", "card string"),
        ("SELECT amount * 2 AS x FROM payments", "x unknown"),
        ("SELECT posexplode(tags) AS (i, tag), card FROM payments", "i unknown, tag unknown, card string"),
    ],
)  # fmt: skip
def test_the_columns_of_a_result_are_known_without_spark(sql: str, expected: str) -> None:
    assert columns(sql) == expected


@pytest.mark.parametrize(
    "sql", ["SELECT count(*) FROM cards", "SELECT * FROM elsewhere", "SELECT explode(tags) FROM payments", "SELECT * FROM range(10)"]
)
def test_where_only_spark_knows_a_name_nothing_is_claimed(sql: str) -> None:
    assert columns(sql) is None


def test_a_lateral_view_is_read_in_its_parts() -> None:
    view = lateral_view("LATERAL VIEW OUTER posexplode(split(a, ',')) t AS i, w")
    assert (view.call, view.table, view.columns) == ("posexplode(split(a, ','))", "t", ("i", "w"))
    bare = lateral_view("LATERAL VIEW explode(tags) AS tag")
    assert (bare.table, bare.columns) == (None, ("tag",))


def test_columns_keep_their_case_and_odd_names() -> None:
    assert parse_columns("`Größe cm` DOUBLE, userId BIGINT NOT NULL COMMENT 'who'").names == ("Größe cm", "userId")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("array<strin>", "strin"),
        ("struct<a:int,b:map<string,txt>>", "txt"),
        ("datetime", "datetime"),
        ("array<array<map<int,struct<a:int>>>>", None),
        ("decimal(12,2)", None),
        ("interval day to second", None),
        ("timestamp_ntz", None),
    ],
)
def test_unknown_types_are_named(text: str, wrong: str | None) -> None:
    assert unknown_type(text) == wrong


def test_only_what_spark_refuses_is_incomparable() -> None:
    assert not comparable("timestamp", "int")
    assert not comparable("boolean", "bigint")
    assert not comparable("array<int>", "string")
    assert comparable("string", "int")
    assert comparable("date", "timestamp")
    assert comparable("binary", "string")
    assert comparable("variant", "int")
    assert comparable("unknown", "array<int>")

"""What a plan's result is called and typed, and what each name means where it stands."""

from __future__ import annotations

import re

import pytest

from penstock.errors import SyntaxFault
from penstock.plan.expression.spread import lateral_view
from penstock.plan.expression.types import comparable, type_fault
from penstock.plan.model.declare import Stream
from penstock.plan.model.names import columns_of
from penstock.plan.sql.definition import parse_columns
from penstock.plan.sql.select import parse_select
from penstock.plan.sql.statements import parse_creates
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
        ("array<strin>", "there is no type `strin`"),
        ("struct<a:int,b:map<string,txt>>", "there is no type `txt`"),
        ("datetime", "there is no type `datetime`"),
        ("int primary key", "`int primary key` is not a type"),
        ("decimal(50,2)", "`decimal(50,2)` is not a type"),
        ("decimal(2,5)", "`decimal(2,5)` is not a type"),
        ("decimal(0)", "`decimal(0)` is not a type"),
        ("timestamp(9)", "`timestamp(9)` is not a type"),
        ("bigint(20)", "`bigint(20)` is not a type"),
        ("array<int> nonsense", "`array<int> nonsense` is not a type"),
        ("map<string>", "`map<string>` is not a type"),
        ("array", "`array` is not a type"),
    ],
)
def test_types_that_spark_refuses_are_named(text: str, wrong: str) -> None:
    fault = type_fault(text)
    assert fault is not None
    assert fault[0] == wrong


@pytest.mark.parametrize(
    "text",
    [
        "array<array<map<int,struct<a:int>>>>", "decimal(12,2)", "decimal", "dec(38)", "numeric(38,38)", "interval day to second", "interval",
        "timestamp_ntz", "time(3)", "string collate UNICODE_CI", "text", "varchar(20)", "variant", "geography(4326)",
        "struct<a:int NOT NULL,b:struct<c:string COMMENT 'x, y'> COMMENT 'z'>", "struct<comment:string,not:int,as:array<int>>",
    ],
)  # fmt: skip
def test_types_that_spark_reads_are_right(text: str) -> None:
    assert type_fault(text) is None


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("VARCHAR(20)", "string"), ("char(3)", "string"), ("CHARACTER (3)", "string"), ("array<varchar(5)>", "array<string>"),
        ("TIMESTAMP(3)", "timestamp"), ("TIMESTAMP_LTZ(6)", "timestamp"), ("TIMESTAMP_NTZ(3)", "timestamp_ntz"), ("TIMESTAMP(9)", "timestamp(9)"),
        ("struct<a varchar(3), b timestamp(3)>", "struct<a:string,b:timestamp>"),
    ],
)  # fmt: skip
def test_lengths_of_texts_and_fractions_of_seconds_are_what_spark_has_anyway(written: str, normal: str) -> None:
    assert parse_columns(f"c {written}").columns[0].type == normal


@pytest.mark.parametrize(
    "columns",
    [
        "place STRUCT<comment: STRING, not: INT, null: INT, default: INT, as: INT>, n INT",
        "`Größe cm` DOUBLE COMMENT 'wide', n BIGINT NOT NULL, m INT NULL COMMENT 'x' ",
        "ms BIGINT, at TIMESTAMP GENERATED ALWAYS AS (timestamp_millis(ms)), day DATE NOT NULL AS (to_date(at))",
    ],
)
def test_sql_and_python_read_columns_alike(columns: str) -> None:
    (create,) = parse_creates(f"CREATE STREAM s ({columns}) WITH (connector = 'files', path = 'in')", "app.sql")
    assert isinstance(create.declaration, Stream)
    assert parse_columns(columns) == create.declaration.schema


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id INT NOT NULL PRIMARY KEY", "a source has no keys"),
        ("id INT, PRIMARY KEY (id)", "a source has no keys"),
        ("id INT DEFAULT 5, n INT", "a source has no defaults"),
        ("id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS", 'event_time="at", lateness="5 seconds"'),
        ("id", "has no type"),
        ("id INT,, n INT", "a column is missing"),
    ],
)
def test_what_is_no_column_is_reported(columns: str, says: str) -> None:
    with pytest.raises(SyntaxFault, match=re.escape(says)):
        parse_columns(columns)


def test_only_what_spark_refuses_is_incomparable() -> None:
    assert not comparable("timestamp", "int")
    assert not comparable("boolean", "bigint")
    assert not comparable("array<int>", "string")
    assert comparable("string", "int")
    assert comparable("date", "timestamp")
    assert comparable("binary", "string")
    assert comparable("variant", "int")
    assert comparable("unknown", "array<int>")

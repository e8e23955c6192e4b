"""Spark's DDL, read."""

from __future__ import annotations

import pytest

from penstock.schema import Type, columns, parse_type


def test_names_keep_their_case_and_any_character() -> None:
    found = columns("id STRING, `Größe, netto` DECIMAL(12,2) NOT NULL, `tick``ed` int COMMENT 'a, b', w STRUCT<`Start`: TIMESTAMP, end: TIMESTAMP>")
    assert found.names == ("id", "Größe, netto", "tick`ed", "w")
    assert [column.type for column in found] == ["STRING", "DECIMAL(12,2)", "int", "STRUCT<`Start`: TIMESTAMP, end: TIMESTAMP>"]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("LONG", Type("bigint")),
        ("decimal", Type("decimal", (10, 0))),
        ("Decimal( 5 )", Type("decimal", (5, 0))),
        ("decimal(38,18)", Type("decimal", (38, 18))),
        ("varchar(10)", Type("string")),
        ("string collate UTF8_LCASE", Type("string")),
        ("interval day to second", Type("interval")),
        (
            "array<map<string,INT>>",
            Type(
                "array",
                (),
                (
                    (
                        "element",
                        Type("map", (), (("key", Type("string")), ("value", Type("int")))),
                    ),
                ),
            ),
        ),
        ("struct<`A b`: int, c:array<date>>", Type("struct", (), (("A b", Type("int")), ("c", Type("array", (), (("element", Type("date")),)))))),
        ("struct<>", Type("struct")),
    ],
)
def test_a_type_is_read_as_a_tree(text: str, tree: Type) -> None:
    assert parse_type(text) == tree

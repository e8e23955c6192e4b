"""Rows as people and programs read them."""

from __future__ import annotations

import json

import pytest

from penstock.change import Rows
from penstock.cli.rows import plain, print_json, print_table, shown
from penstock.schema import Column, Schema

SCHEMA = Schema((Column("name", "string"), Column("total", "decimal(12,2)")))


def answer(*rows: object) -> Rows:
    return Rows(SCHEMA, iter([json.dumps(row, ensure_ascii=False) for row in rows]))


def test_json_lines_are_printed_as_they_came(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_json(answer({"name": "é", "total": "1.50"})) == 1
    assert capsys.readouterr().out == '{"name": "é", "total": "1.50"}\n'


def test_json_of_several_views_carries_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(answer({"name": "a", "total": None}), view='by"name')
    assert json.loads(capsys.readouterr().out) == {"view": 'by"name', "row": {"name": "a", "total": None}}


def test_a_table_without_a_terminal_is_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(answer({"name": "long name", "total": "1.50"}, {"name": None, "total": "100.25"}), title="sums") == 2
    assert capsys.readouterr().out.splitlines() == [
        "sums",
        "name        total",
        "---------  ------",
        "long name    1.50",
        "NULL       100.25",
    ]


def test_an_empty_result_still_has_a_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(answer()) == 0
    assert capsys.readouterr().out.splitlines()[0] == "name  total"


def test_a_large_result_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_table(answer(*({"name": str(n), "total": "1"} for n in range(2_000)))) == 2_000
    assert len(capsys.readouterr().out.splitlines()) == 2_002


def test_wide_characters_keep_the_columns_aligned() -> None:
    lines = list(plain(SCHEMA, [["東京", "1"], ["ab", "2"]]))
    assert lines[2:] == ["東京      1", "ab        2"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "NULL"),
        (True, "true"),
        (3, "3"),
        ("2026-01-01T10:00:00.000Z", "2026-01-01T10:00:00Z"),
        ({"start": "2026-01-01T10:00:00.000Z", "end": "2026-01-01T11:00:00.000Z"}, "2026-01-01T10:00:00Z .. 2026-01-01T11:00:00Z"),
        ([1, "a"], '[1, "a"]'),
        ("two\nlines \x1b[31mred", "two\\nlines \\x1b[31mred"),
        ("x" * 300, "x" * 119 + "…"),
    ],
)
def test_values_are_shown_without_anything_that_moves_the_cursor(value: object, expected: str) -> None:
    assert shown(value) == expected

"""A semicolon ends a statement unless it is inside quotes or a comment."""

from __future__ import annotations

import pytest

from penstock.plan.sql.script import complete, first_word, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT 2;", ["SELECT ';'", "SELECT 2"]),
        ("SELECT 'it''s; fine', \"a;b\", `c;d`", ["SELECT 'it''s; fine', \"a;b\", `c;d`"]),
        (r"SELECT 'a\';b'; SELECT 2", [r"SELECT 'a\';b'", "SELECT 2"]),
        ("-- one; two\nSELECT 1 /* ; */; ", ["-- one; two\nSELECT 1 /* ; */"]),
        (";;  ; -- nothing", []),
        ("SELECT 4 - 2 / 1", ["SELECT 4 - 2 / 1"]),
        ("SELECT 'never closed; SELECT 2", ["SELECT 'never closed; SELECT 2"]),
        (r"SELECT r'\'; SELECT 2", [r"SELECT r'\'", "SELECT 2"]),
        ("SELECT /* a /* b; */ c; */ 1; SELECT 2", ["SELECT /* a /* b; */ c; */ 1", "SELECT 2"]),
    ],
)
def test_a_script_is_split_where_statements_end(text: str, expected: list[str]) -> None:
    assert list(split(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT 1; SELECT", False),
        ("", False),
        ("/* /* ; */ ;", False),
    ],
)
def test_a_statement_is_complete_when_its_semicolon_is_there(text: str, expected: bool) -> None:
    assert complete(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("select 1", "SELECT"), ("-- c\n  create view v", "CREATE"), ("(SELECT 1)", "SELECT"), ("/* only */", ""), ("DROP", "DROP")],
)
def test_the_first_word_is_found_after_comments_and_brackets(text: str, expected: str) -> None:
    assert first_word(text) == expected

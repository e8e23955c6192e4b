"""Tokens are Spark's, and a query is refused only when it is wrong."""

from __future__ import annotations

import pytest

from penstock.errors import SyntaxFault
from penstock.plan.expression.grammar import tables, validate_select
from penstock.plan.expression.tokens import tokens


def texts(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


def test_every_token_is_a_slice_of_the_text() -> None:
    text = "SELECT  'it''s', \"d\"\"q\", `a``b`, 1.5e3,\n 10L -- no ' token\n , r'\\d', é /* nor /* this */ ; */ <=> x->y"
    for token in tokens(text):
        assert text[token.start : token.end] == token.text
        assert token.line == text.count("\n", 0, token.start) + 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ('"d""q"', 'd"q'),
        (r"'it\'s'", "it's"),
        (r"'a\nb'", "a\nb"),
        (r"'\u00e9'", "é"),
        (r"r'\d+'", r"\d+"),
        (r"'100\%'", r"100\%"),
        ("`a``b`", "a`b"),
        ("'; -- /*'", "; -- /*"),
    ],
)
def test_values_are_unquoted_as_spark_does(text: str, value: str) -> None:
    (token,) = tokens(text)
    assert token.value == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 -- c \\\n, 2\n, 3", ["1", ",", "3"]),
        ("1 /* a /* b */ c */ 2", ["1", "2"]),
        ("SELECT /*+ BROADCAST(t) */ a", ["SELECT", "a"]),
        ("a.1b 1.5 .5 5. 1e3 2.3BD 1Y 0xFF", ["a", ".", "1b", "1.5", ".5", "5.", "1e3", "2.3BD", "1Y", "0xFF"]),
        ("a::int b<=>c x->y n=>1 a||b a!=b", ["a", "::", "int", "b", "<=>", "c", "x", "->", "y", "n", "=>", "1", "a", "||", "b", "a", "!=", "b"]),
        ("'a' 'b'", ["'a'", "'b'"]),
        ("a\u00a0b\u3000c", ["a", "b", "c"]),
        ("", []),
    ],
)
def test_words_are_cut_where_spark_cuts_them(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    "text", ["SELECT 'abc", 'SELECT "abc', "SELECT `abc", "SELECT 1 /* abc", "SELECT /* a /* b */ 1", "SELECT /*+ a('*/') */ 1", "SELECT /*+ a` */ 1"]
)
def test_what_does_not_end_plainly_is_a_fault(text: str) -> None:
    with pytest.raises(SyntaxFault):
        tokens(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t GROUP BY window(at, '1 hour'), b",
        "SELECT parse_json(x):a.b[0]::int FROM t",
        "SELECT count(*), count(DISTINCT a, b), sum(x) FILTER (WHERE y > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM t",
        "SELECT struct(a AS b, c), transform(x, y -> y + 1), aggregate(x, 0, (a, b) -> a + b), f(a => 1) FROM t",
        "SELECT if(a, b, c), left(a, 1), right(a, 2), replace(a, 'b', 'c'), 4 >>> 1, X '1F', a !> b FROM t",
        "SELECT trim(BOTH 'x' FROM y), position('a' IN b), substring(a FROM 1 FOR 2), overlay(a PLACING b FROM 1), extract(YEAR FROM d)",
        "SELECT * FROM t LEFT SEMI JOIN u USING (a) LATERAL VIEW OUTER explode(x) e AS y",
        "SELECT 'it''s', \"x\", 'a' 'b', r'\\d'",
        "SELECT x = ANY (SELECT 1), x LIKE ANY ('a', 'b') FROM t",
        "SELECT map('a', 1)['a'], CAST(map() AS MAP<INT, INT>), map(a) FROM t",  # how many arguments is for others to say
    ],
)
def test_spark_sql_is_never_refused(text: str) -> None:
    validate_select(text)


def test_a_wrong_query_is_underlined_where_it_goes_wrong() -> None:
    with pytest.raises(SyntaxFault) as caught:
        validate_select("SELECT a,\n  b c d\nFROM t", "app.sql", 10)
    assert str(caught.value.where) == "app.sql:11"
    assert str(caught.value.excerpt).splitlines() == ["   11 |   b c d", "              ^"]
    assert caught.value.hint


@pytest.mark.parametrize("text", ["CREATE TABLE x (a INT)", "SELECT 1; SELECT 2", "DROP TABLE x", "SELECT naïve FROM t", ""])
def test_only_one_query_is_a_query(text: str) -> None:
    with pytest.raises(SyntaxFault):
        validate_select(text)


def test_tables_finds_relations_wherever_they_stand() -> None:
    text = "WITH c AS (SELECT * FROM t) SELECT * FROM c, u WHERE EXISTS (SELECT 1 FROM a.b JOIN `x y` ON 1 = 1)"
    assert set(tables(text)) == {("t",), ("u",), ("a", "b"), ("x y",)}

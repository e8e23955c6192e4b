"""The clauses of SQL:2016 for row patterns, and Penstock's extensions: for each a query, and its conditions and measures as plain Python.

The functions share nothing with the engine; with `penstock.testing.brute`, which tries every way of mapping rows, they give the rows to expect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.testing.conformance.seen import Asked

MINUTE = 60_000_000
ROWS: Mapping[str | None, tuple[tuple[int, int | None], ...]] = {
    "a": ((1, 1), (2, 3), (3, 4), (4, 2), (5, 0), (6, 1), (7, 1), (9, 5), (10, 2), (11, None), (12, 3), (14, 1), (15, 4), (16, 4), (20, 1)),
    "b": ((1, 5), (2, 4), (3, 4), (5, 1), (6, 2), (7, 3), (8, 1), (12, 1), (13, 5), (14, 0), (15, 2), (16, 5)),
    "c": ((2, 1),),
    None: ((1, 2), (4, 1), (9, 5), (10, 1), (15, 3)),
}
"""The minute and the value of each row, by key."""


@dataclass(frozen=True)
class Clause:
    """`sql` stands behind PARTITION BY k ORDER BY at; a variable without a condition, and an asterisk, need no function."""

    name: str
    sql: str
    define: Mapping[str, Asked] = field(default_factory=dict)
    measures: Mapping[str, Asked] = field(default_factory=dict)


LOW_HIGH: Mapping[str, Asked] = {"a": lambda m: m.x < 2, "b": lambda m: m.x > 3}
_LH = "DEFINE a AS x < 2, b AS x > 3"
_SPAN: Mapping[str, Asked] = {"f": lambda m: m.of(m.first(), 0, "id"), "l": lambda m: m.of(m.last(), 0, "id")}
_S = "MEASURES first(id) AS f, last(id) AS l"
_SHOWN: Mapping[str, Asked] = {"c": lambda m: m.label, "n": lambda m: m.number, "s": lambda m: m.total()}
_C = "MEASURES classifier() AS c, match_number() AS n, sum(x) AS s"


def _span(name: str, sql: str, **define: Asked) -> Clause:
    """A pattern of which the first and the last row are asked."""
    return Clause(name, f"{_S} {sql}", define or LOW_HIGH, _SPAN)


def _rows(name: str, sql: str, **define: Asked) -> Clause:
    """A pattern of which all rows are asked, each with its variable, the number of its match, and a running sum."""
    return Clause(name, f"{_C} {sql}", define or LOW_HIGH, _SHOWN)


MEASURES = (
    Clause(
        "FIRST and LAST with offsets",
        "MEASURES first(a.x) AS p, first(a.id, 1) AS q, last(a.id, 2) AS r, last(x, 1) AS s, a.id AS t"
        " PATTERN (a{2,4} b) DEFINE a AS x < 4, b AS x > 3",
        {"a": lambda m: m.x < 4, "b": lambda m: m.x > 3},
        {
            "p": lambda m: m.of(m.first("a")),
            "q": lambda m: m.of(m.first("a", offset=1), 0, "id"),
            "r": lambda m: m.of(m.last("a", offset=2), 0, "id"),
            "s": lambda m: m.of(m.last(offset=1)),
            "t": lambda m: m.of(m.last("a"), 0, "id"),
        },
    ),
    Clause(
        "PREV and NEXT with offsets",
        f"MEASURES prev(a.x) AS p, prev(a.x, 2) AS q, next(b.x) AS r, prev(x, 0) AS s PATTERN (a b) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: m.of(m.last("a"), -1),
            "q": lambda m: m.of(m.last("a"), -2),
            "r": lambda m: m.of(m.last("b"), 1),
            "s": lambda m: m.of(m.last()),
        },
    ),
    Clause(
        "PREV and NEXT of FIRST and LAST",
        f"MEASURES prev(first(a.x, 1), 2) AS p, next(last(a.x, 1)) AS q, prev(last(x)) AS r PATTERN (a+ b) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: m.of(m.first("a", offset=1), -2),
            "q": lambda m: m.of(m.last("a", offset=1), 1),
            "r": lambda m: m.of(m.last(), -1),
        },
    ),
    Clause(
        "aggregates",
        "MEASURES count(*) AS p, count(a.*) AS q, count(x) AS r, sum(a.x + 1) AS s, avg(x) AS t, min(b.x) AS u, max(x) AS v"
        " PATTERN (a+ b+) DEFINE a AS x < 4 OR x IS NULL, b AS x > 1",
        {"a": lambda m: m.x is None or m.x < 4, "b": lambda m: m.x > 1},
        {
            "p": lambda m: len(m.places()),
            "q": lambda m: len(m.places("a")),
            "r": lambda m: len(m.values()),
            "s": lambda m: sum(value + 1 for value in m.values("a")) if m.values("a") else None,
            "t": lambda m: m.total() / len(m.values()),
            "u": lambda m: min(m.values("b"), default=None),
            "v": lambda m: max(m.values(), default=None),
        },
    ),
    Clause(
        "aggregates of distinct values and lists",
        f"MEASURES count(DISTINCT x) AS p, sum(DISTINCT a.x) AS q, collect_list(x) AS r, array_agg(classifier()) AS s PATTERN (a+ b+) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: len(set(m.values())),
            "q": lambda m: sum(set(m.values("a"))),
            "r": lambda m: m.values(),
            "s": lambda m: list(m.labels),
        },
    ),
    Clause(
        "an expression over several of them",
        "MEASURES last(b.x) - first(a.x) AS p, CASE WHEN count(a.*) > 1 THEN 'many' ELSE lower(upper(classifier())) END AS q,"
        f" b.at - first(a.at) < INTERVAL '2' MINUTE AS r, coalesce(prev(a.x), -1) * 10 + b.x AS s PATTERN (a+ b) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: m.of(m.last("b")) - m.of(m.first("a")),
            "q": lambda m: "many" if len(m.places("a")) > 1 else "b",
            "r": lambda m: m.of(m.last("b"), 0, "at") - m.of(m.first("a"), 0, "at") < 2 * MINUTE,
            "s": lambda m: (-1 if m.of(m.last("a"), -1) is None else m.of(m.last("a"), -1)) * 10 + m.of(m.last("b")),
        },
    ),
    Clause(
        "CLASSIFIER",
        "MEASURES classifier() AS p, first(classifier()) AS q, last(classifier(), 1) AS r, classifier(a) AS s, classifier(u) AS t"
        " PATTERN ((a | b | c){3}) SUBSET u = (a, b) DEFINE a AS x < 2, b AS x > 3",
        LOW_HIGH,
        {
            "p": lambda m: m.label,
            "q": lambda m: m.labels[0],
            "r": lambda m: m.labels[-2],
            "s": lambda m: "a" if m.places("a") else None,
            "t": lambda m: next((label for label in reversed(m.labels) if label in "ab"), None),
        },
    ),
    Clause(
        "MATCH_NUMBER",
        "MEASURES match_number() AS n, 10 * match_number() + a.x AS m PATTERN (a) DEFINE a AS x < 3",
        {"a": lambda m: m.x < 3},
        {"n": lambda m: m.number, "m": lambda m: 10 * (m.number or 0) + m.x},
    ),
    Clause(
        "RUNNING and FINAL",
        "MEASURES running sum(x) AS p, final sum(x) AS q, last(x) AS r, final last(x) AS s, running count(a.*) AS t, final count(a.*) AS u, b.x AS v,"
        f" final first(b.id) AS y ALL ROWS PER MATCH PATTERN (a+ b+) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: m.total(),
            "q": lambda m: m.final.total(),
            "r": lambda m: m.of(m.last()),
            "s": lambda m: m.of(m.final.last()),
            "t": lambda m: len(m.places("a")),
            "u": lambda m: len(m.final.places("a")),
            "v": lambda m: m.of(m.last("b")),
            "y": lambda m: m.of(m.final.first("b"), 0, "id"),
        },
    ),
    Clause(
        "FINAL in one row, and RUNNING in it",
        f"MEASURES final last(a.id) AS p, running last(a.id) AS q, running count(*) AS r PATTERN (a+ b) {_LH}",
        LOW_HIGH,
        {"p": lambda m: m.of(m.last("a"), 0, "id"), "q": lambda m: m.of(m.last("a"), 0, "id"), "r": lambda m: len(m.places())},
    ),
)
ROWS_PER_MATCH = (
    _span("ONE ROW PER MATCH", f"ONE ROW PER MATCH PATTERN (a b) {_LH}"),
    _rows("ONE ROW PER MATCH of an empty match", "ONE ROW PER MATCH PATTERN (b*) DEFINE b AS x > 3", b=lambda m: m.x > 3),
    _rows("ALL ROWS PER MATCH", f"ALL ROWS PER MATCH PATTERN (a+ b+) {_LH}"),
    _rows("ALL ROWS PER MATCH with an empty match", "ALL ROWS PER MATCH PATTERN (b*) DEFINE b AS x > 3", b=lambda m: m.x > 3),
    _rows("SHOW EMPTY MATCHES", "ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (b*) DEFINE b AS x > 3", b=lambda m: m.x > 3),
    _rows("OMIT EMPTY MATCHES", "ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (b*) DEFINE b AS x > 3", b=lambda m: m.x > 3),
    _rows("WITH UNMATCHED ROWS", f"ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (a b) {_LH}"),
    _rows("WITH UNMATCHED ROWS and empty matches", "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (b*) DEFINE b AS x > 3", b=lambda m: m.x > 3),
    _rows("ALL ROWS of matches that overlap", f"ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (a c b*) {_LH}"),
)
SKIPS = (
    _span("no AFTER MATCH", "PATTERN (a+) DEFINE a AS x > 1", a=lambda m: m.x > 1),
    _span("SKIP PAST LAST ROW", "AFTER MATCH SKIP PAST LAST ROW PATTERN (a b c) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _span("SKIP TO NEXT ROW", "AFTER MATCH SKIP TO NEXT ROW PATTERN (a b c) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _span("SKIP TO FIRST", "AFTER MATCH SKIP TO FIRST b PATTERN (a b b c) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _span("SKIP TO LAST", "AFTER MATCH SKIP TO LAST b PATTERN (a b b c) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _span("SKIP TO a variable", "AFTER MATCH SKIP TO b PATTERN (a b b c) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _span(
        "SKIP TO a subset",
        "AFTER MATCH SKIP TO FIRST u PATTERN (a b c b) SUBSET u = (b, c) DEFINE a AS x < 3",
        a=lambda m: m.x < 3,
    ),
    _span("SKIP after an empty match", f"AFTER MATCH SKIP PAST LAST ROW PATTERN ((a b)*) {_LH}"),
)
PATTERNS = (
    _rows("concatenation", f"PATTERN (a b c) {_LH}"),
    _rows(
        "alternation prefers the left",
        "ALL ROWS PER MATCH PATTERN (a | b | c) DEFINE a AS x > 3, b AS x > 1",
        a=lambda m: m.x > 3,
        b=lambda m: m.x > 1,
    ),
    _rows("alternation of sequences", f"ALL ROWS PER MATCH PATTERN ((a b) | (a c) | b) {_LH}"),
    _rows("groups", f"ALL ROWS PER MATCH PATTERN ((a c){{2}} b?) {_LH}"),
    _rows("the empty pattern", "ALL ROWS PER MATCH PATTERN (() a?) DEFINE a AS x < 2", a=lambda m: m.x < 2),
    _rows("* is greedy", "ALL ROWS PER MATCH PATTERN (a* b) DEFINE a AS x < 4, b AS x > 1", a=lambda m: m.x < 4, b=lambda m: m.x > 1),
    _rows("*? is reluctant", "ALL ROWS PER MATCH PATTERN (a*? b) DEFINE a AS x < 4, b AS x > 1", a=lambda m: m.x < 4, b=lambda m: m.x > 1),
    _rows("+", f"ALL ROWS PER MATCH PATTERN (a+ b+) {_LH}"),
    _rows("+?", "ALL ROWS PER MATCH PATTERN (c a+? b) DEFINE a AS x < 5, b AS x > 1", a=lambda m: m.x < 5, b=lambda m: m.x > 1),
    _rows("?", f"ALL ROWS PER MATCH PATTERN (a b? c) {_LH}"),
    _rows("??", f"ALL ROWS PER MATCH PATTERN (a b?? c) {_LH}"),
    _rows("{n}", "ALL ROWS PER MATCH PATTERN (a{3}) DEFINE a AS x > 0", a=lambda m: m.x > 0),
    _rows("{n,}", "ALL ROWS PER MATCH PATTERN (a{2,}) DEFINE a AS x > 1", a=lambda m: m.x > 1),
    _rows("{,m}", "ALL ROWS PER MATCH PATTERN (a{,2} b) DEFINE a AS x < 3", a=lambda m: m.x < 3),
    _rows("{n,m}", "ALL ROWS PER MATCH PATTERN (a{2,3}) DEFINE a AS x > 0", a=lambda m: m.x > 0),
    _rows("{n,m}?", "ALL ROWS PER MATCH PATTERN (a{1,3}? b) DEFINE a AS x > 0, b AS x > 2", a=lambda m: m.x > 0, b=lambda m: m.x > 2),
    _rows(
        "a repeated group with alternatives",
        "ALL ROWS PER MATCH PATTERN ((a | c+ b)+? b) DEFINE a AS x < 2, b AS x > 3, c AS x > 1",
        a=lambda m: m.x < 2,
        b=lambda m: m.x > 3,
        c=lambda m: m.x > 1,
    ),
    _rows("exclusion", f"ALL ROWS PER MATCH PATTERN (a {{- c+? -}} b) {_LH}"),
    _rows("exclusion of a group that repeats", f"ALL ROWS PER MATCH PATTERN (({{- a -}} c)+ {{- b -}}) {_LH}"),
    _rows("exclusion in one row", f"PATTERN (a {{- c*? -}} b) {_LH}"),
    _rows("^", "ALL ROWS PER MATCH PATTERN (^ a b) DEFINE a AS x < 6", a=lambda m: m.x < 6),
    _rows("$", "ALL ROWS PER MATCH PATTERN (a b $) DEFINE a AS x < 6", a=lambda m: m.x < 6),
    _rows("PERMUTE", "ALL ROWS PER MATCH PATTERN (PERMUTE(a, b, c)) DEFINE a AS x < 3, b AS x > 3", a=lambda m: m.x < 3, b=lambda m: m.x > 3),
    _rows("PERMUTE of what repeats", f"ALL ROWS PER MATCH PATTERN (PERMUTE(a+, (b c)?)) {_LH}"),
    Clause(
        "SUBSET",
        f"MEASURES first(u.id) AS p, last(u.id, 1) AS q, count(u.*) AS r, sum(v.x) AS s PATTERN (a b+ c) SUBSET u = (a, b), v = (b, c) {_LH}",
        LOW_HIGH,
        {
            "p": lambda m: m.of(m.first("a", "b"), 0, "id"),
            "q": lambda m: m.of(m.last("a", "b", offset=1), 0, "id"),
            "r": lambda m: len(m.places("a", "b")),
            "s": lambda m: m.total("b", "c"),
        },
    ),
)
DEFINES = (
    _rows("a variable without a condition", "ALL ROWS PER MATCH PATTERN (z a) DEFINE a AS x > 3", a=lambda m: m.x > 3),
    _rows("a condition with PREV", "ALL ROWS PER MATCH PATTERN (s a{2,}) DEFINE a AS x > prev(x)", a=lambda m: m.x > m.of(m.last(), -1)),
    _rows(
        "a condition with PREV of its variable",
        "ALL ROWS PER MATCH PATTERN (a+) DEFINE a AS a.x < prev(a.x, 2)",
        a=lambda m: m.x < m.of(m.last(), -2),
    ),
    _rows("a condition with NEXT", "ALL ROWS PER MATCH PATTERN (a+ b) DEFINE a AS next(x) > x", a=lambda m: m.coming() > m.x),
    _rows("a condition on another variable", "ALL ROWS PER MATCH PATTERN (a b+) DEFINE b AS b.x > a.x", b=lambda m: m.x > m.of(m.last("a"))),
    _rows(
        "a condition with FIRST and LAST",
        "ALL ROWS PER MATCH PATTERN (a b+) DEFINE b AS x <> last(x, 1) AND x <= first(a.x) + 2",
        b=lambda m: m.x != m.of(m.last(offset=1)) and m.x <= m.of(m.first("a")) + 2,
    ),
    _rows(
        "a condition with PREV of LAST",
        "ALL ROWS PER MATCH PATTERN (a b c+) DEFINE c AS x >= prev(last(b.x), 1)",
        c=lambda m: m.x >= m.of(m.last("b"), -1),
    ),
    _rows("a condition with an aggregate", "ALL ROWS PER MATCH PATTERN (a+ b) DEFINE a AS sum(a.x) < 7", a=lambda m: m.total("a") < 7),
    _rows(
        "a condition with aggregates of others",
        "ALL ROWS PER MATCH PATTERN (a{2,} b) DEFINE a AS count(*) <= 4, b AS x > avg(a.x) AND x >= max(a.x)",
        a=lambda m: len(m.places()) <= 4,
        b=lambda m: m.x > m.total("a") / len(m.values("a")) and m.x >= max(m.values("a")),
    ),
    _rows(
        "a condition with a subset",
        "ALL ROWS PER MATCH PATTERN (a b c) SUBSET u = (a, b) DEFINE c AS x > min(u.x) AND x <> last(u.x)",
        c=lambda m: m.x > min(m.values("a", "b")) and m.x != m.of(m.last("a", "b")),
    ),
    _rows(
        "a condition with CLASSIFIER",
        "ALL ROWS PER MATCH PATTERN ((a | b){2,3} c) DEFINE a AS x > 1, c AS last(classifier(), 1) = 'a' AND first(classifier()) = 'b'",
        a=lambda m: m.x > 1,
        c=lambda m: list(m.labels)[-2:-1] == ["a"] and m.labels[0] == "b",
    ),
    _rows(
        "a condition with MATCH_NUMBER",
        "ALL ROWS PER MATCH PATTERN (a+) DEFINE a AS x > match_number()",
        a=lambda m: m.x > m.number,
    ),
    _rows(
        "a condition with CASE, IN, BETWEEN, LIKE and intervals",
        "ALL ROWS PER MATCH PATTERN (a b) DEFINE b AS CASE WHEN a.x IN (1, 2) THEN x BETWEEN a.x AND 4 ELSE concat(x, '') LIKE '5%' END"
        " AND b.at - a.at <= INTERVAL '1' MINUTE",
        b=lambda m: (
            (m.of(m.last("a")) <= m.x <= 4 if m.of(m.last("a")) in (1, 2) else m.x == 5)
            and m.of(m.last("b"), 0, "at") - m.of(m.last("a"), 0, "at") <= MINUTE
        ),
    ),
    _rows("a condition that is null does not hold", "ALL ROWS PER MATCH PATTERN (a+) DEFINE a AS NOT x > 3", a=lambda m: not m.x > 3),
)
EXTENSIONS = (
    _rows("WITHIN, its time included", f"ALL ROWS PER MATCH PATTERN (a c* b) WITHIN INTERVAL '3' MINUTE {_LH}"),
    _rows("WITHIN and a greedy loop", "ALL ROWS PER MATCH PATTERN (a c*) WITHIN INTERVAL '2' MINUTE DEFINE a AS x < 2", a=lambda m: m.x < 2),
    _rows("NOT: no such row in time", f"PATTERN (a NOT b) WITHIN INTERVAL '3' MINUTE {_LH}"),
    _rows("NOT NEXT: the next row is no such row", f"PATTERN (a NOT NEXT b) {_LH}"),
    _span("ONE ROW PER TIMED OUT MATCH", f"ONE ROW PER TIMED OUT MATCH PATTERN (a c{{2}} b) WITHIN INTERVAL '4' MINUTE {_LH}"),
    _span("ONE ROW PER EVERY MATCH", f"ONE ROW PER EVERY MATCH PATTERN (a c*? b) WITHIN INTERVAL '10' MINUTE {_LH}"),
)
SECTIONS: Mapping[str, tuple[Clause, ...]] = {
    "MEASURES": MEASURES,
    "Rows per match": ROWS_PER_MATCH,
    "AFTER MATCH": SKIPS,
    "PATTERN and SUBSET": PATTERNS,
    "DEFINE": DEFINES,
    "Beyond the standard": EXTENSIONS,
}
CLAUSES = tuple(clause for section in SECTIONS.values() for clause in section)

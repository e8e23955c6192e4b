"""The rows that a clause gives by its definition: every way of mapping rows is tried, the measures are plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from penstock.plan.model.matching import lookahead, taken_apart
from penstock.plan.model.nodes import Operate, walk
from penstock.plan.model.pattern import Pattern
from penstock.plan.sql.select import parse_select
from penstock.testing.brute import Brute, Found, Rows
from penstock.testing.conformance.clauses import MINUTE, ROWS, Clause
from penstock.testing.conformance.seen import Asked, Seen, asked

Row = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


def given() -> list[Row]:
    """The rows of the stream, by their time."""
    ids = iter(range(1, 1000))
    rows = [{"k": key, "at": minute * MINUTE, "x": x, "id": next(ids)} for key, every in ROWS.items() for minute, x in every]
    return sorted(rows, key=lambda row: (row["at"], row["id"]))


def query(clause: Clause) -> str:
    """The whole query of a clause, over the stream `t`."""
    return f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at {clause.sql})"


def pattern_of(clause: Clause) -> Pattern:
    return next(part.pattern for part in walk(parse_select(query(clause))) if isinstance(part, Operate) and part.pattern is not None)


def expected(clause: Clause, upto: int, *, final: bool = False) -> list[Row]:
    """What the view holds when the watermark stands at `upto`, in microseconds."""
    pattern = pattern_of(clause)
    matching = taken_apart(pattern)
    found: list[Row] = []
    for key in ROWS:
        rows = [row for row in given() if row["k"] == key and (final or row["at"] <= upto)]
        conditions: dict[str, Callable[[Rows, int, Sequence[str]], Any]] = {}
        brute = Brute(pattern, conditions, rows, upto, final, matching.within, lookahead(matching))
        conditions |= {name: partial(_holds, clause.define[name], pattern, brute) for name, _ in pattern.define}
        result = brute.run()
        found += [row for match in (result.partial if pattern.timed_out else result.matches) for row in _shown(clause, pattern, rows, match)]
        if pattern.unmatched:
            found += [{**rows[row], **dict.fromkeys(clause.measures)} for row in result.unmatched]
    return found


def _holds(call: Asked, pattern: Pattern, brute: Brute, rows: Rows, start: int, labels: Sequence[str]) -> Any:
    return asked(call, Seen(rows, start, labels, labels, brute.number, pattern.subsets))


def _shown(clause: Clause, pattern: Pattern, rows: Sequence[Row], match: Found) -> Iterator[Row]:
    """The rows that a match gives."""
    labels = [label for label, _ in match.mapped]

    def measured(upto: int) -> Row:
        seen = Seen(rows, match.start, labels[:upto], labels, match.number or None, pattern.subsets)
        return {name: asked(call, seen) for name, call in clause.measures.items()}

    if not pattern.all_rows:
        yield {"k": rows[match.start]["k"], **measured(len(labels))}
        return
    if not labels and pattern.show_empty:
        yield {**rows[match.start], **measured(0)}
    for place, (_, left_out) in enumerate(match.mapped):
        if not left_out:
            yield {**rows[match.start + place], **measured(place + 1)}

"""Forms of other databases that sqlglot, which is asked whether a SELECT is well formed, takes and Spark refuses."""

from __future__ import annotations

from penstock.errors import PlanFault
from penstock.plan.passage import Passage
from penstock.plan.words import AGGREGATES

_VERSIONS = ("system_time", "system_version", "timestamp", "version")


def refuse_foreign(passage: Passage, low: int, high: int) -> None:
    """PlanFault for a form that Spark does not have; the hint says what to write instead."""
    for index in range(low, high):
        if passage.word(index, high, "limit"):
            _limit(passage, index, high)
        elif passage.word(index, high, "distinct"):
            _distinct_on(passage, index, high)
        elif passage.word(index, high, "for"):
            _past_version(passage, index, high)
        elif passage.word(index, high, *AGGREGATES) and passage.is_op(index + 1, high, "("):
            _sorted_aggregate(passage, index, high)


def _limit(passage: Passage, index: int, high: int) -> None:
    """LIMIT 5, 10."""
    numbers = index + 3 < high and passage.tokens[index + 1].kind == passage.tokens[index + 3].kind == "number"
    if numbers and passage.is_op(index + 2, high, ",") and passage.opens_clause(index):
        skipped, kept = passage.tokens[index + 1].text, passage.tokens[index + 3].text
        raise passage.fault("LIMIT takes one number", index, index + 4, f"LIMIT {kept} OFFSET {skipped}", PlanFault)


def _distinct_on(passage: Passage, index: int, high: int) -> None:
    """SELECT DISTINCT ON (k)."""
    if passage.word(index - 1, high, "select") and passage.word(index + 1, high, "on") and passage.is_op(index + 2, high, "("):
        keys = passage.slice(index + 3, passage.close(index + 2, high))
        hint = f"one row per key: QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY ...) = 1, or max_by(x, at) with GROUP BY {keys}"
        raise passage.fault("Spark has no DISTINCT ON", index, index + 2, hint, PlanFault)


def _past_version(passage: Passage, index: int, high: int) -> None:
    """JOIN t FOR SYSTEM_TIME AS OF s.at."""
    if passage.word(index + 1, high, *_VERSIONS) and passage.word(index + 2, high, "as") and passage.word(index + 3, high, "of"):
        hint = "leave it out: a table is read as it is now; rows that hold for a time can be joined ON s.at BETWEEN t.begins AND t.ends"
        raise passage.fault("tables have no versions of the past here", index, index + 4, hint, PlanFault)


def _sorted_aggregate(passage: Passage, index: int, high: int) -> None:
    """STRING_AGG(id, ',' ORDER BY at)."""
    close = passage.close(index + 1, high)
    if close == index + 2 or passage.word(index + 2, high, "select", "with", "from"):
        return
    at = next((i for i in passage.top(index + 2, close) if passage.word(i, close, "order") and passage.word(i + 1, close, "by")), None)
    if at is None:
        return
    name = passage.tokens[index].text
    arguments, order = passage.slice(index + 2, at), passage.slice(at, close)
    hint = f"sort what it gives: sort_array({name}({arguments})), or array_sort with a comparison"
    if name.lower() in ("string_agg", "listagg"):
        hint = f"listagg({arguments}) WITHIN GROUP ({order})"
    raise passage.fault(f"{name} takes no ORDER BY among its arguments", at, close, hint, PlanFault)

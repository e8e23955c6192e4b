"""What sqlglot, which is asked whether a SELECT is well formed, takes and Spark refuses: forms of other databases, and missing operands."""

from __future__ import annotations

from penstock.errors import PlanFault
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.words import AGGREGATES

_NESTED = ("array", "map", "struct")
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
        elif passage.word(index, high, "window"):
            _window_clause(passage, index, high)
        elif passage.word(index, high, *AGGREGATES) and passage.is_op(index + 1, high, "("):
            _sorted_aggregate(passage, index, high)


def _window_clause(passage: Passage, index: int, high: int) -> None:
    """ksqlDB's WINDOW TUMBLING (SIZE 1 HOUR) before GROUP BY."""
    if not passage.word(index + 1, high, "tumbling", "hopping", "session") or not passage.is_op(index + 2, high, "("):
        return
    close = passage.close(index + 2, high)
    spans = [_duration(passage, *part) for part in passage.split(index + 3, close)]
    spans = [span for span in spans if span]
    function = "session_window" if passage.word(index + 1, high, "session") else "window"
    called = f"{function}(at, {', '.join(spans)})"
    groups = "GROUP BY " if passage.word(close + 1, high, "group") else "GROUP BY ..., "
    hint = f"group by it: {groups}{called}, ... with the stream's event time for `at`; its bounds are {function}.start and {function}.end"
    raise passage.fault(f"WINDOW {passage.tokens[index + 1].text.upper()} is not known here", index, close + 1, hint, PlanFault)


def _duration(passage: Passage, low: int, high: int) -> str:
    """`SIZE 1 HOUR`, `ADVANCE BY 10 MINUTES` or `5 MINUTES` as a duration; empty for RETENTION and GRACE PERIOD."""
    if passage.word(low, high, "retention", "grace"):
        return ""
    number = next((at for at in range(low, high) if passage.tokens[at].kind == "number"), low)
    return f"'{passage.slice(number, high).lower()}'"


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


def require_operands(passage: Passage, low: int, high: int) -> None:
    """SyntaxFault for two marks in a row that want something between them: sqlglot reads `a > > 5` as a shift and `f(a,, b)` as `f(a, b)`."""
    angles = 0  # of types, whose closing ones may follow one another: ARRAY<ARRAY<INT> >
    for index in range(low, high - 1):
        text, after = passage.tokens[index].text, passage.tokens[index + 1].text
        opens = passage.is_op(index, high, "<") and passage.word(index - 1, high, *_NESTED)
        torn = text == after == ">" and angles < 2 and passage.tokens[index].end < passage.tokens[index + 1].start
        if torn or (passage.is_op(index, high, ",") and after in (",", ")", "]")):
            raise passage.fault("something is missing between these two", index, index + 2, "is one of them too many?")
        angles = max(0, angles + opens - passage.is_op(index, high, ">"))

"""The one window function of a FROM clause whose windows may as well be made above it, from the time that its rows carry along.

FROM TUMBLE(TABLE s, DESCRIPTOR(at), ...) JOIN t USING (k)  GROUP BY window_start, window_end, t.name
FROM s JOIN t USING (k)                                     GROUP BY window(s.at, ...), t.name
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import PlanFault
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.passage import Passage
from penstock.plan.model.nodes import Item
from penstock.plan.model.terms import is_group, written
from penstock.plan.sql.from_clause import alias, join_words
from penstock.plan.sql.window_functions import Windowed, names_window, read

_BEFORE = ("semi", "anti", "left", "full")  # on their right side its rows are not seen, or may lack a time
_AFTER = ("right", "full")  # and so they may on the left side of these


def only(passage: Passage, low: int, high: int) -> Windowed | None:
    """The window function of a FROM clause; None where there are several, or where a join must know its windows."""
    marks = [index for index in passage.top(low, high) if passage.is_op(index, high, ",") or passage.word(index, high, "join")]
    found = [(mark, windowed) for mark in (low - 1, *marks) if (windowed := read(passage, mark + 1, high)) is not None]
    if len(found) != 1:
        return None
    mark, windowed = found[0]
    name, columns, after = alias(passage, windowed.next, high)
    windowed = replace(windowed, name=name or _source_name(passage, windowed))
    if columns:
        return None
    if mark < low and after >= high:
        return windowed
    later = [join for join in marks if join >= after]
    if not _keeps_times(passage, mark, later, low) or _says_of_windows(passage, low, mark, after, high):
        return None
    return replace(_qualified(windowed), joined=True)


def _source_name(passage: Passage, windowed: Windowed) -> str | None:
    low, high = windowed.source
    return passage.tokens[low].value if high == low + 1 and passage.tokens[low].is_name else None


def _keeps_times(passage: Passage, mark: int, later: list[int], low: int) -> bool:
    """Whether every row that the joins give has the time of a row of the window function."""
    before = set(join_words(passage, low, mark)) & set(_BEFORE)
    return not before and not any(set(join_words(passage, low, join)) & set(_AFTER) for join in later)


def _says_of_windows(passage: Passage, low: int, mark: int, after: int, high: int) -> bool:
    """Whether the rest of the clause, a condition of a join for one, names a column of the window."""
    rest = (passage.slice(low, mark + 1), passage.slice(after, high))
    return any(names_window(ref) for text in rest for ref in parsed(text).columns)


def _qualified(windowed: Windowed) -> Windowed:
    """The window over the time of its own relation, for another may have a column of that name."""
    if windowed.name is None:
        return windowed
    bare = [ref for ref in parsed(windowed.text).columns if len(ref.parts) == 1]
    return replace(windowed, text=substitute(windowed.text, ((ref.start, ref.start, f"{written(windowed.name)}.") for ref in bare)))


def groups_of_all(items: tuple[Item, ...]) -> tuple[str, ...]:
    """What GROUP BY ALL groups by: the items that aggregate nothing. Empty where only Spark knows, as of an item that mixes both."""
    plain = [item.text for item in items if not parsed(item.text).aggregates and parsed(item.text).columns]
    unclear = any(parsed(item.text).star is not None or parsed(item.text).has_window_function or _mixes(item.text) for item in items)
    return () if unclear else tuple(plain)


def _mixes(text: str) -> bool:
    calls = parsed(text).aggregates
    return bool(calls) and not all(any(call.start <= ref.start < call.end for call in calls) for ref in parsed(text).columns)


def require_own_session(passage: Passage, windowed: Windowed, groups: tuple[str, ...]) -> None:
    """PlanFault where a session would not be Flink's: Spark makes one for each of the other groups, of the rows that are left."""
    if windowed.column != "session_window":
        return
    place = (windowed.place, windowed.place + 1)
    if windowed.joined:
        hint = "group the session in a subquery or a view of its own, and join that"
        raise passage.fault("a session is made before the join, and cannot be grouped above it", *place, hint, PlanFault)
    more = [group for group in groups if not windowed.is_window(group) and not any(is_group(part, group) for part in windowed.partition)]
    if more:
        every, partition = ", ".join((*windowed.partition, *more)), ", ".join(windowed.partition)
        whose = f"of each {partition}" if partition else "of all rows"
        hint = f"write SESSION(TABLE ... PARTITION BY {every}, ...), or take {', '.join(more)} out of GROUP BY"
        raise passage.fault(f"these are sessions {whose}, and cannot be grouped by {', '.join(more)} too", *place, hint, PlanFault)

"""One SELECT block: its clauses, its items, its groups, and the plan they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from penstock.plan.expression.columns import is_keyword, not_expression
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.nodes import Aggregate, Distinct, Filter, Item, Node, Project
from penstock.plan.model.terms import in_sets, no_ordinal, unaliased
from penstock.plan.sql.aliases import stand_ins
from penstock.plan.sql.from_clause import from_clause
from penstock.plan.sql.reading import NotUnderstood, Reading
from penstock.plan.sql.window_from import groups_of_all, only, require_own_session
from penstock.plan.sql.window_functions import Windowed
from penstock.plan.sql.window_where import divided

Range = tuple[int, int]
QUALIFIES = "__qualifies"


@dataclass(frozen=True)
class Clauses:
    """Where the clauses of a block stand; an absent one is None."""

    low: int
    distinct: bool
    items: Range
    parts: dict[str, Range] = field(default_factory=dict)

    def ranges(self, name: str) -> list[Range]:
        """Where a clause stands, in a list that is empty where there is none."""
        return [self.parts[name]] if name in self.parts else []

    @classmethod
    def find(cls, passage: Passage, low: int, high: int) -> Clauses:
        """The clauses of the SELECT at `low`; NotUnderstood where they are unknown or out of order."""
        distinct = passage.word(low + 1, high, "distinct")
        begin = low + 1 + (distinct or passage.word(low + 1, high, "all"))
        marks = [(index, name) for index in passage.top(low, high) if index >= begin and (name := _clause(passage, index, high))]
        order = ["from", "where", "group", "having", "window", "qualify"]
        names = [name for _, name in marks]
        if names != sorted(set(names), key=order.index):
            raise NotUnderstood("clauses in this order")
        ends = [*(index for index, _ in marks[1:]), high][: len(marks)]
        first = marks[0][0] if marks else high
        if begin >= first:
            raise passage.fault("the select list is empty", low, low + 1, "name the columns, or write *")
        parts = {name: (index + (2 if name == "group" else 1), end) for (index, name), end in zip(marks, ends, strict=True)}
        for name, (start, end) in parts.items():
            if start >= end:
                raise passage.fault(f"nothing follows {name.upper()}", start - 1, start)
        return cls(low, distinct, (begin, first), parts)


def _clause(passage: Passage, index: int, high: int) -> str | None:
    token = passage.tokens[index]
    if token.kind != "word" or (index and passage.is_op(index - 1, high, ".")):
        return None
    word = token.text.lower()
    if word == "from":
        # `a IS DISTINCT FROM b` is a comparison
        return None if passage.word(index - 1, high, "distinct") and passage.word(index - 2, high, "is", "not") else word
    if word == "group":
        return word if passage.word(index + 1, high, "by") else None
    if word == "window":
        named = index + 3 < high and passage.tokens[index + 1].is_name and passage.word(index + 2, high, "as") and passage.is_op(index + 3, high, "(")
        return word if named and passage.opens_clause(index) else None
    return word if word in ("where", "having", "qualify") and passage.opens_clause(index) else None


def block(reading: Reading, clauses: Clauses) -> Node:
    """The plan of one SELECT without its ORDER BY and LIMIT."""
    passage, where = reading.passage, reading.passage.where(clauses.low)
    subs: list[Node] = []
    windows = named_windows(passage, clauses)
    read = (_item(reading, low, high, subs) for low, high in passage.split(*clauses.items))
    items = tuple(Item(over(item.text, windows), item.name) for item in read)
    if "group" in clauses.parts:
        items = tuple(map(no_ordinal, items))
    aggregated = any(name in clauses.parts for name in ("group", "having")) or any(parsed(item.text).aggregates for item in items)
    written = _groups(reading, clauses, items, subs)
    plain = _Grouped(*stand_ins(*written, items, is_column=lambda name: None), clauses.ranges("where"))
    found = _windowed(passage, clauses, items, plain) if aggregated and "from" in clauses.parts else plain
    source = from_clause(reading, *clauses.parts["from"], bare=found.window is not None) if "from" in clauses.parts else None
    if source is None and (aggregated or "where" in clauses.parts):
        raise NotUnderstood("aggregates without FROM")  # SELECT count(*) without FROM: Spark knows what it means
    if source is not None and found.where:
        source = _filtered(reading, clauses, source, found.where)
    having = _asked([reading.scalar(*part, subs) for part in [*found.of_windows, *clauses.ranges("having")]])
    shown, items = items, (*items, *_qualified(reading, clauses, items, windows, subs))
    node: Node = Project(source, items, tuple(subs), where=where)
    if aggregated and source is not None:
        node = Aggregate(source, found.groups, items, having, found.grouping, tuple(subs), where=where, written=written)
        node = node if found.window is None else found.window.aggregate(node)
    if items != shown:
        node = Project(Filter(node, QUALIFIES, where=where), (Item(f"* EXCEPT ({QUALIFIES})"),), where=where)
    return Distinct(node, where=where) if clauses.distinct else node


def _qualified(reading: Reading, clauses: Clauses, items: tuple[Item, ...], windows: Mapping[str, str], subs: list[Node]) -> list[Item]:
    """QUALIFY as a hidden column beside the others, so that a filter above can ask it."""
    found: list[Item] = []
    for part in clauses.ranges("qualify"):
        text = over(reading.scalar(*part, subs), windows)
        computed = tuple(item for item in items if parsed(item.text).has_window_function or parsed(item.text).aggregates)
        plain = {
            item.name.lower() for item in items if item.name is not None and item not in computed and parsed(item.text).column[-1:] != (item.name,)
        }
        if "group" in clauses.parts and reading.passage.slice(*clauses.parts["group"]).lower() == "all":
            raise NotUnderstood("QUALIFY beside GROUP BY ALL")
        if not any(parsed(part).has_window_function for part in (text, *(item.text for item in computed))):
            raise NotUnderstood("QUALIFY without a window function")
        if any(ref.parts[0].lower() in plain for ref in parsed(text).columns):
            raise NotUnderstood("QUALIFY over a name that may also be a column's")
        found.append(Item(unaliased(text, computed), QUALIFIES))
    return found


def _filtered(reading: Reading, clauses: Clauses, source: Node, conditions: list[Range]) -> Filter:
    subs: list[Node] = []
    condition = " AND ".join(reading.scalar(*part, subs) for part in conditions)
    return Filter(source, condition, tuple(subs), where=reading.passage.where(clauses.parts["where"][0] - 1))


def _asked(conditions: list[str]) -> str | None:
    return " AND ".join(f"({text})" for text in conditions) if len(conditions) > 1 else "".join(conditions) or None


@dataclass(frozen=True)
class _Grouped:
    """GROUP BY and WHERE of a block: where it reads a window function, the conditions on windows, which HAVING has to ask, stand apart."""

    groups: tuple[str, ...]
    grouping: str | None
    where: list[Range]
    of_windows: list[Range] = field(default_factory=list)
    window: Windowed | None = None


def _windowed(passage: Passage, clauses: Clauses, items: tuple[Item, ...], plain: _Grouped) -> _Grouped:
    """The same where the block groups by the window of TUMBLE, HOP or SESSION that is its FROM; as it is where it does not."""
    window = only(passage, *clauses.parts["from"])
    if window is None:
        return plain
    if (plain.grouping or "").lower() == "all" and window.grouped(groups_of_all(items)):
        plain = replace(plain, groups=groups_of_all(items), grouping=None)
    if plain.grouping is not None or not window.grouped(plain.groups):
        return plain
    require_own_session(passage, window, plain.groups)
    parts = divided(passage, clauses.parts["where"], window, plain.groups) if plain.where else ([], [])
    if parts is None:
        return plain
    rows, of_windows = parts
    return replace(plain, where=rows if of_windows else plain.where, of_windows=of_windows, window=window)


def _item(reading: Reading, low: int, high: int, subs: list[Node]) -> Item:
    passage = reading.passage
    marks = [index for index in passage.top(low, high) if passage.word(index, high, "as")]
    if marks and marks[-1] > low:
        at = marks[-1]
        if at == high - 2 and passage.tokens[high - 1].is_name:
            return Item(reading.scalar(low, at, subs), passage.tokens[high - 1].value)
        return Item(reading.scalar(low, high, subs))  # explode(m) AS (k, v)
    if high - low > 1 and _implicit_alias(passage, low, high):
        return Item(reading.scalar(low, high - 1, subs), passage.tokens[high - 1].value)
    return Item(reading.scalar(low, high, subs))


def _implicit_alias(passage: Passage, low: int, high: int) -> bool:
    """Whether the last word of an item is its alias: `sum(x) total`, and not part of the expression as in `x IS NULL`."""
    found = passage.tokens[low:high]
    last, before = found[-1], found[-2]
    if not last.is_name or (len(found) - 1) in not_expression(found):
        return False
    if last.kind == "word" and is_keyword(found, len(found) - 1):
        return False
    if before.kind == "op":
        return before.text in (")", "]", "*") and not (before.text == "*" and len(found) > 2)
    if before.kind == "word" and (len(found) - 2) not in not_expression(found) and is_keyword(found, len(found) - 2):
        return before.is_word("null", "true", "false", "end", "nulls", "current_date", "current_timestamp", "current_user", "localtimestamp")
    return True


def _groups(reading: Reading, clauses: Clauses, items: tuple[Item, ...], subs: list[Node]) -> tuple[tuple[str, ...], str | None]:
    """GROUP BY as a list, or as one text where it is more than a list."""
    if "group" not in clauses.parts:
        return (), None
    passage = reading.passage
    low, high = clauses.parts["group"]
    lone_all = high == low + 1 and passage.word(low, high, "all")
    sets = any(
        (passage.word(index, high, "rollup", "cube") and (passage.is_op(index + 1, high, "(") or passage.word(index - 1, high, "with")))
        or (passage.word(index, high, "grouping") and passage.word(index + 1, high, "sets"))
        for index in passage.top(low, high)
    )
    if lone_all:
        return (), passage.slice(low, high)
    if passage.word(high - 2, high, "with") and passage.word(high - 1, high, "cube", "rollup"):
        return (), f"{passage.tokens[high - 1].text}({in_sets(passage.slice(low, high - 2), partial(_resolved, passage, low, high, items))})"
    if sets:
        return (), in_sets(passage.slice(low, high), partial(_resolved, passage, low, high, items))
    return tuple(
        _resolved(passage, begin, end, items, parsed(reading.scalar(begin, end, subs)).unwrapped.text) for begin, end in passage.split(low, high)
    ), None


def _resolved(passage: Passage, low: int, high: int, items: tuple[Item, ...], text: str) -> str:
    """One group that stands between two tokens: an ordinal stands for the item it counts to."""
    if not text.isdigit():
        return text
    position = int(text)
    if not 1 <= position <= len(items):
        raise passage.fault(f"GROUP BY {position}, but the select list has {len(items)} items", low, high)
    item = items[position - 1]
    if parsed(item.text).aggregates:
        raise passage.fault(f"GROUP BY {position} names an aggregate", low, high, "group by the columns, not by what is computed of them")
    return item.text


def named_windows(passage: Passage, clauses: Clauses) -> dict[str, str]:
    """WINDOW w AS (...): the definitions, which then stand where they are used."""
    if "window" not in clauses.parts:
        return {}
    return {passage.tokens[low].value.lower(): passage.slice(low + 2, high) for low, high in passage.split(*clauses.parts["window"])}


def over(text: str, windows: Mapping[str, str]) -> str:
    """The expression with the definitions of the windows that it names in their places."""
    if not windows:
        return text
    found = tokens(text)
    changes = [
        (after.start, after.end, windows[after.value.lower()])
        for before, after in pairwise(found)
        if before.is_word("over") and after.is_name and after.value.lower() in windows
    ]
    changes += [
        (opening.start, closing.end, windows[name.value.lower()])
        for before, opening, name, closing in zip(found, found[1:], found[2:], found[3:], strict=False)
        if before.is_word("over") and opening.text == "(" and closing.text == ")" and name.is_name and name.value.lower() in windows
    ]
    return substitute(text, changes)

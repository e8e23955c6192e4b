"""One SELECT block: its clauses, its items, its groups, and the plan they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from penstock.plan.aliases import stand_ins
from penstock.plan.columns import is_keyword, not_expression
from penstock.plan.from_clause import from_clause
from penstock.plan.grammar import tokens
from penstock.plan.nodes import Aggregate, Distinct, Filter, Item, Node, Project
from penstock.plan.passage import Passage
from penstock.plan.reading import NotUnderstood, Reading
from penstock.plan.scalar import aggregate_calls, substitute
from penstock.plan.terms import in_sets, no_ordinal, unwrapped
from penstock.plan.window_from import groups_of_all, only, require_own_session
from penstock.plan.window_where import divided

Range = tuple[int, int]


@dataclass(frozen=True)
class Clauses:
    """Where the clauses of a block stand; an absent one is None."""

    low: int
    distinct: bool
    items: Range
    parts: dict[str, Range] = field(default_factory=dict)

    @classmethod
    def find(cls, passage: Passage, low: int, high: int) -> Clauses:
        """The clauses of the SELECT at `low`; NotUnderstood where they are unknown or out of order."""
        distinct = passage.word(low + 1, high, "distinct")
        begin = low + 1 + (distinct or passage.word(low + 1, high, "all"))
        marks = [(index, name) for index in passage.top(low, high) if index >= begin and (name := _clause(passage, index, high))]
        order = ["from", "where", "group", "having", "window", "qualify"]
        names = [name for _, name in marks]
        if "qualify" in names or names != sorted(set(names), key=order.index):
            raise NotUnderstood("QUALIFY" if "qualify" in names else "clauses in this order")
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
    aggregated = any(name in clauses.parts for name in ("group", "having")) or any(aggregate_calls(item.text) for item in items)
    timed = only(passage, *clauses.parts["from"]) if aggregated and "from" in clauses.parts else None
    written = _groups(reading, clauses, items, subs)
    groups, grouping = stand_ins(*written, items, is_column=lambda name: None)
    if timed is not None and (grouping or "").lower() == "all" and timed.grouped(groups_of_all(items)):
        groups, grouping = groups_of_all(items), None
    if timed is not None and (grouping is not None or not timed.grouped(groups)):
        timed = None
    if timed is not None:
        require_own_session(passage, timed, groups)
    parts = divided(passage, clauses.parts["where"], timed, groups) if timed is not None and "where" in clauses.parts else ([], [])
    if parts is None:
        timed = None
    source = from_clause(reading, *clauses.parts["from"], bare=timed is not None) if "from" in clauses.parts else None
    rows, of_windows = parts or ([], [])
    if "where" in clauses.parts and source is not None and (rows or not of_windows):
        inner: list[Node] = []
        kept = rows if of_windows else [clauses.parts["where"]]
        condition = " AND ".join(reading.scalar(*part, inner) for part in kept)
        source = Filter(source, condition, tuple(inner), where=passage.where(clauses.parts["where"][0] - 1))
    asked = [*of_windows, *([clauses.parts["having"]] if "having" in clauses.parts else [])]
    having = " AND ".join(f"({text})" if len(asked) > 1 else text for text in (reading.scalar(*part, subs) for part in asked)) or None
    if timed is not None:
        groups, items, having = timed.groups(groups), timed.items(items), None if having is None else timed.rewritten(having)
    node: Node
    if aggregated and source is not None:
        node = Aggregate(source, groups, items, having, grouping, tuple(subs), where=where, written=None if timed else written)
    elif aggregated or (source is None and "where" in clauses.parts):
        raise NotUnderstood("aggregates without FROM")  # SELECT count(*) without FROM: Spark knows what it means
    else:
        node = Project(source, items, tuple(subs), where=where)
    return Distinct(node, where=where) if clauses.distinct else node


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
        return (), f"{passage.tokens[high - 1].text}({in_sets(passage.slice(low, high - 2), partial(_meant, passage, low, high, items))})"
    if sets:
        return (), in_sets(passage.slice(low, high), partial(_meant, passage, low, high, items))
    return tuple(_meant(passage, begin, end, items, unwrapped(reading.scalar(begin, end, subs))) for begin, end in passage.split(low, high)), None


def _meant(passage: Passage, low: int, high: int, items: tuple[Item, ...], text: str) -> str:
    """One group that stands between two tokens: an ordinal stands for the item it counts to."""
    if not text.isdigit():
        return text
    position = int(text)
    if not 1 <= position <= len(items):
        raise passage.fault(f"GROUP BY {position}, but the select list has {len(items)} items", low, high)
    item = items[position - 1]
    if aggregate_calls(item.text):
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

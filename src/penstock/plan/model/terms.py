"""Questions about items and groups: their names, aliases and windows, and the expressions inside ROLLUP, CUBE and GROUPING SETS."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from penstock.plan.expression.calls import WindowCall
from penstock.plan.expression.parsed import parsed, same, substitute
from penstock.plan.expression.tokens import Token, matching, split, tokens
from penstock.plan.expression.words import NOT_COLUMNS
from penstock.plan.model.nodes import Aggregate, Item, quoted

_INT_MAX = 2**31 - 1
_NAME = re.compile(r"[A-Za-z_]\w*")
_WITH_SETS = re.compile(r"\s+with\s+(rollup|cube)\s*$", re.IGNORECASE)


def no_ordinal(item: Item) -> Item:
    """The item, an integer constant written so that Spark does not take it for a place in the select list when it groups by it."""
    found = parsed(item.text).unwrapped.tokens
    written = "".join(token.text for token in found)
    digits = written.removeprefix("-")
    if found[-1].kind != "number" or not digits.isdecimal() or int(digits) > _INT_MAX:
        return item
    return Item(f"cast({written} AS INT)", item.name or written)


def is_group_by_all(node: Aggregate) -> bool:
    return node.grouping is not None and node.grouping.strip().lower() == "all"


def grouping_expressions(node: Aggregate) -> tuple[str, ...]:
    """Every expression that the aggregate groups by, also those inside ROLLUP, CUBE and GROUPING SETS."""
    if node.grouping is None:
        return node.groups
    if is_group_by_all(node):
        return tuple(item.text for item in node.items if not parsed(item.text).aggregates)
    return tuple(dict.fromkeys(_inside_sets(node.grouping)))


def windows_of(node: Aggregate) -> list[WindowCall]:
    """The time windows that the aggregate groups by."""
    return [window for group in grouping_expressions(node) if (window := parsed(group).window) is not None]


def groups_sessions(node: Aggregate) -> bool:
    return any(window.kind == "session" for window in windows_of(node))


def _inside_sets(text: str) -> list[str]:
    """The plain expressions of a grouping text, brackets of sets taken off."""
    text = _WITH_SETS.sub("", text)
    found = tokens(text)
    return [text[found[low].start : found[high - 1].end] for low, high in _members(found, 0, len(found))]


def in_sets(text: str, change: Callable[[str], str]) -> str:
    """A grouping text with `change` applied to each plain expression in it."""
    found = tokens(text)
    spans = [(found[low].start, found[high - 1].end) for low, high in _members(found, 0, len(found))]
    return substitute(text, [(start, end, change(text[start:end])) for start, end in spans])


def _members(found: tuple[Token, ...], low: int, high: int) -> list[tuple[int, int]]:
    """The plain expressions of a list of sets, as ranges of tokens: what is inside brackets where they are those of a set."""
    members: list[tuple[int, int]] = []
    for begin, end in entries(found, low, high):
        opening = set_bracket(found, begin, end)
        members += [(begin, end)] if opening is None else _members(found, opening + 1, end - 1)
    return members


def entries(found: tuple[Token, ...], low: int, high: int) -> list[tuple[int, int]]:
    """The entries of a list of sets, as ranges of tokens; an empty set is none."""
    return [(begin, end) for begin, end in split(found, low, high) if begin < end]


def set_bracket(found: tuple[Token, ...], low: int, high: int) -> int | None:
    """Where the bracket of an entry's sets opens; None where the entry is an expression."""
    opening = next((at for at in range(low, high) if found[at].text == "("), None)
    if opening is None or matching(found, opening) != high - 1:
        return None
    return opening if opening == low or found[opening - 1].is_word("rollup", "cube", "sets") else None


def written(name: str) -> str:
    """A name as it stands in a text, in backticks where it would not be read as a name."""
    return name if _NAME.fullmatch(name) and name.lower() not in NOT_COLUMNS else quoted(name)


def item_name(item: Item) -> str:
    """The output name of an item; empty where only Spark knows it."""
    return item.name or parsed(item.text).output_name or ""


def is_group(text: str, group: str) -> bool:
    """True where an item's text is the group itself."""
    if same(text, group):
        return True
    window = parsed(group).window
    if window is not None:
        return text.strip().lower() == window.column
    if parsed(text).output_name is None or parsed(group).output_name is None:
        return False
    left, right = (tuple(part.lower() for part in parsed(each).columns[0].parts) for each in (text, group))
    return left[-1] == right[-1] and min(len(left), len(right)) == 1


def unaliased(text: str, items: tuple[Item, ...], hiding: Collection[str] | None = None) -> str:
    """`text` with the aliases of a select list (only those called `hiding`, if given) replaced by what they stand for, as ORDER BY sees them.

    An alias hides a column of the same name; inside an aggregate function there are only columns.
    """
    named = {item.name.lower(): item.text for item in items if item.name is not None and parsed(item.text).column != (item.name,)}
    named = {name: text for name, text in named.items() if hiding is None or name in hiding}
    inside = [(call.start, call.end) for call in parsed(text).aggregates]
    spans = [
        (ref.start, ref.start + len(quoted(ref.parts[0]) if text[ref.start] == "`" else ref.parts[0]), f"({named[ref.parts[0].lower()]})")
        for ref in parsed(text).columns
        if ref.parts[0].lower() in named and not any(low <= ref.start < high for low, high in inside)
    ]
    return substitute(text, spans)


def unaliased_having(node: Aggregate) -> str | None:
    """HAVING with the aliases replaced that stand in it."""
    return None if node.having is None else unaliased(node.having, node.items, hiding_in_having(node))


def hiding_in_having(node: Aggregate) -> frozenset[str]:
    """The aliases that hide columns in HAVING.

    There, other than in ORDER BY, a column that is a group comes before an alias of its name; but not beside functions over a window, where
    Spark looks at the result first.
    """
    named = {item.name.lower(): item.text for item in node.items if item.name is not None}
    if has_analytic(node):
        return frozenset(named)
    groups: dict[str, list[str]] = {}
    for group in grouping_expressions(node):
        groups.setdefault("".join(parsed(group).column[-1:]).lower(), []).append(group)
    return frozenset(name for name, text in named.items() if len(found := groups.get(name, [])) != 1 or is_group(text, found[0]))


def asks_in_having(node: Aggregate) -> bool:
    """Whether a SELECT stands in HAVING."""
    return node.having is not None and parsed(node.having).has_subquery


def has_analytic(node: Aggregate) -> bool:
    """Whether something of the select list is computed OVER a window of rows."""
    return any(parsed(item.text).has_window_function for item in node.items)


def bounds_time(text: str, times: Collection[str]) -> bool:
    """Whether a condition holds one event time against another, other than by equality alone."""
    refs = {ref.parts for ref in parsed(text).columns if ref.name.lower() in times}
    return len(refs) >= 2 and any(token.text in ("<", ">", "<=", ">=") or token.is_word("between") for token in tokens(text))


def texts_of(node: Aggregate) -> list[str]:
    """The expressions over the groups: the items and HAVING."""
    return [item.text for item in node.items] + ([node.having] if node.having else [])

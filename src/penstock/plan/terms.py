"""Questions about scalar texts that the cut asks: parts of a condition, group expressions, sort keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from penstock.plan import scalar
from penstock.plan.grammar import Token, matching, tokens
from penstock.plan.nodes import Aggregate, Item, quoted
from penstock.plan.words import NOT_COLUMNS

_INT_MAX = 2**31 - 1
SETS_WORDS = ("rollup", "cube", "sets")
_NAME = re.compile(r"[A-Za-z_]\w*")
_WITH_SETS = re.compile(r"\s+with\s+(rollup|cube)\s*$", re.IGNORECASE)


def conjuncts(text: str) -> list[str]:
    """The parts of a condition that must all hold: split at top-level AND (not the AND of BETWEEN)."""
    found, parts, depth, start, between, cases = tokens(text), [], 0, 0, 0, 0
    for token in found:
        depth += (token.text in "([") - (token.text in ")]") if token.kind == "op" else 0
        if depth:
            continue
        cases += token.is_word("case") - token.is_word("end")
        if token.is_word("or") and not cases:
            return [text.strip()]
        if token.is_word("between"):
            between += 1
        elif token.is_word("and") and between:
            between -= 1
        elif token.is_word("and") and not cases:
            parts.append(text[start : token.start].strip())
            start = token.end
    return [*parts, text[start:].strip()]


def equality(text: str) -> tuple[str, str] | None:
    """The two sides of `a = b`, brackets around it taken off; None where the text is anything else."""
    text = unwrapped(text)
    depth, marks, other = 0, [], False
    for token in tokens(text):
        depth += (token.text in "([") - (token.text in ")]") if token.kind == "op" else 0
        if depth == 0 and token.kind == "op" and token.text in ("=", "==", "<=>"):
            marks.append(token)
        elif depth == 0 and (token.is_word("or", "not", "and", "between", "case") or token.text in ("<", ">", "<=", ">=", "!=", "<>")):
            other = True
    if len(marks) != 1 or other:
        return None
    return text[: marks[0].start].strip(), text[marks[0].end :].strip()


def unwrapped(text: str) -> str:
    """An expression without the brackets around it; those of a subquery and of a row `(a, b)` are part of it."""
    found = tokens(text)
    while len(found) > 2 and found[0].text == "(" and matching(found, 0) == len(found) - 1:
        inner = text[found[0].end : found[-1].start].strip()
        if len(scalar.split_top(inner)) > 1 or inner.startswith("__sub_"):
            break
        text, found = inner, tokens(inner)
    return text.strip()


def no_ordinal(item: Item) -> Item:
    """The item, an integer constant said so that Spark does not take it for a place in the select list when it groups by it."""
    found = tokens(unwrapped(item.text))
    written = "".join(token.text for token in found)
    digits = written.removeprefix("-")
    if found[-1].kind != "number" or not digits.isdecimal() or int(digits) > _INT_MAX:
        return item
    return Item(f"cast({written} AS INT)", item.name or written)


def distinct_arguments(call: str) -> list[str]:
    """The arguments of `f(DISTINCT a, b)`."""
    found = tokens(call)
    opening = next(index for index, token in enumerate(found) if token.text == "(")
    closing = matching(found, opening)
    return list(scalar.split_top(call[found[opening + 1].end : found[closing].start], ","))


def is_constant(text: str) -> bool:
    """True where an expression names no column: Spark wants the separator of listagg() and the like to be so, and to stay so."""
    return not scalar.column_refs(text) and not holds_star(text)


def holds_star(text: str) -> bool:
    """True where a `*` in the text stands for columns, as in `struct(*)`, and does not multiply."""
    found = tokens(text)
    return any(token.text == "*" and (not at or found[at - 1].text in ("(", ",", ".")) for at, token in enumerate(found))


def is_group_by_all(node: Aggregate) -> bool:
    return node.grouping is not None and node.grouping.strip().lower() == "all"


def grouping_expressions(node: Aggregate) -> tuple[str, ...]:
    """Every expression that the aggregate groups by, also those inside ROLLUP, CUBE and GROUPING SETS."""
    if node.grouping is None:
        return node.groups
    if is_group_by_all(node):
        return tuple(item.text for item in node.items if not scalar.aggregate_calls(item.text))
    return tuple(dict.fromkeys(_inside_sets(node.grouping)))


def _inside_sets(text: str) -> list[str]:
    """The plain expressions of a grouping text, brackets of sets taken off."""
    text = _WITH_SETS.sub("", text)
    found = tokens(text)
    return [text[found[low].start : found[high - 1].end] for low, high in _members(found, 0, len(found))]


def in_sets(text: str, change: Callable[[str], str]) -> str:
    """A grouping text with `change` applied to each plain expression in it."""
    found = tokens(text)
    spans = [(found[low].start, found[high - 1].end) for low, high in _members(found, 0, len(found))]
    return scalar.substitute(text, [(start, end, change(text[start:end])) for start, end in spans])


def _members(found: tuple[Token, ...], low: int, high: int) -> list[tuple[int, int]]:
    """The plain expressions of a list of sets, as ranges of tokens."""
    members: list[tuple[int, int]] = []
    begin, depth = low, 0
    for index in range(low, high):
        if not depth and found[index].text == ",":
            members += _member(found, begin, index)
            begin = index + 1
        depth += (found[index].text in ("(", "[")) - (found[index].text in (")", "]"))
    return members + _member(found, begin, high)


def _member(found: tuple[Token, ...], low: int, high: int) -> list[tuple[int, int]]:
    """One entry of such a list: what is inside its brackets where they are those of a set, else the entry itself."""
    opening = next((at for at in range(low, high) if found[at].text == "("), None)
    if opening is not None and matching(found, opening) == high - 1 and (opening == low or found[opening - 1].is_word(*SETS_WORDS)):
        return _members(found, opening + 1, high - 1)
    return [(low, high)] if low < high else []


def written(name: str) -> str:
    """A name as it stands in a text, in backticks where it would not be read as a name."""
    return name if _NAME.fullmatch(name) and name.lower() not in NOT_COLUMNS else quoted(name)


def item_name(item: Item) -> str:
    """The output name of an item; empty where only Spark knows it."""
    return item.name or scalar.output_name(item.text) or ""


def column_parts(text: str) -> tuple[str, ...]:
    """The parts of the one column that a text names; none where it is more than a name."""
    refs = scalar.column_refs(text)
    alone = len(refs) == 1 and text[refs[0].start : refs[0].end] == text.strip()
    return refs[0].parts if alone else ()


def is_group(text: str, group: str) -> bool:
    """True where an item's text is the group itself."""
    if scalar.same(text, group):
        return True
    window = scalar.window_call(group)
    if window is not None:
        return text.strip().lower() == ("session_window" if window.kind == "session" else "window")
    if scalar.output_name(text) is None or scalar.output_name(group) is None:
        return False
    left, right = (tuple(part.lower() for part in scalar.column_refs(each)[0].parts) for each in (text, group))
    return left[-1] == right[-1] and min(len(left), len(right)) == 1


@dataclass(frozen=True)
class Star:
    """`*` or `t.*`, with the columns that EXCEPT leaves out (in lower case)."""

    qualifier: str | None
    left_out: frozenset[str]


def star(item: Item) -> Star | None:
    """The star that an item is; None where it is an expression."""
    found = tokens(item.text)
    at = 0 if found and found[0].text == "*" else 2 if len(found) > 2 and found[0].is_name and found[1].text == "." and found[2].text == "*" else -1
    if at < 0 or (len(found) > at + 1 and not found[at + 1].is_word("except")):
        return None
    return Star(found[0].value.lower() if at else None, frozenset(token.value.lower() for token in found[at + 2 :] if token.is_name))


_GENERATORS = frozenset(
    """
explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode variant_explode_outer
""".split()
)


def gives_many_rows(text: str) -> bool:
    """True where an item makes several rows of one."""
    return any(call.name.lower() in _GENERATORS for call in scalar.calls(text))


def is_generator(text: str) -> bool:
    """True where the whole text is the call of a function that makes several rows of one."""
    outermost = next(iter(scalar.calls(text)), None)
    return outermost is not None and outermost.name in _GENERATORS and (outermost.start, outermost.end) == (0, len(text))


def asks_subquery(text: str | None) -> bool:
    """True where a SELECT stands in the text, by the name that a plan gives it."""
    return text is not None and any(token.kind == "word" and token.text.startswith("__sub_") for token in tokens(text))


def has_clause(text: str, call: scalar.Call) -> bool:
    """True where FILTER (...) or WITHIN GROUP (...) follows the call's bracket."""
    found = tokens(text[call.start : call.end])
    opening = next(index for index, token in enumerate(found) if token.text == "(")
    return matching(found, opening) != len(found) - 1


def unaliased(text: str, items: tuple[Item, ...], hiding: Collection[str] | None = None) -> str:
    """`text` with the aliases of a select list (only those called `hiding`, if given) replaced by what they stand for, as ORDER BY sees them.

    An alias hides a column of the same name; inside an aggregate function there are only columns.
    """
    named = {item.name.lower(): item.text for item in items if item.name is not None and column_parts(item.text) != (item.name,)}
    named = {name: text for name, text in named.items() if hiding is None or name in hiding}
    inside = [(call.start, call.end) for call in scalar.aggregate_calls(text)]
    spans = [
        (ref.start, ref.start + len(quoted(ref.parts[0]) if text[ref.start] == "`" else ref.parts[0]), f"({named[ref.parts[0].lower()]})")
        for ref in scalar.column_refs(text)
        if ref.parts[0].lower() in named and not any(low <= ref.start < high for low, high in inside)
    ]
    return scalar.substitute(text, spans)


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
        groups.setdefault("".join(column_parts(group)[-1:]).lower(), []).append(group)
    return frozenset(name for name, text in named.items() if len(found := groups.get(name, [])) != 1 or is_group(text, found[0]))


def has_analytic(node: Aggregate) -> bool:
    """Whether something of the select list is computed OVER a window of rows."""
    return any(scalar.has_window_function(item.text) for item in node.items)


def sort_direction(key: str) -> tuple[str, str]:
    """A sort key apart: the expression, and `DESC NULLS LAST` or whatever follows it."""
    found = tokens(key)
    for index, token in enumerate(found):
        tail = found[index:]
        if token.is_word("asc", "desc", "nulls") and all(part.is_word("asc", "desc", "nulls", "first", "last") for part in tail):
            return key[: token.start].strip(), key[token.start :].strip()
    return key.strip(), ""


def bounds_time(text: str, times: Collection[str]) -> bool:
    """Whether a condition holds one event time against another, other than by equality alone."""
    refs = {ref.parts for ref in scalar.column_refs(text) if ref.name.lower() in times}
    return len(refs) >= 2 and any(token.text in ("<", ">", "<=", ">=") or token.is_word("between") for token in tokens(text))

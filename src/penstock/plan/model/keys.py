"""What distinguishes the rows of an aggregate, below the cut as engine columns and in the result as columns of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from penstock.plan.expression.parsed import parsed, same
from penstock.plan.model import terms
from penstock.plan.model.grouping_sets import repeats_a_set
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
    Item,
    Join,
    Node,
    Opaque,
    Operate,
    Order,
    Project,
    Scan,
    SetOperation,
    Union,
)

ALL_COLUMNS = ("*",)


def hidden_keys(node: Aggregate) -> tuple[Item, ...]:
    """The groups as engine columns `__k0`...; grouping sets are distinguished by their grouping id."""
    texts = terms.grouping_expressions(node)
    keys = tuple(Item(text, f"__k{index}") for index, text in enumerate(texts))
    sets = node.grouping is not None and not terms.is_group_by_all(node)
    return (*keys, Item("grouping_id()", f"__k{len(keys)}")) if sets else keys


def can_be_keyed(node: Aggregate) -> bool:
    """False where rows of the aggregate have nothing that distinguishes them, or columns of a star, which only Spark can name one by one."""
    starred = terms.is_group_by_all(node) and any(parsed(item.text).star is not None for item in node.items)
    return not starred and not repeats_a_set(node)


def row_key(node: Aggregate) -> tuple[str, ...] | None:
    """The output columns that are groups, where all groups are among them: they tell the rows apart."""
    if node.grouping is not None and not terms.is_group_by_all(node):
        return None
    groups = terms.grouping_expressions(node)
    named = [(terms.item_name(item), item.text) for item in node.items if terms.item_name(item)]
    found = {name: [group for group in groups if _is_group(text, group, node)] for name, text in named}
    shown = {group for groups in found.values() for group in groups}
    return tuple(name for name, of in found.items() if of) if shown == set(groups) else None


def result_key(plan: Node) -> tuple[str, ...] | None:
    """The columns of the result that identify its rows: the groups of an aggregate, where all of them are in the result."""
    part: Node | None = plan
    while isinstance(part, Filter | Project | Order) or (isinstance(part, Alias) and not part.columns):
        if isinstance(part, Project) and any(parsed(item.text).makes_rows for item in part.items):
            return None
        part = part.input
    if isinstance(part, Distinct) and part is plan:
        return ALL_COLUMNS
    if not isinstance(part, Aggregate) or (part.grouping is not None and not terms.is_group_by_all(part)):
        return None
    if any(parsed(item.text).makes_rows for item in part.items):
        return None
    names = _passed_names(plan, part)
    found = [_name_of(group, names, part) for group in terms.grouping_expressions(part)]
    return tuple(filter(None, found)) if None not in found and len(set(found)) == len(found) else None


def _name_of(group: str, names: Mapping[str, str], node: Aggregate) -> str | None:
    """The output column that is a group: the one that says the same, else the first that means it."""
    near = [name for name, text in names.items() if _is_group(text, group, node)]
    exact = [name for name, text in names.items() if near and same(text, group)]
    return next(iter([*exact, *near, *(name for name, text in names.items() if _is_border(text, group))]), None)


def _is_group(text: str, group: str, node: Aggregate) -> bool:
    """True where an item of the aggregate is the group: `a.b` is the group `b` where a is a relation, and not where it is a struct."""
    if not terms.is_group(text, group):
        return False
    parts = parsed(text).column
    return len(parts) < 2 or same(text, group) or relation(node.input, parts[0].lower()) is not None


def _is_border(text: str, group: str) -> bool:
    """True where an item is the start or the end of the window that is the group: of windows of one size, and of the sessions of one key, it
    belongs to one alone."""
    whole, _ = _border(text)
    return whole is not None and parsed(group).window is not None and terms.is_group(whole, group)


def _border(text: str) -> tuple[str | None, str]:
    """`w.start` or `window(...).end` as the window and the field; no window where the text is anything else."""
    found = parsed(text).unwrapped.tokens
    if len(found) < 3 or found[-2].text != "." or found[-1].value.lower() not in ("start", "end"):
        return None, ""
    whole = parsed(text).unwrapped.text[: found[-2].start].strip()
    return (whole, found[-1].value.lower()) if parsed(whole).output_name is not None else (None, "")


def _passed_names(node: Node, aggregate: Aggregate) -> dict[str, str]:
    """Output name -> text in the aggregate's block, for columns that pass unchanged through the work above."""
    match node:
        case Aggregate():
            return {terms.item_name(item): item.text for item in aggregate.items if terms.item_name(item)}
        case Alias() | Filter() | Order():
            return _passed_names(node.input, aggregate)
        case Project(input=input_) if input_ is not None:
            below, passed = _passed_names(input_, aggregate), dict[str, str]()
            for item in node.items:
                passed |= _passed(item, below, called(input_, True))
            return passed
        case Scan() | Project() | Join() | Generate() | Union() | SetOperation() | Distinct() | Opaque() | Operate():
            return {}
        case _:
            assert_never(node)


def _passed(item: Item, below: Mapping[str, str], qualifier: str | None) -> dict[str, str]:
    """What one item passes on of the columns below: all of them, one, or a border of a window."""
    star = parsed(item.text).star
    if star is not None:
        return {name: text for name, text in below.items() if star.qualifier in (None, qualifier) and name.lower() not in star.left_out}
    whole, field = _border(item.text)
    by_lower = {name.lower(): name for name in below}
    plain = by_lower.get(_column(item.text, qualifier) or "")
    window = by_lower.get("" if whole is None else _column(whole, qualifier) or "")
    if plain is not None:
        return {item.name or plain: below[plain]}
    if window is not None and parsed(below[window]).output_name is not None:
        return {item.name or field: f"{below[window]}.{field}"}
    return {}


def _column(text: str, qualifier: str | None) -> str | None:
    """The column that a text names, in lower case; `a.b` is one only where the relation is called a, else a field of the column a."""
    *before, name = [part.lower() for part in parsed(text).column] or [""]
    return name if name and before in ([], [qualifier]) else None


def called(node: Node, lower: bool = False) -> str | None:
    """The name by which the columns of a relation may be qualified."""
    while isinstance(node, Filter):
        node = node.input
    name = node.name if isinstance(node, Alias | Scan) else None
    return name.lower() if name and lower else name


def relation(node: Node, name: str) -> Node | None:
    """What is called `name` (in lower case) in a FROM; None where it is no relation, as a struct is none."""
    match node:
        case Scan() | Alias():
            return node if node.name.lower() == name else None
        case Filter() | Generate():
            return relation(node.input, name)
        case Join():
            return relation(node.left, name) or relation(node.right, name)
        case Project() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate():
            return None
        case _:
            assert_never(node)

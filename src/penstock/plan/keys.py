"""What tells the rows of an aggregate apart, below the cut as engine columns and in the result as columns of its own."""

from __future__ import annotations

from penstock.plan import scalar, terms
from penstock.plan.grouping_sets import repeats_a_set
from penstock.plan.nodes import Aggregate, Alias, Distinct, Filter, Generate, Item, Join, Node, Order, Project, Scan

ALL_COLUMNS = ("*",)


def hidden_keys(node: Aggregate) -> tuple[Item, ...]:
    """The groups as engine columns `__k0`...; grouping sets are told apart by their grouping id."""
    texts = terms.grouping_expressions(node)
    keys = tuple(Item(text, f"__k{index}") for index, text in enumerate(texts))
    sets = node.grouping is not None and not terms.is_group_by_all(node)
    return (*keys, Item("grouping_id()", f"__k{len(keys)}")) if sets else keys


def can_be_keyed(node: Aggregate) -> bool:
    """False where rows of the aggregate have nothing to be told apart by, or columns of a star, which only Spark can name one by one."""
    starred = terms.is_group_by_all(node) and any(terms.star(item) is not None for item in node.items)
    return not starred and not repeats_a_set(node)


def group_names(node: Aggregate) -> tuple[str, ...]:
    """The output columns that are groups."""
    groups = terms.grouping_expressions(node) if node.grouping is None or terms.is_group_by_all(node) else ()
    named = [(terms.item_name(item), item.text) for item in node.items]
    return tuple(name for name, text in named if name and any(_is_group(text, group, node) for group in groups))


def result_key(plan: Node) -> tuple[str, ...] | None:
    """The columns of the result that identify its rows: the groups of an aggregate, where all of them reach the result."""
    part: Node | None = plan
    while isinstance(part, Filter | Project | Order) or (isinstance(part, Alias) and not part.columns):
        if isinstance(part, Project) and any(terms.gives_many_rows(item.text) for item in part.items):
            return None
        part = part.input
    if isinstance(part, Distinct) and part is plan:
        return ALL_COLUMNS
    if not isinstance(part, Aggregate) or (part.grouping is not None and not terms.is_group_by_all(part)):
        return None
    if any(terms.gives_many_rows(item.text) for item in part.items):
        return None
    names = _passed_names(plan, part)
    found: list[str] = []
    for group in terms.grouping_expressions(part):
        exact = [name for name, text in names.items() if scalar.same(text, group)]
        near = [name for name, text in names.items() if _is_group(text, group, part)]
        if not near:
            return None
        found.append((exact or near)[0])
    return tuple(found) if len(set(found)) == len(found) else None


def _is_group(text: str, group: str, node: Aggregate) -> bool:
    """True where an item of the aggregate is the group: `a.b` is the group `b` where a is a relation, and not where it is a struct."""
    if not terms.is_group(text, group):
        return False
    parts = terms.column_parts(text)
    return len(parts) < 2 or scalar.same(text, group) or relation(node.input, parts[0].lower()) is not None


def _passed_names(node: Node, aggregate: Aggregate) -> dict[str, str]:
    """Output name -> text in the aggregate's block, for columns that pass unchanged through the work above."""
    match node:
        case Aggregate():
            return {terms.item_name(item): item.text for item in aggregate.items if terms.item_name(item)}
        case Alias() | Filter() | Order():
            return _passed_names(node.input, aggregate)
        case Project(input=input_) if input_ is not None:
            below = _passed_names(input_, aggregate)
            passed: dict[str, str] = {}
            for item in node.items:
                star = terms.star(item)
                if star is not None and star.qualifier in (None, called(input_, True)):
                    passed.update({name: text for name, text in below.items() if name.lower() not in star.left_out})
                plain = _column(item.text, called(input_, True))
                match_ = next((name for name in below if name.lower() == plain), None)
                if match_ is not None:
                    passed[item.name or match_] = below[match_]
            return passed
        case _:
            return {}


def _column(text: str, qualifier: str | None) -> str | None:
    """The column that a text names, in lower case; `a.b` is one only where the relation is called a, else a field of the column a."""
    *before, name = [part.lower() for part in terms.column_parts(text)] or [""]
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
        case _:
            return None

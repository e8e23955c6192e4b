"""gathered: a plan that is local to some columns, kept up to date group by group.

Spark keeps, for every value of those columns, the rows that the plan needs (`collect_list` of them, several inputs as a tagged union) and
gives out in each epoch exactly the groups that were touched, whole. The plan is evaluated over those alone and replaces their part of the
result, so an epoch costs the rows of the groups that it touches, not the history.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from penstock.plan.cut.local_keys import LocalKeys, Sources
from penstock.plan.cut.shape import Shapes, collates
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.types import UNKNOWN
from penstock.plan.model import terms
from penstock.plan.model.keys import called
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Alias, Item, Node, Opaque, Operate, Order, Project, Scan, Union, rebuild, walk
from penstock.plan.model.text import sql
from penstock.schema import literal, quote

INPUT = "__g"
ROWS = "__rows"
_KEY = "__k"
_WITH_FLOATING = re.compile(r"<.*\b(double|float)\b")
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint", "byte", "short", "integer", "long")


@dataclass(frozen=True)
class Gathered:
    """`lower` streams the touched groups, `upper` is the plan over them; `parts`: column of its result -> key column of a group.

    `columns` says by which columns of its inputs they are groups.
    """

    lower: Node
    upper: Node
    keys: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class NotLocal:
    """Why a plan cannot be gathered."""

    reason: str


@dataclass(frozen=True)
class _Input:
    plan: Node
    columns: tuple[str, ...]
    types: tuple[str, ...]


def gather(plan: Node, shapes: Shapes, names: Names) -> Gathered | NotLocal:
    """The plan, gathered by the columns that it is local to."""
    if isinstance(plan, Order):
        return NotLocal("it sorts or limits all of its rows")
    if any(isinstance(part, Opaque) for part in walk(plan)):
        return NotLocal("it holds SQL that is not looked into")
    if collates(plan):
        return NotLocal("it compares texts by a collation")
    found: Gathered | NotLocal = NotLocal("its rows depend on all rows of the stream")
    for shared in (True, False):  # rows that are read twice are kept once, unless they are grouped by two different columns
        inputs, upper = _inputs(plan, shapes, shared=shared)
        found = _by_keys(inputs, upper, names)
        if isinstance(found, Gathered):
            break
    return found


def _inputs(plan: Node, shapes: Shapes, *, shared: bool) -> tuple[list[Node], Node]:
    """The highest parts that need no state, and the plan over what was gathered of them."""
    inputs: list[Node] = []

    def swap(node: Node, inside: bool = False) -> Node:
        """`inside` a subquery a condition may name columns of the rows around it, so only what is read there is an input."""
        if not shapes.reads_stream(node):
            return node
        name, subs = called(node), getattr(node, "subs", ())
        takes = isinstance(node, Scan) or (isinstance(node, Alias) and isinstance(node.input, Scan)) if inside else True
        if takes and shapes.stateless(node) and (name is not None or isinstance(node, Project | Union | Operate)):
            at = inputs.index(node) if shared and node in inputs else len(inputs)
            inputs.extend([node] if at == len(inputs) else [])
            scan = Scan(f"{INPUT}{at}")
            return scan if name is None else Alias(scan, name)
        return rebuild(node, lambda child: swap(child, inside or child in subs))

    upper = swap(plan)
    return inputs, upper


def _by_keys(plans: list[Node], upper: Node, names: Names) -> Gathered | NotLocal:
    inputs = _described(plans, names)
    if inputs is None:
        return NotLocal("the columns of its parts are known to Spark only")
    by_name = {name: tuple(column for column in entry.columns if not _is_constant(entry.plan, column)) for name, entry in inputs.items()}
    _, keys = LocalKeys(by_name).of(upper)
    wanted = sorted({key.sources for key in keys or () if len(key.sources) == len(inputs) and _comparable(key.sources, inputs)}, key=sorted)
    if not wanted:
        return NotLocal("its rows depend on all rows of the stream: no column is partitioned, grouped or joined by throughout")
    carrying, keys = LocalKeys(by_name, frozenset(wanted)).of(upper)
    shown = {key.sources: key.name for key in reversed(keys or ()) if key.name is not None}
    if any(sources not in shown for sources in wanted):
        return NotLocal("what it is grouped by does not reach its result")
    parts = tuple((shown[sources] or "", f"{_KEY}{at}") for at, sources in enumerate(wanted))
    lower = _lower(inputs, wanted, _mentioned(carrying))
    columns = tuple(" = ".join(dict.fromkeys(column for _, column in sorted(sources))) for sources in wanted)
    return Gathered(lower, carrying, tuple(name for _, name in parts), parts, columns)


def _described(plans: list[Node], names: Names) -> dict[str, _Input] | None:
    """The inputs with their columns; None where those of one are not known, or not all by names of their own."""
    inputs: dict[str, _Input] = {}
    for number, plan in enumerate(plans):
        output = names.output(plan)
        columns = tuple(column.name or "" for column in output.columns)
        if output.open or not all(columns) or len({name.lower() for name in columns}) < len(columns):
            return None
        inputs[f"{INPUT}{number}"] = _Input(plan, columns, tuple(column.type for column in output.columns))
    return inputs


def _is_constant(plan: Node, column: str) -> bool:
    """A column that is the same in every row makes one group of everything."""
    items = plan.items if isinstance(plan, Project) else ()
    return any(terms.item_name(item).lower() == column.lower() and parsed(item.text).is_constant for item in items)


def _comparable(sources: Sources, inputs: dict[str, _Input]) -> bool:
    """Whether equal values are equal in one common type too: 1 and 1, but not 1 and '01'; and in their text: not floating numbers as parts."""
    types = {inputs[name].types[inputs[name].columns.index(column)].lower() for name, column in sources}
    if any(_WITH_FLOATING.search(kind) for kind in types):
        return False
    return (len(types) == 1 and (len(sources) == 1 or UNKNOWN not in types)) or all(kind in _WHOLE_NUMBERS for kind in types)


def _mentioned(plan: Node) -> Callable[[str], bool]:
    """Whether a column may be named in a plan; a star names all of them."""
    starred = any(
        parsed(item.text).star is not None or parsed(item.text).has_star
        for part in walk(plan)
        if isinstance(part, Project | Aggregate)
        for item in part.items
    )
    text = "" if starred else sql(plan).lower()
    return lambda name: starred or re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text) is not None


def _lower(inputs: dict[str, _Input], wanted: list[Sources], is_mentioned: Callable[[str], bool]) -> Node:
    """The streaming aggregate: one row per group, with the rows of every input in it."""
    tagged: list[Node] = []
    for name, entry in inputs.items():
        keyed = tuple(Item(quote(dict(sources)[name]), f"{_KEY}{at}") for at, sources in enumerate(wanted))
        needed = [column for column in entry.columns if is_mentioned(column)] or [dict(wanted[0])[name]]
        struct = f"named_struct({', '.join(f'{literal(column)}, {quote(column)}' for column in needed)})"
        lists = tuple(Item(struct if other == name else "NULL", f"__r{at}") for at, other in enumerate(inputs))
        tagged.append(Project(Alias(entry.plan, "__in"), (*keyed, *lists)))
    keys = tuple(f"{_KEY}{at}" for at in range(len(wanted)))
    together = tagged[0] if len(tagged) == 1 else Union(tuple(tagged))
    kept = tuple(Item(f"collect_list(__r{at})", f"{ROWS}{at}") for at in range(len(inputs)))
    return Aggregate(Alias(together, "__all"), keys, (*(Item(key, key) for key in keys), *kept))

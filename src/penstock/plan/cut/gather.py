"""gathered: a plan that is local to some columns, kept up to date group by group.

Spark keeps, for every value of those columns, the rows that the plan needs (`collect_list` of them, several inputs as a tagged union) and
gives out in each epoch exactly the groups that were touched, whole. The plan is evaluated over those alone and replaces their part of the
result, so an epoch costs the rows of the groups that it touches, not the history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.plan.cut.inputs import Input, comparable, described, inputs_of, mentioned
from penstock.plan.cut.local_keys import LocalKeys, Sources
from penstock.plan.cut.shape import Shapes, collates
from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Aggregate, Alias, Item, Node, Opaque, Order, Project, Union, walk
from penstock.schema import quote

ROWS = "__rows"
_KEY = "__k"


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
        inputs, upper = inputs_of(plan, shapes, shared=shared)
        found = _by_keys(inputs, upper, names)
        if isinstance(found, Gathered):
            break
    return found


def _by_keys(plans: list[Node], upper: Node, names: Names) -> Gathered | NotLocal:
    inputs = described(plans, names)
    if inputs is None:
        return NotLocal("the columns of its parts are known to Spark only")
    by_name = {name: tuple(column for column in entry.schema.names if not _is_constant(entry.plan, column)) for name, entry in inputs.items()}
    schemas = {name: entry.schema for name, entry in inputs.items()}
    _, keys = LocalKeys(by_name).of(upper)
    wanted = sorted({key.sources for key in keys or () if len(key.sources) == len(inputs) and comparable(key.sources, schemas)}, key=sorted)
    if not wanted:
        return NotLocal("its rows depend on all rows of the stream: no column is partitioned, grouped or joined by throughout")
    carrying, keys = LocalKeys(by_name, frozenset(wanted)).of(upper)
    shown = {key.sources: key.name for key in reversed(keys or ()) if key.name is not None}
    if any(sources not in shown for sources in wanted):
        return NotLocal("what it is grouped by does not reach its result")
    parts = tuple((shown[sources] or "", f"{_KEY}{at}") for at, sources in enumerate(wanted))
    lower = _lower(inputs, wanted, mentioned([carrying]))
    columns = tuple(" = ".join(dict.fromkeys(column for _, column in sorted(sources))) for sources in wanted)
    return Gathered(lower, carrying, tuple(name for _, name in parts), parts, columns)


def _is_constant(plan: Node, column: str) -> bool:
    """A column that is the same in every row makes one group of everything."""
    items = plan.items if isinstance(plan, Project) else ()
    return any(terms.item_name(item).lower() == column.lower() and parsed(item.text).is_constant for item in items)


def _lower(inputs: dict[str, Input], wanted: list[Sources], is_mentioned: Callable[[str], bool]) -> Node:
    """The streaming aggregate: one row per group, with the rows of every input in it."""
    tagged: list[Node] = []
    for name, entry in inputs.items():
        keyed = tuple(Item(quote(dict(sources)[name]), f"{_KEY}{at}") for at, sources in enumerate(wanted))
        struct = entry.struct(is_mentioned, dict(wanted[0])[name])
        lists = tuple(Item(struct if other == name else "NULL", f"__r{at}") for at, other in enumerate(inputs))
        tagged.append(Project(Alias(entry.plan, "__in"), (*keyed, *lists)))
    keys = tuple(f"{_KEY}{at}" for at in range(len(wanted)))
    together = tagged[0] if len(tagged) == 1 else Union(tuple(tagged))
    kept = tuple(Item(f"collect_list(__r{at})", f"{ROWS}{at}") for at in range(len(inputs)))
    return Aggregate(Alias(together, "__all"), keys, (*(Item(key, key) for key in keys), *kept))

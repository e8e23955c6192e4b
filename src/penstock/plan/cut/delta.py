"""delta: an aggregate over kept rows, or over a view, that is brought up to date by the rows that changed.

The changed rows, each with its weight, are aggregated into partial results by group (`changes`). Those are added to the partial results
that are stored of these groups, and the plan is evaluated over the sums (`final`); so an epoch costs what changed, however large a group is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from penstock.plan.cut.partials import ANY_WAY, WEIGHT, Moves, Partial, TypeOf, partial_of
from penstock.plan.cut.shape import Shapes, collates
from penstock.plan.cut.split import Split
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import tokens
from penstock.plan.expression.words import CHANCE, CLOCK, NILADIC
from penstock.plan.model import terms
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
    names_read,
    walk,
)
from penstock.plan.model.text import sql
from penstock.schema import quote

CHANGED = "__changed"
PARTIAL = "__partial"
COUNT = "__n"
PART = "__part"


@dataclass(frozen=True)
class Delta:
    """`changes` reads CHANGED, `final` reads PARTIAL; `groups` and `merges` are the columns of both, `parts` say a result's group.

    `merges` are the columns of partial results, each with the aggregate that merges them.
    """

    changes: Node
    final: Node
    groups: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    parts: tuple[str, ...]


def aggregate_of(plan: Node, input_: str) -> Aggregate | None:
    """The aggregate of a plan that is one over rows of `input_`, each by itself, with nothing but row-wise work above.

    A plan that joins a table is none, nor one that asks the clock or chance: what was said of an old row when it came could not be taken back.
    """
    if set(names_read(plan)) - {input_} or _is_fleeting(plan):
        return None
    match plan:
        case Aggregate(grouping=None, subs=()) if not terms.groups_sessions(plan):  # a row between two sessions makes one of them
            shapes = Shapes(lambda name: name == input_)
            once = sum(isinstance(part, Scan) and part.name == input_ for part in walk(plan)) == 1
            can = once and shapes.stateless(plan.input) and not terms.has_analytic(plan) and not collates(plan)
            return plan if can and carried(plan.input, Scan(input_), ()) is not None else None
        case Alias(columns=()) | Filter(subs=()):
            return aggregate_of(plan.input, input_)
        case Project(subs=(), input=below) if below is not None:
            plain = not any(parsed(item.text).has_window_function or parsed(item.text).makes_rows for item in plan.items)
            return aggregate_of(below, input_) if plain else None
        case Aggregate() | Alias() | Filter() | Project() | Scan() | Join() | Generate() | Union() | SetOperation() | Distinct() | Order():
            return None
        case Opaque() | Operate():
            return None
        case _:
            assert_never(plan)


def _is_fleeting(plan: Node) -> bool:
    """Whether anything in the plan may say of a row something else when it is looked at again."""
    text = sql(plan)
    asked = CLOCK | CHANCE | {"unix_timestamp"}
    return any(call.name in asked for call in parsed(text).calls) or any(token.is_word(*NILADIC) for token in tokens(text))


def delta(plan: Node, input_: str, type_of: TypeOf, moves: Moves = ANY_WAY) -> Delta | None:
    """The plan, kept up to date by what changes in `input_`, of which `moves` says how; None where one of its aggregates has no inverse."""
    node = aggregate_of(plan, input_)
    lifted = None if node is None else _lifted(node)
    if node is None or lifted is None:
        return None
    calls = [item for item in lifted.below if item.name not in lifted.groups]
    moves = moves if _as_they_are(node.input) else replace(moves, grows={})
    partials = [_partial(item.text, type_of, moves) for item in calls]
    made = [Item(f"coalesce(sum({WEIGHT}), 0)", COUNT)]
    merges = [(COUNT, "sum")]
    results: list[Item] = []
    for at, (call, partial) in enumerate(zip(calls, partials, strict=True)):
        if partial is None:
            return None
        names = tuple(f"__p{at}_{number}" for number in range(len(partial.made)))
        made += map(Item, partial.made, names)
        merges += [(name, partial.merge) for name in names]
        results.append(Item(partial.result(names), call.name))
    weighed = carried(node.input, Scan(input_), (WEIGHT,), Scan(CHANGED))
    assert weighed is not None
    keyed = tuple(item for item in lifted.below if item.name in lifted.groups)
    changes = Aggregate(weighed, node.groups, (*keyed, *made))
    parts = tuple(f"{PART}{at}" for at in range(len(lifted.groups)))
    found = Delta(changes, changes, lifted.groups, tuple(merges), parts)
    there = Filter(merged(found), f"{COUNT} > 0") if lifted.groups else merged(found)  # a group without rows is gone, but for that of all rows
    rows: Node = Project(there, (*_same(lifted.groups), *map(Item, map(quote, lifted.groups), parts), *results))
    rows = rows if lifted.having is None else Filter(rows, lifted.having)
    final = carried(plan, node, parts, Project(rows, (*lifted.items, *_same(parts))))
    return None if final is None else replace(found, final=final)


@dataclass(frozen=True)
class _Lifted:
    """A block of SELECT and GROUP BY in terms of the named columns `below`, of which `groups` are its groups."""

    items: tuple[Item, ...]
    having: str | None
    below: tuple[Item, ...]
    groups: tuple[str, ...]


def _lifted(node: Aggregate) -> _Lifted | None:
    """None where a column has no name of its own, or names what is not below: as a name that is given earlier in the list."""
    if not all(terms.item_name(item) for item in node.items):
        return None
    split = Split(node.groups)
    items = tuple(Item(split.lift(item.text), terms.item_name(item)) for item in node.items)
    having = None if node.having is None else split.lift(terms.unaliased_having(node) or "")
    below = {str(item.name).lower() for item in split.items()}
    texts = [*(item.text for item in items), *([having] if having else [])]
    said = all(ref.parts[0].lower() in below for text in texts for ref in parsed(text).columns)
    return _Lifted(items, having, split.items(), split.group_names()) if said else None


def _partial(text: str, type_of: TypeOf, moves: Moves) -> Partial | None:
    found = parsed(text).aggregates
    return partial_of(text, found[0], type_of, moves) if len(found) == 1 else None


def _as_they_are(node: Node) -> bool:
    """Whether a plan gives every row of what it scans, with the same columns: a row that a filter leaves out later would have to be taken back."""
    while not isinstance(node, Scan):
        if not (isinstance(node, Alias) or (isinstance(node, Project) and all(parsed(item.text).star is not None for item in node.items))):
            return False
        assert node.input is not None
        node = node.input
    return True


def merged(found: Delta) -> Node:
    """Partial results of one group, stored and new, added up; those of groups without rows too."""
    added = tuple(Item(f"{merge}({name})", name) for name, merge in found.merges)
    return Aggregate(Scan(PARTIAL), tuple(map(quote, found.groups)), (*_same(found.groups), *added))


def _same(names: tuple[str, ...]) -> tuple[Item, ...]:
    return tuple(Item(quote(name), name) for name in names)


def carried(plan: Node, below: Node, names: tuple[str, ...], instead: Node | None = None) -> Node | None:
    """Row-wise work with `instead` in the place of `below`, and the columns `names` of it in the result; None where they cannot be carried."""
    if plan == below:
        return _named(plan, instead or plan)
    match plan:
        case Scan():
            return plan
        case Alias(columns=()) | Filter() | Generate():
            inner = carried(plan.input, below, names, instead)
            return None if inner is None else replace(plan, input=inner)
        case Project(input=input_) if input_ is not None:
            inner = carried(input_, below, names, instead)
            stars = [star for item in plan.items if (star := parsed(item.text).star) is not None]
            if inner is None or any(star.qualifier is not None for star in stars):
                return None
            return replace(plan, input=inner, items=plan.items if stars else (*plan.items, *_same(names)))
        case Join():
            left, right = carried(plan.left, below, names, instead), carried(plan.right, below, names, instead)
            return None if left is None or right is None else replace(plan, left=left, right=right)
        case Aggregate() | Alias() | Project() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate():
            return None if any(part == below for part in walk(plan)) else plan
        case _:
            assert_never(plan)


def _named(old: Node, new: Node) -> Node:
    """`new` under the name by which the columns of `old` may be qualified."""
    return Alias(new, old.name) if isinstance(old, Scan) and new is not old else new

"""How a plan follows rows that are kept: which of them it must look at again when some have changed.

A plan that is local to some columns of its input looks only at the rows that have there what a changed row has, or had.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.plan.cut.delta import aggregate_of, delta
from penstock.plan.cut.divide import KEPT
from penstock.plan.cut.first import first_of
from penstock.plan.cut.inputs import comparable
from penstock.plan.cut.local_keys import LocalKeys, Sources
from penstock.plan.cut.partials import ANY_WAY, Moves
from penstock.plan.expression.infer import type_of
from penstock.plan.model.names import Names, SchemaOf
from penstock.plan.model.nodes import Node, Opaque, Order, walk
from penstock.schema import Schema

if TYPE_CHECKING:
    from penstock.plan.cut.decide import Cut

_PLAIN_NAME = re.compile(r"[\w .:-]+")
_FLOATING = re.compile(r"\b(double|float)\b", re.IGNORECASE)


def can_be_indexed(column: str, kind: str = "", key: Sequence[str] | None = None) -> bool:
    """Whether every store can be asked for rows by the value of a column of this name and type, of rows with this key.

    Of floating numbers 0.0 and -0.0 are one value in two texts; in a key there is only the first.
    """
    return _PLAIN_NAME.fullmatch(column) is not None and (_FLOATING.search(kind) is None or column in (key or ()))


@dataclass(frozen=True)
class Way:
    """How a plan follows: by the changes of its aggregate's `groups`; by the `parts` of its input to which it is local; by the `first` of
    its rows; else as a whole."""

    groups: tuple[str, ...] | None = None
    parts: tuple[str, ...] = ()
    first: int | None = None

    @property
    def is_whole(self) -> bool:
        return self == Way()


def way(cut: Cut, schema_of: SchemaOf) -> Way:
    """How the plan above a cut follows the rows below it, as far as it can be told without Spark."""
    assert cut.upper is not None
    input_ = cut.base or KEPT
    given = Names(schema_of).output(cut.lower)
    schema = Schema(tuple(column for column in given.columns if column.name))
    return way_of(cut.upper, {input_: schema}, schema_of, key=cut.stable, moves=cut.moves)


def way_of(plan: Node, inputs: Mapping[str, Schema], schema_of: SchemaOf, *, key: Sequence[str] | None = None, moves: Moves = ANY_WAY) -> Way:
    """How a plan follows rows of `inputs`, with the columns of each.

    Of one input alone `key` are the columns that tell its rows apart, if that is known, and `moves` says how they change.
    """
    columns = {
        name: [column.name for column in schema.columns if can_be_indexed(column.name, column.type, key if len(inputs) == 1 else None)]
        for name, schema in inputs.items()
    }
    local = local_to(plan, columns, key, lambda sources: comparable(sources, inputs))[1]
    parts = tuple(dict(sources)[next(iter(inputs))] for sources in local.values())
    if len(inputs) > 1 or (key is not None and set(key) <= set(parts)):
        return Way(parts=parts)
    ((name, schema),) = inputs.items()
    top = first_of(plan, name)
    if top is not None:
        return Way(first=top.asked)
    node = aggregate_of(plan, name)
    if node is None:
        return Way(parts=parts)
    look = Names(lambda asked: schema if asked == name else schema_of(asked)).items_scope(node).look
    found = delta(plan, name, lambda text: type_of(text, look), moves)
    return Way(parts=parts) if found is None else Way(groups=node.groups)


def local_to(
    plan: Node,
    inputs: Mapping[str, Sequence[str]],
    key: Sequence[str] | None = None,
    are_comparable: Callable[[Sources], bool] = lambda sources: True,
) -> tuple[Node, dict[str, Sources]]:
    """The plan over the `inputs`, and the columns of its result that say which part of those each row is of, with their columns.

    Columns that the plan leaves out travel on under hidden names. None where its rows depend on all rows; nor where it is sorted as a whole.
    Where the plan is local to the `key` of the rows, no more is needed to tell them apart.
    """
    if isinstance(plan, Order) or any(isinstance(part, Opaque) for part in walk(plan)):
        return plan, {}
    _, keys = LocalKeys(inputs).of(plan)
    wanted = frozenset(found.sources for found in keys or () if len(found.sources) == len(inputs) and are_comparable(found.sources))
    of_key = frozenset(frozenset({(name, column)}) for name in inputs for column in key or ())
    wanted = of_key if of_key and of_key <= wanted else wanted
    carrying, keys = LocalKeys(inputs, wanted).of(plan)
    shown: dict[Sources, str] = {}
    for found in keys or ():
        if found.name is not None and found.sources in wanted:
            shown.setdefault(found.sources, found.name)
    return carrying, {name: sources for sources, name in shown.items()}

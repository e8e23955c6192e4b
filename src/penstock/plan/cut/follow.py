"""How a plan follows rows that are kept: which of them it must look at again when some have changed.

A plan that is local to some columns of its input looks only at the rows that have there what a changed row has, or had.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.plan.cut.decide import Cut
from penstock.plan.cut.delta import aggregate_of, delta
from penstock.plan.cut.divide import KEPT
from penstock.plan.cut.local_keys import LocalKeys
from penstock.plan.expression.infer import type_of
from penstock.plan.model.names import Names, SchemaOf
from penstock.plan.model.nodes import Node, Opaque, Order, walk
from penstock.schema import Schema

_PLAIN_NAME = re.compile(r"[\w .:-]+")
_FLOATING = re.compile(r"\b(double|float)\b", re.IGNORECASE)


def can_be_indexed(column: str, kind: str = "", key: Sequence[str] | None = None) -> bool:
    """Whether every store can be asked for rows by the value of a column of this name and type, of rows with this key.

    Of floating numbers 0.0 and -0.0 are one value in two texts; in a key there is only the first.
    """
    return _PLAIN_NAME.fullmatch(column) is not None and (_FLOATING.search(kind) is None or column in (key or ()))


@dataclass(frozen=True)
class Way:
    """How a plan follows: by the changes of its aggregate's `groups`, else by the `parts` of its input to which it is local; else as a whole."""

    groups: tuple[str, ...] | None = None
    parts: tuple[str, ...] = ()


def way(cut: Cut, schema_of: SchemaOf) -> Way:
    """How the plan above a cut follows the rows below it, as far as it can be told without Spark."""
    assert cut.upper is not None
    input_ = cut.base or KEPT
    given = Names(schema_of).output(cut.lower)
    schema = Schema(tuple(column for column in given.columns if column.name))
    columns = [column.name for column in schema.columns if can_be_indexed(column.name, column.type, cut.stable)]
    parts = tuple(local_to(cut.upper, input_, columns, cut.stable)[1].values())
    node = aggregate_of(cut.upper, input_)
    if node is None or (cut.stable is not None and set(cut.stable) <= set(parts)):
        return Way(parts=parts)
    look = Names(lambda name: schema if name == input_ else schema_of(name)).items_scope(node).look
    found = delta(cut.upper, input_, lambda text: type_of(text, look))
    return Way(parts=parts) if found is None else Way(groups=node.groups)


def local_to(plan: Node, name: str, columns: Sequence[str], key: Sequence[str] | None = None) -> tuple[Node, dict[str, str]]:
    """The plan over the rows called `name`, and the columns of its result that say which part of those each row is of, with their columns.

    Columns that the plan leaves out travel on under hidden names. None where its rows depend on all rows; nor where it is sorted as a whole.
    Where the plan is local to the `key` of the rows, no more is needed to tell them apart.
    """
    if isinstance(plan, Order) or any(isinstance(part, Opaque) for part in walk(plan)):
        return plan, {}
    inputs = {name: tuple(columns)}
    _, keys = LocalKeys(inputs).of(plan)
    wanted = frozenset(found.sources for found in keys or ())
    of_key = frozenset(frozenset({(name, column)}) for column in key or ())
    wanted = of_key if of_key and of_key <= wanted else wanted
    carrying, keys = LocalKeys(inputs, wanted).of(plan)
    shown: dict[str, str] = {}
    for found in keys or ():
        ((_, source),) = found.sources
        if found.name is not None and found.sources in wanted:
            shown.setdefault(source, found.name)
    return carrying, {column: source for source, column in shown.items()}

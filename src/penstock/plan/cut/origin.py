"""Where the rows of a plan come from: a column that travels from the streams upwards, and tells position, epoch and watermark.

mark       the watermark by which the row was judged: that of the epoch before the one that took it
epoch      the epoch that took it
positions  where it stands in its source
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import assert_never

from penstock.plan.expression.parsed import parsed
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
    quoted,
)

ORIGIN = "__origin"
_POSITIONS_MAX = 5


class Untraceable(Exception):
    """The plan has a shape through which no origin can be carried."""


@dataclass(frozen=True)
class Carried:
    """A plan whose rows have origins in `columns`; `by_name` are those of each relation that a star may name."""

    plan: Node
    columns: tuple[str, ...]
    by_name: dict[str, tuple[str, ...]]

    @property
    def origin(self) -> str:
        """One origin of all: the latest epoch and mark, the positions of both sides of a join."""
        texts = [quoted(column) for column in self.columns]
        if len(texts) == 1:
            return texts[0]
        fields = ", ".join(f"'{field}', greatest({', '.join(f'{text}.{field}' for text in texts)})" for field in ("mark", "epoch"))
        positions = ", ".join(f"{text}.positions" for text in texts)  # one side of an outer join may have none
        return f"named_struct({fields}, 'positions', flatten(array_compact(array({positions}))))"


def column_of(stream: str) -> str:
    return f"{ORIGIN}_{stream}"


def traced_name(stream: str) -> str:
    """The name of the stream whose rows have an origin; under its own name it has its own columns only, so that a star means what it says."""
    return f"__traced_{stream}"


def untraced(name: str) -> str:
    """A stream's own name, of either."""
    return name.removeprefix(traced_name(""))


def carried(node: Node, streams: Collection[str]) -> Carried:
    """The plan with the origins of its streams' rows kept; a group has those of its rows. Untraceable where they are lost."""
    match node:
        case Scan():
            before = next((stream for stream in streams if node.name == traced_name(stream)), None)
            if before is not None:  # the plan has been through here already
                return Carried(node, (column_of(before),), {})
            if node.name not in streams:
                return Carried(node, (), {node.name.lower(): ()})
            columns = (column_of(node.name),)
            return Carried(Alias(Scan(traced_name(node.name)), node.name, where=node.where), columns, {node.name.lower(): columns})
        case Alias(input=Scan(name=name)) if name in streams and not node.columns:
            return Carried(replace(node, input=Scan(traced_name(name))), (column_of(name),), {node.name.lower(): (column_of(name),)})
        case Alias():
            inner = carried(node.input, streams)
            names = (*node.columns, *inner.columns) if node.columns else ()
            if node.columns and isinstance(node.input, Join | Generate):
                raise Untraceable("the columns of a join are renamed")
            return Carried(replace(node, input=inner.plan, columns=names), inner.columns, {node.name.lower(): inner.columns})
        case Filter() | Generate() | Order():
            inner = carried(node.input, streams)
            return replace(inner, plan=replace(node, input=inner.plan))
        case Project(input=input_) if input_ is not None:
            return _projected(node, carried(input_, streams))
        case Aggregate():
            return _grouped(node, carried(node.input, streams))
        case Join():
            return _joined(node, carried(node.left, streams), carried(node.right, streams))
        case Union():
            parts = [_one_column(carried(entry, streams)) for entry in node.inputs]
            return Carried(replace(node, inputs=tuple(parts)), (f"{ORIGIN}_of_union",), {})
        case Project() | SetOperation() | Distinct() | Opaque() | Operate():
            raise Untraceable(f"the origins of rows are lost in {type(node).__name__}")
        case _:
            assert_never(node)


def _projected(node: Project, inner: Carried) -> Carried:
    """What no star of the list gives along is added to it."""
    if any(parsed(item.text).has_window_function for item in node.items):
        raise Untraceable("a row depends on others")
    stars = [star for item in node.items if (star := parsed(item.text).star) is not None]
    named = {item.name for item in node.items}
    given = {column for star in stars for column in (inner.columns if star.qualifier is None else inner.by_name.get(star.qualifier, ()))}
    extra = tuple(Item(quoted(column), column) for column in inner.columns if column not in given and column not in named)
    return Carried(replace(node, input=inner.plan, items=(*node.items, *extra)), inner.columns, {})


def _grouped(node: Aggregate, inner: Carried) -> Carried:
    if not inner.columns:
        raise Untraceable("no stream is read below the groups")
    column, origin = f"{ORIGIN}_of_group_{zlib.crc32(repr(node).encode())}", f"({inner.origin})"
    newest = ", ".join(f"'{field}', max({origin}.{field})" for field in ("mark", "epoch"))
    positions = f"slice(flatten(collect_list({origin}.positions)), 1, {_POSITIONS_MAX})"
    items = (*node.items, Item(f"named_struct({newest}, 'positions', {positions})", column))
    return Carried(replace(node, input=inner.plan, items=items), (column,), {})


def _joined(node: Join, left: Carried, right: Carried) -> Carried:
    if set(left.columns) & set(right.columns):
        raise Untraceable("a stream is joined with itself")
    columns = left.columns if node.kind in ("semi", "anti") else (*left.columns, *right.columns)
    return Carried(replace(node, left=left.plan, right=right.plan), columns, {**left.by_name, **right.by_name})


def _one_column(part: Carried) -> Node:
    """One side of a union: its origins as one last column, so that all sides have it in the same place."""
    if not part.columns:
        raise Untraceable("one side of a union reads no stream")
    left_out = ", ".join(quoted(column) for column in part.columns)
    return Project(Alias(part.plan, f"{ORIGIN}_side"), (Item(f"* EXCEPT ({left_out})"), Item(part.origin, f"{ORIGIN}_of_union")))

"""Which column is a stream's event time, followed through a plan: Spark closes a window only over that very column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from penstock.plan.cut.origin import untraced
from penstock.plan.cut.shape import window_of
from penstock.plan.expression.parsed import Expression, Star, parsed
from penstock.plan.model import terms
from penstock.plan.model.declare import Declaration, Stream
from penstock.plan.model.keys import relation
from penstock.plan.model.names import Names, schemas
from penstock.plan.model.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Generate,
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
)


def closes(node: Aggregate, declared: Mapping[str, Declaration]) -> bool:
    """Whether the aggregate groups by a window over the event time itself; a time that is computed of it is another column."""
    window = window_of(node)
    return window is not None and names_event_time(node.input, window.time, declared)


def times_grouped(node: Aggregate, declared: Mapping[str, Declaration]) -> int:
    """How many groups are an event time or a window over one: of more than one Spark does not know which to hold the watermark against."""
    groups = (parsed(group).unwrapped for group in terms.grouping_expressions(node))
    return sum(names_event_time(node.input, _time(group), declared) for group in groups)


def _time(group: Expression) -> str:
    return group.window.time if group.window is not None and group.output_name in ("window", "session_window") else group.text


def names_event_time(node: Node, text: str, declared: Mapping[str, Declaration]) -> bool:
    """Whether a text over a plan is a name of its event time; a field of a struct may bear the same name."""
    match parsed(text).column:
        case (name,):
            return is_event_time(node, name.lower(), declared)
        case (qualifier, name):
            part = relation(node, qualifier.lower())
            return part is not None and is_event_time(part, name.lower(), declared)
        case _:
            return False


def is_event_time(node: Node, name: str, declared: Mapping[str, Declaration]) -> bool:
    """Whether the column `name` (in lower case) of a plan is the event time of one of the streams, perhaps renamed."""
    match node:
        case Scan():
            entry = declared.get(untraced(node.name))
            time = entry.event_time if isinstance(entry, Stream) else None
            return time is not None and time.lower() == name
        case Project(input=input_) if input_ is not None:
            for item in node.items:
                if terms.item_name(item).lower() == name:
                    return names_event_time(input_, item.text, declared)
            return any(_gives(star, input_, name, declared) for item in node.items if (star := parsed(item.text).star) is not None)
        case Join():
            return any(is_event_time(side, name, declared) for side in (node.left, node.right))
        case Union():
            columns = _in_place_of(name, node.inputs, declared)
            return all(is_event_time(side, column, declared) for side, column in zip(node.inputs, columns, strict=True))
        case Alias(columns=columns) if columns:
            below = _columns(node.input, declared)
            given = [column.lower() for column in columns]
            return name in given and len(below) == len(given) and is_event_time(node.input, below[given.index(name)], declared)
        case Alias() | Filter() | Generate():
            return is_event_time(node.input, name, declared)
        case Operate():
            return passes_time(node, name, declared)
        case Project() | Aggregate() | SetOperation() | Distinct() | Order() | Opaque():
            return False
        case _:
            assert_never(node)


def passes_time(node: Operate, name: str, declared: Mapping[str, Declaration]) -> bool:
    """Whether an operator returns the event time of its input under the same name: what it returns there is then held to the times it was given."""
    column = node.returns.find(name)
    typed = column is not None and column.type == "timestamp"
    return typed and node.is_stateless and is_event_time(node.inputs[0], name, declared)


def keyed_time(node: Operate, declared: Mapping[str, Declaration]) -> str | None:
    """The event time by which a keyed operator takes its rows; None where it takes them as they come."""
    below = node.inputs[0]
    streams = [entry for name in names_read(below) if isinstance(entry := declared.get(untraced(name)), Stream)]
    if node.option("arrival") is not None or any(stream.lateness is None for stream in streams):
        return None
    if node.order:
        return node.order[0] if is_event_time(below, node.order[0].lower(), declared) else None
    return next(iter(event_times(below, declared)), None)


def event_times(node: Node, declared: Mapping[str, Declaration]) -> list[str]:
    """The columns of a plan that are an event time, in lower case."""
    streams = [entry for entry in declared.values() if isinstance(entry, Stream)]
    names = _columns(node, declared) or [stream.event_time.lower() for stream in streams if stream.event_time]
    return [name for name in dict.fromkeys(names) if is_event_time(node, name, declared)]


def _gives(star: Star, node: Node, name: str, declared: Mapping[str, Declaration]) -> bool:
    """Whether `name` is the event time among the columns that a star stands for."""
    part = node if star.qualifier is None else relation(node, star.qualifier)
    return part is not None and name not in star.left_out and is_event_time(part, name, declared)


def _in_place_of(name: str, sides: tuple[Node, ...], declared: Mapping[str, Declaration]) -> list[str]:
    """What the column `name` of a union is called in each of its sides: the places count, and the names where places are not known."""
    columns = [_columns(side, declared) for side in sides]
    place = columns[0].index(name) if name in columns[0] else -1
    if place < 0 or any(len(side) != len(columns[0]) for side in columns):
        return [name] * len(sides)
    return [side[place] if side.count(side[place]) == 1 else "" for side in columns]


def _columns(node: Node, declared: Mapping[str, Declaration]) -> list[str]:
    """The names of a plan's columns in their places, in lower case; none where they are not all known."""
    found = Names(schemas(declared)).output(node)
    return [] if found.open else [column.name.lower() for column in found.columns]

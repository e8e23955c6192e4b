"""Which column is a stream's event time, followed through a plan: Spark closes a window only over that very column."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan import scalar, terms
from penstock.plan.declare import Declaration, Stream
from penstock.plan.keys import relation
from penstock.plan.names import Names, schemas
from penstock.plan.nodes import Aggregate, Alias, Filter, Generate, Join, Node, Project, Scan, Union
from penstock.plan.shape import window_of


def closes(node: Aggregate, declared: Mapping[str, Declaration]) -> bool:
    """Whether the aggregate groups by a window over the event time itself; a time that is computed of it is another column."""
    window = window_of(node)
    return window is not None and names_event_time(node.input, window.time, declared)


def times_grouped(node: Aggregate, declared: Mapping[str, Declaration]) -> int:
    """How many groups are an event time or a window over one: of more than one Spark does not know which to hold the watermark against."""
    groups = [terms.unwrapped(group) for group in terms.grouping_expressions(node)]
    windows = [window for window in map(scalar.window_call, filter(_is_window, groups)) if window is not None]
    times = [group for group in groups if not _is_window(group)] + [window.time for window in windows]
    return sum(names_event_time(node.input, text, declared) for text in times)


def _is_window(group: str) -> bool:
    return scalar.output_name(group) in ("window", "session_window") and scalar.window_call(group) is not None


def names_event_time(node: Node, text: str, declared: Mapping[str, Declaration]) -> bool:
    """Whether a text over a plan is a name of its event time; a field of a struct may bear the same name."""
    match terms.column_parts(text):
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
            entry = declared.get(node.name)
            time = entry.event_time if isinstance(entry, Stream) else None
            return time is not None and time.lower() == name
        case Project(input=input_) if input_ is not None:
            for item in node.items:
                if terms.item_name(item).lower() == name:
                    return names_event_time(input_, item.text, declared)
            return any(_gives(star, input_, name, declared) for item in node.items if (star := terms.star(item)) is not None)
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
        case _:
            return False


def _gives(star: terms.Star, node: Node, name: str, declared: Mapping[str, Declaration]) -> bool:
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

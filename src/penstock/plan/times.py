"""Which column is a stream's event time, followed through a plan: Spark closes a window only over that very column."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan import terms
from penstock.plan.declare import Stream
from penstock.plan.keys import relation
from penstock.plan.nodes import Aggregate, Alias, Filter, Generate, Join, Node, Project, Scan, Union
from penstock.plan.shape import window_of


def closes(node: Aggregate, streams: Mapping[str, Stream]) -> bool:
    """Whether the aggregate groups by a window over the event time itself; a time that is computed of it is another column."""
    window = window_of(node)
    return window is not None and _names_event_time(node.input, window.time, streams)


def _names_event_time(node: Node, text: str, streams: Mapping[str, Stream]) -> bool:
    """Whether a text over a plan is a name of its event time; a field of a struct may bear the same name."""
    match terms.column_parts(text):
        case (name,):
            return is_event_time(node, name.lower(), streams)
        case (qualifier, name):
            part = relation(node, qualifier.lower())
            return part is not None and is_event_time(part, name.lower(), streams)
        case _:
            return False


def is_event_time(node: Node, name: str, streams: Mapping[str, Stream]) -> bool:
    """Whether the column `name` (in lower case) of a plan is the event time of one of the streams, perhaps renamed."""
    match node:
        case Scan():
            time = streams[node.name].event_time if node.name in streams else None
            return time is not None and time.lower() == name
        case Project(input=input_) if input_ is not None:
            for item in node.items:
                if terms.item_name(item).lower() == name:
                    return _names_event_time(input_, item.text, streams)
            return any(_gives(star, input_, name, streams) for item in node.items if (star := terms.star(item)) is not None)
        case Join():
            return any(is_event_time(side, name, streams) for side in (node.left, node.right))
        case Union():
            return any(is_event_time(side, name, streams) for side in node.inputs)
        case Alias() | Filter() | Generate():
            return is_event_time(node.input, name, streams)
        case _:
            return False


def _gives(star: terms.Star, node: Node, name: str, streams: Mapping[str, Stream]) -> bool:
    """Whether `name` is the event time among the columns that a star stands for."""
    part = node if star.qualifier is None else relation(node, star.qualifier)
    return part is not None and name not in star.left_out and is_event_time(part, name, streams)

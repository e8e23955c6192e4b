"""Which column is a stream's event time, followed through a plan: Spark closes a window only over that very column."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan import scalar, terms
from penstock.plan.declare import Stream
from penstock.plan.nodes import Aggregate, Alias, Filter, Generate, Join, Node, Project, Scan, Union
from penstock.plan.shape import window_of


def closes(node: Aggregate, streams: Mapping[str, Stream]) -> bool:
    """Whether the aggregate groups by a window over the event time itself; a time that is computed of it is another column."""
    window = window_of(node)
    name = None if window is None else scalar.output_name(window.time)
    return name is not None and is_event_time(node.input, name.lower(), streams)


def is_event_time(node: Node, name: str, streams: Mapping[str, Stream]) -> bool:
    """Whether the column `name` (in lower case) of a plan is the event time of one of the streams, perhaps renamed."""
    match node:
        case Scan():
            time = streams[node.name].event_time if node.name in streams else None
            return time is not None and time.lower() == name
        case Project(input=input_) if input_ is not None:
            for item in node.items:
                if terms.item_name(item).lower() == name:
                    below = scalar.output_name(item.text)
                    return below is not None and is_event_time(input_, below.lower(), streams)
            return any(terms.star(item) is not None for item in node.items) and is_event_time(input_, name, streams)
        case Join():
            return any(is_event_time(side, name, streams) for side in (node.left, node.right))
        case Union():
            return any(is_event_time(side, name, streams) for side in node.inputs)
        case Alias() | Filter() | Generate():
            return is_event_time(node.input, name, streams)
        case _:
            return False

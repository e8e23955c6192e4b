"""Late rows in batch: a plan that leaves out what the watermark dropped when the view ran live, and one that counts it.

Spark judges a row of epoch N by the watermark of epoch N-1: a window that ended at or before it takes the row no more; a row of a
join whose own time is at or before it is dropped. So a row may be late for some of its sliding windows and not for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.errors import UserError
from penstock.eventtime import delay
from penstock.plan.cut.closed import held_back_ms, only_closed
from penstock.plan.cut.origin import Untraceable, carried, column_of, traced_name
from penstock.plan.cut.shape import Shapes, window_of
from penstock.plan.cut.times import closes, keyed_time
from penstock.plan.expression.calls import WindowCall
from penstock.plan.expression.parsed import parsed, substitute
from penstock.plan.model import terms
from penstock.plan.model.declare import Stream
from penstock.plan.model.nodes import Aggregate, Filter, Generate, Item, Join, Node, Operate, Project, Scan, names_read, quoted, rebuild, walk

_WINDOW = "window"


@dataclass(frozen=True)
class Judged:
    """A plan without the late rows, and plans that count them.

    `joined` are the streams whose late rows are dropped by a join: they are to be left out where the stream is read, and each is
    counted by its plan before that.
    """

    plan: Node
    counts: tuple[Node, ...]
    joined: Mapping[str, Node]


def judged(plan: Node, streams: Mapping[str, Stream], *, on_close: bool) -> Judged:
    """The plan as the watermark of each epoch had it. Untraceable where the shape does not show that."""
    timed = {name: stream for name, stream in streams.items() if stream.event_time}
    shapes = Shapes(lambda name: name in streams)
    counts: list[Node] = []

    def leave_out(node: Node) -> Node:
        if isinstance(node, Aggregate) and _closes(node, shapes, timed, on_close):
            without, count = _without_late(node, streams)
            counts.append(count)
            return without
        if isinstance(node, Operate) and node.is_keyed and shapes.stateless(node.inputs[0]) and (time := keyed_time(node, streams)) is not None:
            inner = carried(node.inputs[0], streams)
            mark = f"({inner.origin}).mark"
            counts.append(_counted(Filter(Project(inner.plan, (Item("*"),)), f"{quoted(time)} <= {mark}")))
            return replace(node, inputs=(Project(Filter(Project(inner.plan, (Item("*"),)), f"{quoted(time)} > {mark}"), (Item("*"),)),))
        return rebuild(node, leave_out)

    found = leave_out(plan)
    joined = [name for node in walk(plan) if isinstance(node, Join) for name in _judged_sides(node, plan, shapes, timed)]
    return Judged(found, tuple(dict.fromkeys(counts)), {name: _late_in_join(timed[name]) for name in joined})


def closed_at(plan: Node, streams: Mapping[str, Stream], mark_ms: int) -> Node:
    """The plan of a view ON WINDOW CLOSE with the watermark of the checkpoint, where it asks the history for one."""
    marks = {sub for name in streams for sub in _asked(streams[name])}

    def fixed(node: Node) -> Node:
        node = rebuild(node, fixed)
        if not isinstance(node, Aggregate) or not marks & set(node.subs):
            return node
        mark = Project(None, (Item(f"timestamp_millis({mark_ms}L)", "watermark"),))
        return replace(node, subs=tuple(mark if sub in marks else sub for sub in node.subs))

    return fixed(plan)


def _asked(stream: Stream) -> tuple[Node, ...]:
    """How a batch run asks for the watermark of a stream."""
    if not stream.event_time:
        return ()
    probe = only_closed(Aggregate(Scan(stream.name), ("window(t, '1 second')",), (Item("1"),)), {stream.name: stream})
    return probe.subs if isinstance(probe, Aggregate) else ()


def _closes(node: Aggregate, shapes: Shapes, streams: Mapping[str, Stream], on_close: bool) -> bool:
    """Whether Spark drops rows here: a window over the event time itself, on rows that it has from streams and not from what is kept."""
    window = window_of(node)
    if window is None or not (shapes.stateless(node.input) or (on_close and shapes.stream_join(node.input))):
        return False
    return closes(node, streams)


def _without_late(node: Aggregate, streams: Mapping[str, Stream]) -> tuple[Node, Node]:
    """The aggregate over rows that were in time, and a count of those that were not."""
    window = window_of(node)
    assert window is not None
    inner = carried(node.input, streams)
    if not inner.columns:
        raise Untraceable("no stream is read below the window")
    mark, held_back = f"({inner.origin}).mark", held_back_ms(node.input, streams)
    if held_back:
        mark = f"timestampadd(MILLISECOND, -{held_back}L, {mark})"
    if window.kind == "session":
        end = f"timestampadd(MICROSECOND, {_micros(window.size)}L, {window.time})"
        return replace(node, input=Filter(inner.plan, f"{end} > {mark}")), _counted(Filter(inner.plan, f"{end} <= {mark}"))
    group = next(group for group in terms.grouping_expressions(node) if parsed(group).window is not None)
    if parsed(group).output_name != _WINDOW:
        raise Untraceable("the window is grouped by a part of it")
    every = _windows(window)
    late = f"exists({every}, __w -> __w.end <= {mark})"
    in_time = _below_filters(
        inner.plan, lambda plan: Generate(plan, f"LATERAL VIEW explode(filter({every}, __w -> __w.end > {mark})) __windows AS window")
    )
    plain = Aggregate(
        in_time,
        tuple(_WINDOW if other == group else other for other in node.groups),
        tuple(_plain_item(item) for item in node.items),
        None if node.having is None else _plain(node.having),
        None if node.grouping is None else _plain(node.grouping),
        node.subs,
    )
    return plain, _counted(Filter(inner.plan, late))


def _counted(plan: Node) -> Node:
    return Aggregate(plan, (), (Item("count(*)", "late"),))


def _below_filters(node: Node, change: Callable[[Node], Node]) -> Node:
    """A lateral view stands before WHERE in a SELECT, so it is put below the filters: what they name stays in their reach."""
    return replace(node, input=_below_filters(node.input, change)) if isinstance(node, Filter) else change(node)


def _windows(window: WindowCall) -> str:
    """The windows of a row, as Spark makes them: an array of (start, end)."""
    size = _micros(window.size)
    step = size if window.slide is None else _micros(window.slide)
    offset = 0 if window.offset is None else _micros(window.offset)
    time = f"unix_micros({window.time})"
    last = f"({time} - pmod({time} - {offset}L, {step}L))"
    starts = f"sequence({last} - {(-(-size // step) - 1) * step}L, {last}, {step}L)"
    inside = f"filter({starts}, __s -> __s + {size}L > {time})"
    return f"transform({inside}, __s -> named_struct('start', timestamp_micros(__s), 'end', timestamp_micros(__s + {size}L)))"


def _micros(text: str | None) -> int:
    if text is None:
        raise Untraceable("the size of the window is not a constant")
    try:
        return delay(text)
    except UserError as error:
        raise Untraceable(str(error)) from error


def _plain_item(item: Item) -> Item:
    changed = _plain(item.text)
    return item if changed == item.text else Item(changed, item.name or terms.item_name(item) or None)


def _plain(text: str) -> str:
    """The text with every call of window() as the column that is there instead."""
    places = [(call.start, call.end, _WINDOW) for call in parsed(text).calls if call.name == "window"]
    return substitute(text, places)


def _judged_sides(join: Join, plan: Node, shapes: Shapes, streams: Mapping[str, Stream]) -> list[str]:
    """The streams of a join of streams whose event time reaches the join, because something asks for it."""
    if not shapes.stream_join(join):
        return []
    asked = _asked_columns(plan)
    times = {name: (streams[name].event_time or "").lower() for name in names_read(join) if name in streams}
    return [name for name, time in times.items() if asked is None or time in asked]


def _asked_columns(plan: Node) -> set[str] | None:
    """The last names of all columns that the plan asks for; None where a star asks for all."""
    found: set[str] = set()
    for node in walk(plan):
        if isinstance(node, Project | Aggregate) and any(parsed(item.text).star is not None for item in node.items):
            return None
        texts = [item.text for item in getattr(node, "items", ())] + [str(text) for text in getattr(node, "groups", ())]
        texts += [text for text in (getattr(node, "condition", None), getattr(node, "on", None), getattr(node, "having", None)) if text]
        found |= {ref.name.lower() for text in texts for ref in parsed(text).columns}
    return found


def in_time(stream: Stream) -> str:
    """The condition under which a join takes a row of the stream."""
    time = quoted(stream.event_time or "")
    return f"({time} IS NULL OR {time} > {quoted(column_of(stream.name))}.mark)"


def _late_in_join(stream: Stream) -> Node:
    return _counted(Filter(Scan(traced_name(stream.name)), f"NOT {in_time(stream)}"))

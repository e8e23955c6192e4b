"""Finds views whose state grows without end, and views that wait for a window that never closes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.plan import reread
from penstock.plan.declare import Declaration, Declared, Emit, Stream, Table, View
from penstock.plan.findings import ERROR, WARNING, Finding, Spot, placed
from penstock.plan.names import Names
from penstock.plan.nodes import Aggregate, Distinct, Filter, Join, Node, Opaque, Union, names_read, walk
from penstock.plan.resolve import Relation
from penstock.plan.shape import window_of
from penstock.plan.terms import bounds_time, grouping_expressions
from penstock.plan.types import fields_of
from penstock.plan.watermarks import scoped
from penstock.schema import family

_FOREVER = "its state is never dropped"


def state_findings(view: View, declared: Declared, names: Names) -> Iterator[Finding]:
    """What a view keeps for ever, and what EMIT ON WINDOW CLOSE lacks."""
    entries = scoped(view, declared.declarations)
    if view.emit is Emit.ON_CLOSE:
        yield from _closing(view, entries)
    for node in walk(view.query):
        match node:
            case Aggregate():
                yield from _aggregate(view, node, entries)
            case Join():
                yield from _join(view, node, entries)
            case Distinct():
                yield from _distinct(view, node, entries, names)
            case _:
                continue


def _closing(view: View, entries: Mapping[str, Declaration]) -> Iterator[Finding]:
    windows = [node for node in walk(view.query) if isinstance(node, Aggregate) and window_of(node) is not None]
    hidden = next((node for node in walk(view.query) if isinstance(node, Opaque) and _hides_windows(node, entries, windows)), None)
    if hidden is not None:
        hint = "QUALIFY, NATURAL JOIN, PIVOT, BY NAME and |> are not looked into: group in a subquery, and filter it with WHERE or join it with ON"
        yield _found(view, Spot(hidden.where), f"`{view.name}` emits on window close, but its windows cannot be seen in this query", hint, ERROR)
    elif not windows:
        hint = "group by window(...) or session_window(...), or emit changes instead"
        yield _found(view, Spot(view.query.where), f"`{view.name}` emits on window close, but groups by no window", hint, ERROR)
    for node in windows:
        for stream in _streams(node.input, entries):
            if stream.event_time is None or stream.lateness is None:
                lacks = "no event time" if stream.event_time is None else "no lateness"
                hint = (
                    f"declare it on `{stream.name}`: WATERMARK FOR {stream.event_time or 'at'} AS {stream.event_time or 'at'} - INTERVAL 10 SECONDS"
                )
                message = f"a window over `{stream.name}` never closes: the stream has {lacks}"
                yield _found(view, Spot(node.where), message, hint, ERROR)


def _hides_windows(node: Opaque, entries: Mapping[str, Declaration], seen: Sequence[Aggregate]) -> bool:
    """Whether rows of a stream may be given out by windows that only Spark sees, which would not wait for their close."""
    live = any(isinstance(entries.get(name), Stream | View) for name in node.names)
    return live and (not seen or reread.window_call(node.sql) is not None)


def _aggregate(view: View, node: Aggregate, entries: Mapping[str, Declaration]) -> Iterator[Finding]:
    streams = _streams(node.input, entries)
    if not streams or view.emit is Emit.ON_CLOSE:
        return
    if window_of(node) is not None:
        for stream in streams:
            if stream.event_time is None or stream.lateness is None:
                hint = f"declare an event time and its lateness on `{stream.name}` (WATERMARK FOR ...)"
                yield _found(view, Spot(node.where), f"GROUP BY a window over `{stream.name}`, which has no event time: {_FOREVER}", hint)
        return
    grown = [group for group in grouping_expressions(node) if not _bounded(group, node.input, entries)]
    if grown:
        hint = "group by a window too, or accept one kept row per group"
        yield _found(view, Spot(node.where), f"GROUP BY {', '.join(grown)} keeps one row per group: {_FOREVER}", hint)


def _join(view: View, node: Join, entries: Mapping[str, Declaration]) -> Iterator[Finding]:
    left, right = _streams(node.left, entries), _streams(node.right, entries)
    if not left or not right or any(isinstance(part, Aggregate | Opaque) for part in walk(node)):
        return
    times = [stream.event_time for stream in (*left, *right)]
    conditions = [node.on or "", *(part.condition for part in walk(view.query) if isinstance(part, Filter))]
    if all(times) and any(bounds_time(text, {str(time).lower() for time in times}) for text in conditions):
        return
    names = f"`{left[0].name}` and `{right[0].name}`"
    hint = "declare the event time of both, and bound it: ... AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
    yield _found(view, Spot(node.where), f"JOIN of the streams {names} without a bound on time: {_FOREVER}", hint)


def _distinct(view: View, node: Distinct, entries: Mapping[str, Declaration], names: Names) -> Iterator[Finding]:
    streams = _streams(node.input, entries)
    below = [part for part in walk(node.input) if isinstance(part, Aggregate | Opaque)]
    if not streams or below or isinstance(node.input, Union):
        return
    output = names.output(node.input)
    timed = any(_is_time(output, stream) for stream in streams)
    if not timed:
        hint = "select the event-time column too, or group by a window"
        yield _found(view, Spot(node.where), f"DISTINCT without event time keeps every row it has seen: {_FOREVER}", hint)


def _is_time(output: Relation, stream: Stream) -> bool:
    if output.open:
        return True
    return any(fields_of(column.type) is not None or family(column.type) == "time" for column in output.columns) and stream.event_time is not None


def _bounded(group: str, below: Node, entries: Mapping[str, Declaration]) -> bool:
    """Whether a group takes its values from a table, which has an end, or is a constant."""
    tables = [entries.get(name) for name in names_read(below)]
    known = {name.lower() for table in tables if isinstance(table, Table) for name in table.schema.names}
    streamed = {name.lower() for entry in tables if isinstance(entry, Stream) for name in entry.schema.names}
    return all(ref.name.lower() in known - streamed for ref in reread.column_refs(group))


def _streams(node: Node, entries: Mapping[str, Declaration]) -> list[Stream]:
    found = (entries.get(name) for name in names_read(node))
    return [entry for entry in found if isinstance(entry, Stream)]


def _found(view: View, spot: Spot, message: str, hint: str, severity: str = WARNING) -> Finding:
    where, excerpt = placed(view, spot)
    return Finding(severity, "PlanFault", message, where, excerpt, hint)

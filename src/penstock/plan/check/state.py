"""Finds views whose state grows without end, and views that wait for a window that never closes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from penstock.errors import UserError
from penstock.eventtime import delay
from penstock.plan.cut.inline import inlined
from penstock.plan.cut.join_bound import bounded_both_ways
from penstock.plan.cut.shape import Shapes, window_of
from penstock.plan.cut.times import closes, times_grouped
from penstock.plan.expression.calls import WindowCall
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import Declaration, Declared, Emit, Stream, View
from penstock.plan.model.findings import ERROR, WARNING, Finding, Spot, placed
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
    walk,
)
from penstock.plan.model.terms import is_group, windows_of
from penstock.plan.model.watermarks import scoped
from penstock.plan.model.wrong_shapes import distinct_in_sets_of_sessions

_FOREVER = "its state is never dropped"


def state_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """What a view keeps for ever, and what EMIT ON WINDOW CLOSE lacks. Views that only pass rows on are looked through."""
    seen = _Seen(view, scoped(view, declared.declarations))
    if view.emit is Emit.ON_CLOSE:
        yield from _closing(seen)
    for node in walk(view.query):
        match node:
            case Aggregate():
                yield from _several_windows(seen, node)
                yield from _distinct_in_sets(seen, node)
                yield from _aggregate(seen, node)
            case Join():
                yield from _join(seen, node)
            case Distinct():
                yield from _distinct(seen, node)
            case Scan() | Alias() | Filter() | Project() | Generate() | Union() | SetOperation() | Order() | Opaque() | Operate():
                continue
            case _:
                assert_never(node)


class _Seen:
    """A view with the declarations as it sees them."""

    def __init__(self, view: View, entries: Mapping[str, Declaration]) -> None:
        self.view, self.entries = view, entries
        self.streams = {name: entry for name, entry in entries.items() if isinstance(entry, Stream)}
        self.shapes = Shapes(lambda name: name in self.streams)

    def through(self, node: Node) -> Node:
        """The plan with the views that keep nothing themselves replaced by theirs: their rows become state here."""
        return inlined(node, self.entries, lambda view: not self.shapes.stateless(inlined(view.query, self.entries)))

    def read(self, node: Node) -> list[Stream]:
        return [self.streams[name] for name in names_read(node) if name in self.streams]

    def found(self, node: Node, message: str, hint: str, severity: str = WARNING) -> Finding:
        """Placed at the node, or at the whole query where the node stands in another view."""
        own = any(part.where == node.where for part in walk(self.view.query))
        where, excerpt = placed(self.view, Spot(node.where if own else self.view.query.where))
        return Finding(severity, "PlanFault", message, where, excerpt, hint)

    def stays_open(self, node: Aggregate) -> tuple[str, str] | None:
        """Why a window is never closed by the watermark, and what to do; None where it is, or where that is not known."""
        window, streams = window_of(node), self.read(node.input)
        assert window is not None
        for stream in streams:
            if stream.event_time is None or stream.lateness is None:
                time = stream.event_time or parsed(window.time).output_name or "at"
                lacks = "no event time" if stream.event_time is None else "no lateness"
                hint = f"declare it on `{stream.name}`: WATERMARK FOR {time} AS {time} - INTERVAL 10 SECONDS"
                return f"a window over `{stream.name}` never closes: the stream has {lacks}", hint
        followed = self.shapes.stateless(node.input) or self.shapes.stream_join(node.input)
        names = Names(schemas(self.entries))
        renamed = any(isinstance(part, Alias) and part.columns and names.output(part.input).open for part in walk(node.input))
        if not streams or not followed or renamed or closes(node, self.entries):
            return None
        times = ", ".join(f"`{stream.event_time}` of `{stream.name}`" for stream in streams)
        hint = f"group by window({streams[0].event_time}, ...), or declare the stream's WATERMARK FOR the column that you group by"
        return f"a window over `{window.time}` never closes: the event time is {times}", hint


def _closing(seen: _Seen) -> Iterator[Finding]:
    whole = inlined(seen.view.query, seen.entries)
    windows = [node for node in walk(whole) if isinstance(node, Aggregate) and window_of(node) is not None]
    hidden = next((node for node in walk(whole) if isinstance(node, Opaque) and _hides_windows(node, seen.entries, windows)), None)
    if hidden is not None:
        hint = "NATURAL JOIN, PIVOT and |> are not looked into: group in a subquery, and filter it with WHERE or join it with ON"
        yield seen.found(hidden, f"`{seen.view.name}` emits on window close, but its windows cannot be seen in this query", hint, ERROR)
    elif not windows:
        hint = "group by window(...) or session_window(...), or emit changes instead"
        yield seen.found(seen.view.query, f"`{seen.view.name}` emits on window close, but groups by no window", hint, ERROR)
    for node in windows:
        open_end = seen.stays_open(node)
        if open_end is not None:
            yield seen.found(node, *open_end, ERROR)


def _hides_windows(node: Opaque, entries: Mapping[str, Declaration], seen: Sequence[Aggregate]) -> bool:
    """Whether rows of a stream may be given out by windows that only Spark sees, which would not wait for their close."""
    live = any(isinstance(entries.get(name), Stream | View) for name in node.names)
    return live and (not seen or parsed(node.sql).window is not None)


def _aggregate(seen: _Seen, node: Aggregate) -> Iterator[Finding]:
    """Windows that never close. A plain GROUP BY keeps a row per group as its author wants it; `explain` says how many."""
    below = seen.through(node.input)
    if not seen.read(below) or seen.view.emit is Emit.ON_CLOSE:
        return
    window = window_of(node)
    if window is not None and window.kind == "session":
        return  # sessions that may still change are worked out from the history: nothing is kept of them
    if window is not None:
        open_end = seen.stays_open(replace(node, input=below))
        if open_end is not None:
            yield seen.found(node, f"{open_end[0]}: {_FOREVER}", open_end[1])
        elif times_grouped(replace(node, input=below), seen.entries) > 1:
            hint = "group by the window alone, or accept one kept row per group"
            yield seen.found(node, f"GROUP BY a window and an event time beside it keeps one row per group: {_FOREVER}", hint)


def _several_windows(seen: _Seen, node: Aggregate) -> Iterator[Finding]:
    """Spark groups by one window; the same one may be written twice."""
    windows = windows_of(node)
    if any(_differ(windows[0], window) for window in windows[1:]):
        hint = "group by one of them, and make the other from it in a view above: window(window, '1 day')"
        yield seen.found(node, "GROUP BY takes one window, and here are two that differ", hint, ERROR)


def _distinct_in_sets(seen: _Seen, node: Aggregate) -> Iterator[Finding]:
    if distinct_in_sets_of_sessions(node):
        hint = "write one SELECT for each grouping set, with UNION ALL between them"
        yield seen.found(node, "DISTINCT aggregates of sessions in ROLLUP, CUBE or GROUPING SETS have no right answer from Spark", hint, ERROR)


def _differ(one: WindowCall, other: WindowCall) -> bool:
    if one.kind != other.kind or not is_group(one.time, other.time):
        return True
    return any(_micros(a) != _micros(b) for a, b in ((one.size, other.size), (one.slide, other.slide), (one.offset, other.offset)))


def _micros(duration: str | None) -> int | str | None:
    try:
        return delay(duration or "0 seconds")
    except UserError:
        return duration


def _join(seen: _Seen, node: Join) -> Iterator[Finding]:
    below = seen.through(node)
    assert isinstance(below, Join)
    left, right = seen.read(below.left), seen.read(below.right)
    if not left or not right or any(isinstance(part, Aggregate | Opaque) for part in walk(below)):
        return
    if bounded_both_ways(seen.through(seen.view.query), seen.entries, below):
        return
    names = f"`{left[0].name}` and `{right[0].name}`"
    hint = "declare the event time of both, and bound it both ways: ... AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR"
    yield seen.found(node, f"JOIN of the streams {names} without a bound on time both ways: {_FOREVER}", hint)


def _distinct(seen: _Seen, node: Distinct) -> Iterator[Finding]:
    """Spark keeps every row of a DISTINCT, also where the event time is one of its columns: a watermark would drop late rows."""
    if seen.shapes.stateless(seen.through(node.input)):
        words, other = ("UNION", "write UNION ALL, or ") if isinstance(node.input, Union) else ("DISTINCT", "")
        hint = f"{other}group by the columns and by a window: GROUP BY window(at, '1 hour'), ..."
        yield seen.found(node, f"{words} keeps every row it has seen: {_FOREVER}", hint)

"""What Spark maintains incrementally and rightly on a stream, by the shape of a plan.

Not refused is not the same as right: Spark accepts an aggregate joined with an aggregate of the same stream, or a filter
above one, in update mode, and never takes back a row that has left. Only the shapes named here are trusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from penstock.plan.cut.divide import having_guards
from penstock.plan.expression.calls import WindowCall
from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.keys import can_be_keyed
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
from penstock.plan.model.text import sql

_COLLATE = re.compile(r"\bcollate\b", re.IGNORECASE)
_STREAM_SIDES = {"inner": "both", "cross": "both", "left": "left", "semi": "left", "anti": "left", "right": "right", "full": ""}


@dataclass(frozen=True)
class Shapes:
    """The questions, asked with knowledge of which names are streams, and of aggregates whose subqueries name columns of theirs."""

    is_stream: Callable[[str], bool]
    is_correlated: Callable[[Aggregate], bool] = lambda node: False
    gathers: Callable[[Node, str | None], bool] = lambda plan, join: False
    """Whether Spark gathers the rows around a subquery, or around the lateral side of a join of that kind, before it answers."""
    has_one_time: Callable[[Aggregate], bool] = lambda node: True
    """Whether no more than one of the groups is an event time or a window over one, as Spark wants it where there is a watermark."""
    is_bounded: Callable[[Node], bool] = lambda join: False
    """Whether a join of streams is bounded by time both ways, so that the watermark tells above it which rows can still come."""

    is_ordered: Callable[[Operate], bool] = lambda node: True
    """Whether a keyed operator takes its rows by event time or as they come, and by nothing else."""

    def reads_stream(self, node: Node) -> bool:
        return any(self.is_stream(name) for name in names_read(node))

    def _static_subs(self, node: Filter | Project | Aggregate | Join | Order) -> bool:
        return not any(self.reads_stream(plan) or self.gathers(plan, None) for plan in node.subs)

    def stateless(self, node: Node) -> bool:
        """Each input row gives its output rows alone: filter, project, explode, union, a join with a table."""
        match node:
            case Scan():
                return self.is_stream(node.name)
            case Alias() | Generate():
                return self.stateless(node.input)
            case Filter():
                return self._static_subs(node) and self.stateless(node.input)
            case Project(input=input_) if input_ is not None:
                analytic = any(parsed(item.text).has_window_function for item in node.items)
                return not analytic and self._static_subs(node) and self.stateless(input_)
            case Join():
                return self._stream_table_join(node)
            case Union():
                return all(self.stateless(entry) for entry in node.inputs)
            case Operate():
                return node.is_stateless and self.stateless(node.inputs[0])
            case Project() | Aggregate() | SetOperation() | Distinct() | Order() | Opaque():
                return False
            case _:
                assert_never(node)

    def _stream_table_join(self, node: Join) -> bool:
        sides = _STREAM_SIDES[node.kind]
        if not self._static_subs(node) or (node.lateral and self.gathers(node.right, node.kind)):
            return False
        if not self.reads_stream(node.right):
            return sides in ("both", "left") and self.stateless(node.left)
        return sides in ("both", "right") and not node.lateral and not self.reads_stream(node.left) and self.stateless(node.right)

    def keyed(self, node: Node) -> bool:
        """A keyed operator over rows that stand for themselves, itself perhaps filtered and projected: its rows come once and stay."""
        match node:
            case Operate():
                return node.is_keyed and self.stateless(node.inputs[0]) and self.is_ordered(node)
            case Alias() | Generate():
                return self.keyed(node.input)
            case Filter():
                return self._static_subs(node) and self.keyed(node.input)
            case Project(input=input_) if input_ is not None:
                analytic = any(parsed(item.text).has_window_function for item in node.items)
                return not analytic and self._static_subs(node) and self.keyed(input_)
            case Scan() | Project() | Join() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque():
                return False
            case _:
                assert_never(node)

    def stream_join(self, node: Node) -> bool:
        """An inner equi-join of two streams, itself perhaps filtered and projected: rows come once and stay."""
        match node:
            case Join():
                both = self.stateless(node.left) and self.stateless(node.right)
                plain = node.kind == "inner" and not node.lateral and not collates(node)
                return both and plain and self._static_subs(node) and equates_columns(node)
            case Alias() | Generate():
                return self.stream_join(node.input)
            case Filter():
                return self._static_subs(node) and self.stream_join(node.input)
            case Project(input=input_) if input_ is not None:
                analytic = any(parsed(item.text).has_window_function for item in node.items)
                return not analytic and self._static_subs(node) and self.stream_join(input_)
            case Operate():
                return node.is_stateless and self.stream_join(node.inputs[0])
            case Scan() | Project() | Aggregate() | Union() | SetOperation() | Distinct() | Order() | Opaque():
                return False
            case _:
                assert_never(node)

    def appends(self, node: Node) -> bool:
        """Rows are only ever added: stateless, a stream-stream join, or a bare LIMIT of either."""
        if isinstance(node, Order) and not node.keys and node.limit is not None and node.offset is None:
            node = node.input
        return self.stateless(node) or self.stream_join(node)

    def distinct(self, node: Node) -> bool:
        """SELECT DISTINCT of a stateless plan: Spark keeps the rows seen."""
        return isinstance(node, Distinct) and self.stateless(node.input) and not collates(node)

    def aggregate(self, node: Node, *, on_close: bool) -> bool:
        """One aggregate that Spark maintains: no DISTINCT aggregates, no window functions, no stream in subqueries.

        Nor a correlated one in HAVING, unless windows are given out when they close: of changes HAVING is a flag, where Spark takes none.
        """
        if not isinstance(node, Aggregate) or not self._static_subs(node) or not (on_close or (can_be_keyed(node) and having_guards(node))):
            return False
        if collates(node) or not all(map(_is_of_one_pass, terms.texts_of(node))):
            return False
        window = window_of(node)
        if on_close:
            sessions_alone = window is not None and window.kind == "session" and len(terms.grouping_expressions(node)) == 1
            plain = node.grouping is None or terms.is_group_by_all(node)
            return window is not None and plain and not sessions_alone and self.has_one_time(node) and self._close_input(node.input)
        if terms.groups_sessions(node) or (terms.asks_in_having(node) and self.is_correlated(node)):
            return False
        return self.stateless(node.input) or (window is None and self.stream_join(node.input))

    def _close_input(self, node: Node) -> bool:
        return self.stateless(node) or (self.stream_join(node) and self.is_bounded(node))


def _is_of_one_pass(text: str) -> bool:
    calls = parsed(text).aggregates
    return not (parsed(text).makes_rows or parsed(text).has_window_function or any(call.distinct for call in calls))


def collates(node: Node) -> bool:
    """Whether texts are compared by a collation: Spark's state tells keys apart by their bytes, and refuses such."""
    return _COLLATE.search(sql(node)) is not None


def window_of(node: Aggregate) -> WindowCall | None:
    """The time window that the aggregate groups by, if any: a part of one, `window(at, '1 hour').start`, is closed by no watermark."""
    whole = (parsed(text).unwrapped for text in terms.grouping_expressions(node))
    return next((group.window for group in whole if group.output_name in ("window", "session_window") and group.window is not None), None)


def equates_columns(node: Join) -> bool:
    """True where the join has at least one `a.x = b.y`, without which Spark refuses two streams."""
    if node.using:
        return True
    if node.on is None:
        return False
    for conjunct in parsed(node.on).conjuncts:
        sides = parsed(conjunct).equality
        if sides is None:
            continue
        left, right = ({ref.qualifier for ref in parsed(side).columns} for side in sides)
        if len(left) == len(right) == 1 and left != right and None not in left | right:
            return True
    return False

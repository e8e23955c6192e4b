"""The Python face: declarations and queries as values, the same plan as SQL gives.

A `Query` is a thin, immutable wrapper of a plan; each method is one node. Expressions are Spark SQL text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import PlanFault, SyntaxFault, UserError, Where
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.passage import Passage
from penstock.plan.expression.tokens import tokens
from penstock.plan.model.nodes import Aggregate, Alias, Distinct, Filter, Generate, Item, Join, Node, Operate, Order, Project, Scan, Union
from penstock.plan.model.sorting import by_output
from penstock.plan.model.terms import no_ordinal, written
from penstock.plan.model.text import sql
from penstock.plan.model.user_code import is_target, target_of
from penstock.plan.python.other_names import missing
from penstock.plan.sql.operators import returned
from penstock.plan.sql.select import read_expression

if TYPE_CHECKING:
    from penstock.plan.python.keyed import Keyed

_PACKAGE = str(Path(__file__).resolve().parents[2])
_NAME = re.compile(r"[A-Za-z_]\w*")
_JOINS = ("inner", "left", "right", "full", "semi", "anti", "cross")
_STAR = (Item("*"),)


def user_place() -> Where:
    """The file and line of the user's own call: the nearest frame outside Penstock."""
    frame = _user_frame()
    return Where(frame.f_code.co_filename, frame.f_lineno)


def user_names() -> Mapping[str, object]:
    """The names of the file that the user's own call stands in, as they come to be."""
    return _user_frame().f_globals


def _user_frame() -> FrameType:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


class Asks(Protocol):
    """Whoever can answer a query: the app that it was made with."""

    def ask(self, plan: Node) -> Any:
        """The rows of the plan over the history, as a Result."""


@dataclass(frozen=True)
class Query:
    """A query in the making. `time` is the event-time column that `.window()` takes when it is given none.

    `groups` are the groups asked for so far by `.window()`, `.session()` and `.group_by()`; `.agg()` uses them up. `asks` answers it.
    """

    node: Node
    time: str | None = None
    groups: tuple[str, ...] = ()
    asks: Asks | None = field(default=None, compare=False, repr=False)

    def where(self, condition: str) -> Query:
        """Only the rows for which `condition` holds."""
        place = user_place()
        below = self._whole()
        subs = list(below.subs) if isinstance(below, Filter) else []
        asked = scalar(condition, "condition", place, subs)
        if isinstance(below, Filter):
            return replace(self, node=replace(below, condition=f"({below.condition}) AND ({asked})", subs=tuple(subs)))
        return replace(self, node=Filter(below, asked, tuple(subs), where=place))

    def select(self, *items: str, **named: str) -> Query:
        """These expressions and no others: `"amount * 2 AS double"` or `double="amount * 2"`."""
        place = user_place()
        subs: list[Node] = []
        given = (*(split_item(item, place, subs) for item in items), *_named(named, place, subs))
        if not given:
            raise PlanFault(".select() needs at least one expression", where=place, hint='e.g. .select("card", total="amount * 2")')
        return replace(self, node=Project(self._whole(), given, tuple(subs), where=place))

    def join(self, other: Query, on: str | Sequence[str] | None = None, how: str = "inner") -> Query:
        """Rows of both: `on` is a column that both have, a list of such columns, or a condition."""
        place = user_place()
        if how not in _JOINS:
            raise PlanFault(f"there is no join `{how}`", where=place, hint="one of " + ", ".join(_JOINS))
        if not isinstance(other, Query):
            raise PlanFault(
                f".join() needs a query, not {type(other).__name__}", where=place, hint="give what app.stream(), app.table() or app.query() returned"
            )
        if on is None and how != "cross":
            raise PlanFault(".join() needs `on`", where=place, hint='e.g. on="card", on=["card", "day"], on="a.card = b.card", or how="cross"')
        columns = _shared_columns(on, place)
        subs: list[Node] = []
        condition = scalar(on, "on", place, subs) if isinstance(on, str) and not columns else None
        node = Join(operand(self._whole()), operand(other._whole()), how, condition, columns, tuple(subs), where=place)
        return replace(self, node=node, time=self.time or other.time)

    def left_join(self, other: Query, on: str | Sequence[str]) -> Query:
        """As `join`, keeping the rows that find no partner."""
        return self.join(other, on, "left")

    def window(self, size: str, every: str | None = None, on: str | None = None) -> Query:
        """Group by windows of event time, `size` long, one `every` so often (None: one after the other)."""
        place = user_place()
        check_text(size, "size of a window", place, "1 hour")
        step = f", '{check_text(every, 'step of a window', place, '10 minutes')}'" if every is not None else ""
        return self._grouped(f"window({self._time(on)}, '{size}'{step})")

    def session(self, gap: str, on: str | None = None) -> Query:
        """Group by sessions, each ended by a silence of `gap`."""
        check_text(gap, "gap of a session", user_place(), "10 minutes")
        return self._grouped(f"session_window({self._time(on)}, '{gap}')")

    def group_by(self, *groups: str) -> Query:
        """Group by these expressions, besides the windows asked for."""
        return self._grouped(*groups)

    def agg(self, *items: str, **named: str) -> Query:
        """One row per group: the window, the groups, then these aggregates. Without groups, one row in all."""
        place = user_place()
        subs: list[Node] = []
        split = [no_ordinal(split_item(group, place, subs)) for group in self.groups]
        given = (*(split_item(item, place, subs) for item in items), *_named(named, place, subs))
        if not given:
            raise PlanFault(".agg() needs at least one aggregate", where=place, hint='e.g. .agg(total="sum(amount)")')
        shown = tuple(Item(_group_column(group.text), group.name) for group in split)
        node = Aggregate(self.node, tuple(group.text for group in split), shown + given, subs=tuple(subs), where=place)
        return Query(node, asks=self.asks)

    def having(self, condition: str) -> Query:
        """Only the groups for which `condition` holds."""
        place = user_place()
        if not isinstance(self.node, Aggregate) or self.groups:
            raise PlanFault(
                ".having() needs an aggregate before it", where=place, hint="use .where() for rows, or put .group_by(...).agg(...) before .having()"
            )
        subs = list(self.node.subs)
        asked = scalar(condition, "condition", place, subs)
        both = asked if self.node.having is None else f"({self.node.having}) AND ({asked})"
        return replace(self, node=replace(self.node, having=both, subs=tuple(subs)))

    def distinct(self) -> Query:
        """Each row once."""
        return replace(self, node=Distinct(selected(self._whole()), where=user_place()))

    def union(self, *others: Query) -> Query:
        """The rows of all, column by column; rows that occur twice stay twice."""
        place = user_place()
        strange = next((other for other in others if not isinstance(other, Query)), None)
        if strange is not None:
            raise PlanFault(
                f".union() needs queries, not {type(strange).__name__}", where=place, hint="give what app.stream() or app.query() returned"
            )
        first, *rest = (selected(query._whole()) for query in (self, *others))
        before = first.inputs if isinstance(first, Union) else (first,)
        return replace(self, node=Union((*before, *rest), where=place))

    def order_by(self, *keys: str) -> Query:
        """Sorted, e.g. by `"total DESC"`."""
        place = user_place()
        subs: list[Node] = []
        read = tuple(scalar(key, "key", place, subs) for key in keys)
        below = selected(self._whole())
        return replace(self, node=Order(below, by_output(read, below), subs=tuple(subs), where=place))

    def limit(self, count: int, offset: int | None = None) -> Query:
        """The first `count` rows."""
        place = user_place()
        for given in (count, 0 if offset is None else offset):
            if not isinstance(given, int) or isinstance(given, bool):
                raise PlanFault(f".limit() needs a whole number, not {given!r}", where=place, hint="e.g. .limit(10)")
            if given < 0:
                raise PlanFault(f".limit({given}) is below zero", where=place, hint="give the number of rows to keep")
        skipped = None if offset is None else str(offset)
        below = selected(self._whole())
        if isinstance(below, Order) and below.limit is None and below.offset is None:
            return replace(self, node=replace(below, limit=str(count), offset=skipped))
        return replace(self, node=Order(below, (), str(count), skipped, where=place))

    def alias(self, name: str) -> Query:
        """A name by which later expressions may qualify columns: `a.card`."""
        place = user_place()
        return replace(self, node=Alias(operand(self._whole()), check_text(name, "alias", place, "a"), where=place))

    def explode(self, expression: str, *names: str, table: str | None = None, outer: bool = False) -> Query:
        """One row per element of an array or map; `expression` may also call another generator, e.g. `posexplode(tags)`."""
        place = user_place()
        given = text(expression, "array", place)
        if any(token.is_word("select") for token in tokens(given)):
            raise PlanFault("a SELECT cannot be exploded in its place", where=place, hint="join it, or select it under a name and explode that")
        for name in (*names, *([] if table is None else [table])):
            check_text(name, "name that is given", place, "tag")
        call = given if parsed(given).is_generator else f"explode({given})"
        words = ["LATERAL VIEW", *(["OUTER"] if outer else []), call, *([written(table)] if table else [])]
        shown = f" AS {', '.join(map(written, names))}" if names else ""
        return replace(self, node=Generate(operand(self._whole()), " ".join(words) + shown, where=place))

    def map_batches(self, function: str | Callable[..., object], returns: str) -> Query:
        """Rows made by a Python function of the app: a pyarrow.RecordBatch in, one with the columns `returns` out.

        The function is given itself, or as `"module:function"`. Each row must give its output rows alone, whatever rows it comes together with.
        """
        place = user_place()
        target = function if isinstance(function, str) else target_of(function, place)
        if not is_target(target):
            raise PlanFault(f"`{target}` is not the name of a function", where=place, hint='write "module:function", for module.py of the app')
        try:
            columns = returned(check_text(returns, "list of returned columns", place, "card STRING, score DOUBLE"))
        except UserError as fault:
            raise type(fault)(fault.message, where=place, hint=fault.hint) from None
        time = self.time if self.time is not None and columns.find(self.time) is not None else None
        return replace(self, node=Operate((operand(self._whole()),), target, columns, where=place), time=time)

    def key_by(self, *columns: str) -> Keyed:
        """The rows key by key, for a function with state: `.key_by("card").map_with_state(...)`."""
        from penstock.plan.python.keyed import Keyed

        place = user_place()
        if not columns:
            raise PlanFault(".key_by() needs at least one column", where=place, hint='e.g. .key_by("card")')
        return Keyed(self, tuple(check_text(column, "column", place, "card") for column in columns))

    def with_column(self, name: str, expression: str) -> Query:
        """All columns, and one more."""
        return self.select("*", **{check_text(name, "name of a column", user_place(), "double"): expression})

    def batch(self) -> Any:
        """The rows of this query over the whole history, once: a Result."""
        if self.asks is None:
            raise PlanFault("this query belongs to no app that could run it", where=user_place(), hint="make it with app.stream() or app.query()")
        return self.asks.ask(finished(self))

    def head(self, count: int = 5) -> Any:
        """The first rows: a Result."""
        return self.limit(count).batch()

    def show(self, count: int = 20) -> None:
        """Print the first rows."""
        self.limit(count).batch().show(count)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.batch().to_pandas()

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        return self.batch().to_arrow()

    def collect(self) -> Any:
        """The rows as dicts."""
        return self.batch().to_dicts()

    def count(self) -> Any:
        """How many rows there are; after `.group_by()` a query: how many of each group."""
        counted = self.agg(count="count(*)")
        return counted if self.groups else counted.batch()[0]["count"]

    def __repr__(self) -> str:
        groups = f" GROUP BY {', '.join(self.groups)}" if self.groups else ""
        return f"Query({' '.join(sql(selected(self.node)).split())}{groups})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise missing(name)

    def __getitem__(self, name: object) -> Any:
        raise PlanFault(
            f"a query has no columns to take: {name!r}", where=user_place(), hint='name them in text: .select("id"), .where("amount > 10")'
        )

    # What Spark and pandas call the same.
    filter = where
    keyBy = key_by
    selectExpr = select
    groupBy = groupby = group_by
    orderBy = sort = order_by
    withColumn = with_column
    unionAll = union
    drop_duplicates = dropDuplicates = distinct
    toPandas = to_pandas

    def _grouped(self, *groups: str) -> Query:
        place = user_place()
        return replace(self, groups=(*self.groups, *(text(group, "group", place) for group in groups)))

    def _time(self, on: str | None) -> str:
        if on is None and self.time is None:
            hint = 'declare the stream with event_time="..." or name the column: on="at"'
            raise PlanFault("a window needs a time column, and this query has no event time", where=user_place(), hint=hint)
        return on or str(self.time)

    def _whole(self) -> Node:
        """The plan, unless groups are still waiting for their aggregates."""
        if self.groups:
            raise PlanFault("groups without aggregates", where=user_place(), hint='end with .agg(...), e.g. .agg(total="sum(amount)")')
        return self.node


def scan(name: str, time: str | None, where: Where) -> Query:
    """The rows of a declared stream, table or view."""
    return Query(Scan(name, where), time)


def finished(query: Query) -> Node:
    """The plan of a query that becomes a view: a whole SELECT, as SQL would give it."""
    return selected(query._whole())


def selected(node: Node) -> Node:
    """The plan as a SELECT: a bare relation or filter is `SELECT *` of it."""
    return Project(node, _STAR, where=node.where) if isinstance(node, Scan | Alias | Filter | Join | Generate | Operate) else node


def operand(node: Node) -> Node:
    """The plan as it stands in FROM: a filter becomes a subquery, so that its condition sees only its own side.

    So does a lateral view, which in a FROM clause can only come after all joins.
    """
    return Project(node, _STAR, where=node.where) if isinstance(node, Filter | Generate) else node


def text(value: object, what: str, place: Where) -> str:
    """An expression as the plan holds it; PlanFault unless it is text."""
    if not isinstance(value, str) or not value.strip():
        raise PlanFault(f"the {what} is not an expression: {value!r}", where=place, hint="expressions are Spark SQL text")
    try:
        tokens(value)
    except SyntaxFault as fault:
        raise SyntaxFault(fault.message, where=place, excerpt=fault.excerpt, hint=fault.hint) from None
    return value.strip()


def check_text(value: object, what: str, place: Where, example: str) -> str:
    """An argument that is a name or a span of time; PlanFault unless it is text."""
    if not isinstance(value, str) or not value.strip():
        raise PlanFault(f"the {what} is not text: {value!r}", where=place, hint=f'e.g. "{example}"')
    return value


def scalar(value: object, what: str, place: Where, subs: list[Node]) -> str:
    """The same, read as SQL reads it: equal meaning gives equal plans, also of a SELECT inside, which is moved to `subs`."""
    return read_expression(Passage(text(value, what, place), place.file, place.line), subs)


def split_item(value: str, place: Where, subs: list[Node]) -> Item:
    """`amount * 2 AS double` as an item; the name is the part after the last AS."""
    whole = text(value, "item", place)
    found = tokens(whole)
    if len(found) > 2 and found[-2].is_word("as") and found[-1].is_name:
        return Item(scalar(whole[: found[-2].start], "item", place, subs), found[-1].value)
    return Item(scalar(whole, "item", place, subs))


def _shared_columns(on: object, place: Where) -> tuple[str, ...]:
    """The columns that `on` names; none where it is a condition."""
    if on is None or (isinstance(on, str) and not _NAME.fullmatch(on)):
        return ()
    given = (on,) if isinstance(on, str) else on
    if not isinstance(given, list | tuple):
        raise PlanFault(f"`on` is not text: {on!r}", where=place, hint='e.g. on="card", on=["card", "day"] or on="a.card = b.card"')
    return tuple(check_text(name, "column of `on`", place, "card") for name in given)


def _named(named: dict[str, str], place: Where, subs: list[Node]) -> tuple[Item, ...]:
    return tuple(Item(scalar(value, name, place, subs), name) for name, value in named.items())


def _group_column(group: str) -> str:
    """What the select list calls a group: a time window is the column that Spark makes of it."""
    called = re.match(r"\s*(window|session_window)\s*\(", group, re.IGNORECASE)
    return called[1].lower() if called else group

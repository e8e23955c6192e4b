"""The cut: where a plan stops being Spark's to maintain, and what is done above.

stateless     rows pass through; nothing is kept but the result
incremental   Spark keeps the state; filters above an aggregate travel along as flags, so that a row which leaves is taken back
kept          Spark keeps the part below the cut; its rows are kept, and the part above is evaluated from them each epoch
gathered      Spark keeps the rows that the plan needs by group, and the plan is evaluated over the groups that an epoch touched
staged        the rows that the plan needs are kept, and every step of it follows what changed in the steps below
on view       the part below is another view: the plan is evaluated from that view's rows, in the same epoch
recompute     the cut falls on the scan: the whole plan runs over the history each epoch
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from penstock.plan.cut.correlation import gathers
from penstock.plan.cut.divide import KEEP, above, can_be_guarded, flagged
from penstock.plan.cut.gather import NotLocal, gather
from penstock.plan.cut.inline import inlined, meaning
from penstock.plan.cut.join_bound import bounded_both_ways
from penstock.plan.cut.partials import ANY_WAY, Moves
from penstock.plan.cut.reasons import reason_to_recompute
from penstock.plan.cut.rewrite import RULES_OF_CHANGES, from_around, rewrite
from penstock.plan.cut.shape import Shapes, window_of
from penstock.plan.cut.steps import NotStaged, Step, staged
from penstock.plan.cut.times import closes, keyed_time, times_grouped
from penstock.plan.cut.united import united
from penstock.plan.expression.parsed import parsed
from penstock.plan.model import terms
from penstock.plan.model.declare import Declaration, Emit, Stream, View
from penstock.plan.model.keys import ALL_COLUMNS, hidden_keys, result_key, row_key
from penstock.plan.model.names import Names, schemas
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
    children,
    names_read,
    rebuild,
    walk,
)
from penstock.plan.model.sorting import SortKeys
from penstock.plan.model.watermarks import scoped

_GROWS = {"count": "max", "count_if": "max", "max": "max", "min": "min"}


class Strategy(Enum):
    STATELESS = "stateless"
    INCREMENTAL = "incremental"
    KEPT = "kept"
    GATHERED = "gathered"
    STAGED = "staged"
    ON_VIEW = "on view"
    RECOMPUTE = "recompute"


@dataclass(frozen=True)
class Cut:
    """How one view is kept up to date.

    `lower` runs as the streaming query in output mode `mode`. Its rows are identified by the columns `keys`: None means
    a bag to which rows are only added, `()` that there is one row for ever, ALL_COLUMNS that the whole row is its own key. Columns that start
    with `__` are for the engine; a row whose `__keep...` columns are not all true is not there. `upper` is evaluated over `KEPT`, or over
    the view `base`; `stable` are the columns that tell the rows below it apart (None: not known).
    """

    strategy: Strategy
    reason: str
    lower: Node
    mode: str = "append"
    keys: tuple[str, ...] | None = None
    upper: Node | None = None
    base: str | None = None
    watermarked: bool = False
    visible_key: tuple[str, ...] | None = None
    stable: tuple[str, ...] | None = None
    streams: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    """gathered: the columns of the result that say which group a row belongs to, each with the group's own column."""
    moves: Moves = ANY_WAY
    """kept: how the kept rows change."""
    inputs: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    """staged: the names of what `lower` gives the rows of, and the steps above them, of which the last is the view."""

    @property
    def adds_only(self) -> bool:
        """True where rows are only ever added to the view, never changed or taken back."""
        return self.strategy in (Strategy.STATELESS, Strategy.INCREMENTAL) and self.mode == "append"

    @property
    def above(self) -> tuple[Node, ...]:
        """Every plan that is evaluated above the cut."""
        return (*(() if self.upper is None else (self.upper,)), *(step.plan for step in self.steps))


def cut(view: View, declared: Mapping[str, Declaration]) -> Cut:
    """Decide how `view` is maintained."""
    return _Cutter(scoped(view, declared)).decide(view)


class _Cutter:
    def __init__(self, declared: Mapping[str, Declaration]) -> None:
        self._declared = declared
        self._decided: dict[str, Cut] = {}
        self._names = Names(schemas(declared))
        self._shapes = Shapes(
            lambda name: isinstance(declared.get(name), Stream),
            lambda node: bool(from_around(node, self._names)),
            lambda plan, join: gathers(plan, self._names, join),
            lambda node: times_grouped(node, declared) <= 1,
            lambda join: bounded_both_ways(join, declared),
            lambda node: keyed_time(node, declared) is not None or not node.order or node.option("arrival") is not None,
        )

    def decide(self, view: View) -> Cut:
        """Each view once: of views over views the one below is asked about more than once."""
        if view.name not in self._decided:
            self._decided[view.name] = self._decide(view)
        return self._decided[view.name]

    def _decide(self, view: View) -> Cut:
        attached = self._base_of(view)
        if attached is not None:
            reason = f"it reads only the view `{attached}`, whose rows are kept"
            key = result_key(inlined(view.query, self._declared))
            base = self._declared[attached]
            assert isinstance(base, View)
            return Cut(Strategy.ON_VIEW, reason, Scan(attached), upper=view.query, base=attached, visible_key=key, stable=self._shown_key(base))
        plan = _selected(inlined(view.query, self._declared))
        found = self._on_close(view, plan) if view.emit is Emit.ON_CLOSE else self._changes(plan)
        if found.visible_key is None:
            found = replace(found, visible_key=result_key(plan))
        if found.strategy is Strategy.INCREMENTAL and found.keys is None and found.visible_key != ALL_COLUMNS:
            found = replace(found, keys=found.visible_key)  # a window that is given out once is still known by its key
        streams = tuple(name for name in names_read(found.lower) if isinstance(self._declared.get(name), Stream))
        watermarked = found.strategy is not Strategy.RECOMPUTE and self._needs_watermark(found.lower, view.emit is Emit.ON_CLOSE)
        return replace(found, streams=streams, watermarked=watermarked)

    def _shown_key(self, view: View) -> tuple[str, ...] | None:
        key = self.decide(view).visible_key
        return None if key == ALL_COLUMNS else key

    def _base_of(self, view: View) -> str | None:
        """The single view that this one can follow: all it reads apart from tables, kept in the store, and not a mere pass-through."""
        read = names_read(view.query)
        views = [name for name in read if isinstance(self._declared.get(name), View)]
        streams = [name for name in read if isinstance(self._declared.get(name), Stream)]
        if len(views) != 1 or streams or view.emit is Emit.ON_CLOSE:
            return None
        base = self._declared[views[0]]
        assert isinstance(base, View)
        return base.name if base.stored and self.decide(base).strategy is not Strategy.STATELESS else None

    def _changes(self, plan: Node) -> Cut:
        if self._shapes.stateless(plan):
            return Cut(Strategy.STATELESS, "each row stands for itself", plan)
        if self._shapes.appends(plan):
            reason = "Spark counts up to the limit" if isinstance(plan, Order) else "an inner join of two streams only adds rows"
            return Cut(Strategy.INCREMENTAL, reason, plan)
        if self._shapes.keyed(plan):
            return Cut(Strategy.INCREMENTAL, "Spark keeps the state of each key, and what is made of its rows is only added", plan)
        rewritten = rewrite(plan, self._names, RULES_OF_CHANGES)
        fused = self._fused(rewritten, on_close=False)
        if fused is not None:
            return fused
        if self._shapes.distinct(rewritten):
            return Cut(Strategy.INCREMENTAL, "Spark keeps the distinct rows", rewritten, "update", ALL_COLUMNS)
        kept = self._kept(plan, rewritten, on_close=False)
        found = self._gathered(plan, kept) if kept.strategy is Strategy.RECOMPUTE else kept
        return self._staged(rewritten, found) if found.strategy is Strategy.RECOMPUTE else found

    def _staged(self, plan: Node, otherwise: Cut) -> Cut:
        if not self._shapes.reads_stream(plan):
            return otherwise
        try:
            found = staged(plan, self._shapes, self._names, schemas(self._declared))
        except NotStaged as why:
            return replace(otherwise, reason=f"{otherwise.reason}; {why}")
        reason = f"each of its {len(found.steps)} steps follows what changed in those below it" if len(found.steps) > 1 else "it follows what changed"
        return Cut(Strategy.STAGED, reason, found.lower, inputs=found.inputs, steps=found.steps)

    def _gathered(self, plan: Node, otherwise: Cut) -> Cut:
        if not self._shapes.reads_stream(plan):
            return otherwise
        found = gather(plan, self._shapes, self._names)
        if isinstance(found, NotLocal):
            return replace(otherwise, reason=f"{otherwise.reason}; {found.reason}")
        reason = f"its rows for each ({', '.join(found.columns)}) come from that group alone"
        return Cut(Strategy.GATHERED, reason, found.lower, "update", found.keys, found.upper, parts=found.parts)

    def _on_close(self, view: View, plan: Node) -> Cut:
        rewritten = rewrite(plan, self._names)
        fused = self._fused(rewritten, on_close=True)
        if fused is not None:
            return fused
        found = self._kept(plan, rewritten, on_close=True)
        return replace(found, lower=meaning(view, self._declared)) if found.strategy is Strategy.RECOMPUTE else found

    def _fused(self, plan: Node, *, on_close: bool) -> Cut | None:
        """An aggregate with only row-wise work above it: all of it runs in the streaming query."""
        aggregate = self._row_wise_over(plan, on_close)
        if aggregate is None:
            return None
        mode = "append" if on_close else "update"
        if on_close:
            return Cut(Strategy.INCREMENTAL, "Spark gives a window out when the watermark has passed it", plan, mode)
        if not can_be_guarded(plan):
            return None
        names = tuple(item.name or "" for item in hidden_keys(aggregate))
        return Cut(Strategy.INCREMENTAL, "Spark keeps the aggregate", flagged(plan, aggregate), mode, names)

    def _row_wise_over(self, node: Node, on_close: bool) -> Aggregate | None:
        match node:
            case Aggregate():
                return node if self._shapes.aggregate(node, on_close=on_close) else None
            case Alias(columns=()):
                return self._row_wise_over(node.input, on_close)
            case Filter(subs=()):
                return self._row_wise_over(node.input, on_close)
            case Project(subs=(), input=input_) if input_ is not None:
                plain = not any(parsed(item.text).has_window_function or parsed(item.text).makes_rows for item in node.items)
                return self._row_wise_over(input_, on_close) if plain else None
            case (
                Scan() | Alias() | Filter() | Project() | Join() | Generate() | Union() | SetOperation() | Distinct() | Order() | Opaque() | Operate()
            ):
                return None
            case _:
                assert_never(node)

    def _kept(self, plan: Node, rewritten: Node, *, on_close: bool) -> Cut:
        lowers = list(dict.fromkeys(self._lowers(rewritten, on_close)))
        as_one = united(rewritten, lowers) if len(lowers) > 1 else None
        if as_one is not None:
            rewritten, lowers = as_one, list(dict.fromkeys(self._lowers(as_one, on_close)))
        if len(lowers) != 1 or isinstance(lowers[0], Opaque) or self._shapes.stateless(lowers[0]):
            general = "its parts cannot be kept together" if len(lowers) > 1 else "it needs all rows of the stream at once"
            return Cut(Strategy.RECOMPUTE, reason_to_recompute(plan, self._shapes) or general, plan)
        lower = lowers[0]
        refused = next((reason for holds, reason in self._not_kept(lower, rewritten, on_close) if holds), None)
        if refused is not None:
            return Cut(Strategy.RECOMPUTE, refused, plan)
        assert isinstance(lower, Aggregate | Distinct | Project)
        sort = SortKeys(rewritten, lower)
        wide = lower if isinstance(lower, Distinct) else replace(lower, items=(*lower.items, *sort.carried))
        if not sort.can_be_expressed or not self._maintained(wide, on_close):
            return Cut(Strategy.RECOMPUTE, "it is sorted by what Spark does not keep", plan)
        if isinstance(lower, Aggregate) and isinstance(wide, Aggregate):
            return self._kept_aggregate(rewritten, lower, wide, sort, on_close)
        upper = above(rewritten, lower, sort.carried, sort)
        if isinstance(lower, Distinct):
            return Cut(Strategy.KEPT, "cut above the distinct rows", wide, "update", ALL_COLUMNS, upper)
        if self._shapes.keyed(lower):
            return Cut(Strategy.KEPT, "cut above the rows that the keyed operator made", wide, "append", None, upper, moves=Moves(adds_only=True))
        return Cut(Strategy.KEPT, "cut above the rows of the join", wide, "append", None, upper, moves=Moves(adds_only=True))

    def _not_kept(self, lower: Node, plan: Node, on_close: bool) -> Iterator[tuple[bool, str]]:
        """Whatever keeps the rows of the one part that Spark maintains from being enough for the plan above it."""
        yield lower not in self._lowers(plan, on_close, within_expressions=False), "a subquery may ask for other rows each time"
        endless = on_close and self._shapes.stream_join(lower) and not self._shapes.is_bounded(lower)
        yield endless, "what it joins has no bound on time both ways, so any window may get more rows"
        yield on_close and not isinstance(lower, Aggregate), "its windows are closed by the whole plan"
        yield not isinstance(lower, Aggregate | Distinct | Project), "its columns have no names of their own"
        yield self._repeats_a_name(lower), "two columns of its parts have one name"
        others = (part for part in walk(plan) if isinstance(part, Aggregate) and part != lower)
        yield on_close and any(window_of(part) is not None for part in others), "windows of windows close one after the other"

    def _repeats_a_name(self, lower: Node) -> bool:
        """Whether rows of this part could not be kept: they have two columns of one name, or may have, where a star over a join is not known."""
        output = self._names.output(lower)
        names = [column.name.lower() for column in output.columns if column.name]
        return len(set(names)) < len(names) or (output.open and any(isinstance(part, Join) for part in walk(lower)))

    def _kept_aggregate(self, plan: Node, lower: Aggregate, wide: Aggregate, sort: SortKeys, on_close: bool) -> Cut:
        if on_close:
            reason = "cut above the aggregate, whose closed windows are kept"
            return Cut(Strategy.KEPT, reason, wide, upper=above(plan, lower, sort.carried, sort), moves=Moves(adds_only=True))
        keys = hidden_keys(lower)
        flag = () if lower.having is None else (Item("", f"{KEEP}0"),)
        return Cut(
            Strategy.KEPT,
            "cut above the aggregate, whose rows are kept",
            flagged(wide, lower),
            "update",
            tuple(item.name or "" for item in keys),
            above(plan, lower, (*sort.carried, *keys, *flag), sort),
            stable=row_key(lower),
            moves=ANY_WAY if flag else Moves(grows=_growing(lower)),
        )

    def _maintained(self, node: Node, on_close: bool) -> bool:
        return self._shapes.aggregate(node, on_close=on_close) or self._shapes.distinct(node) or self._shapes.appends(node) or self._made_by_key(node)

    def _made_by_key(self, node: Node) -> bool:
        return isinstance(node, Project) and self._shapes.keyed(node)

    def _lowers(self, node: Node, on_close: bool, within_expressions: bool = True) -> list[Node]:
        """The highest parts that Spark maintains, in the order of the text; also those of subqueries, which may be correlated.

        SQL that is not looked into is a part of its own: it is not maintained, and above a cut there is no stream for it to read.
        """
        if not self._shapes.reads_stream(node):
            return []
        if isinstance(node, Opaque) or self._maintained(node, on_close):
            return [node]
        inner = [plan for plan in children(node) if within_expressions or plan not in getattr(node, "subs", ())]
        if isinstance(node, Join) and node.lateral and not within_expressions:
            inner = [node.left]
        return [found for child in inner for found in self._lowers(child, on_close, within_expressions)]

    def _needs_watermark(self, lower: Node, on_close: bool) -> bool:
        """Only what closes windows or bounds a join by time; elsewhere a watermark would only drop rows."""
        if any(isinstance(part, Aggregate) and not self._shapes.has_one_time(part) for part in walk(lower)):
            return False  # with a watermark Spark would refuse to run; without one it keeps all groups
        for part in walk(lower):
            if isinstance(part, Aggregate) and (on_close or closes(part, self._declared)) and self._shapes.reads_stream(part.input):
                return True
            if self._shapes.stream_join(part) and self._shapes.is_bounded(part):
                return True
            if isinstance(part, Operate) and part.is_keyed and keyed_time(part, self._declared) is not None:
                return True
        return False


def _growing(node: Aggregate) -> dict[str, str]:
    """The columns of an aggregate over rows that are only added whose values only grow: its counts and its maxima; and its minima, the other way."""
    found: dict[str, str] = {}
    for item in node.items:
        for call in parsed(item.text).aggregates:
            if (call.start, call.end) == (0, len(item.text)) and not call.distinct and call.name.lower() in _GROWS:
                found[terms.item_name(item).lower()] = _GROWS[call.name.lower()]
    return found


def _selected(node: Node) -> Node:
    """The plan with a SELECT over every keyed operator, where there is none: what is cut above it has columns with names."""
    if isinstance(node, Project) and isinstance(node.input, Operate):
        return replace(node, input=rebuild(node.input, _selected))
    found = rebuild(node, _selected)
    return Project(found, (Item("*"),), where=found.where) if isinstance(found, Operate) and found.is_keyed else found

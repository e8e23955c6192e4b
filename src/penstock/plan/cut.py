"""The cut: where a plan stops being Spark's to maintain, and what is done above.

stateless     rows pass through; nothing is kept but the result
incremental   Spark keeps the state; filters above an aggregate travel along as flags, so that a row which leaves is taken back
kept          Spark keeps the part below the cut; its rows are kept, and the part above is evaluated from them each epoch
on view       the part below is another view: the plan is evaluated from that view's rows, in the same epoch
recompute     the cut falls on the scan: the whole plan runs over the history each epoch
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from penstock.plan import scalar, terms
from penstock.plan.closed import only_closed
from penstock.plan.declare import Declaration, Emit, Stream, View
from penstock.plan.nodes import (
    Aggregate,
    Alias,
    Distinct,
    Filter,
    Item,
    Join,
    Node,
    Opaque,
    Order,
    Project,
    Scan,
    children,
    names_read,
    quoted,
    rebuild,
    walk,
)
from penstock.plan.opaque import with_views
from penstock.plan.rewrite import rewrite
from penstock.plan.shape import Shapes, window_of
from penstock.plan.watermarks import scoped

KEPT = "__kept"
KEEP = "__keep"


class Strategy(Enum):
    STATELESS = "stateless"
    INCREMENTAL = "incremental"
    KEPT = "kept"
    ON_VIEW = "on view"
    RECOMPUTE = "recompute"


@dataclass(frozen=True)
class Cut:
    """How one view is kept up to date.

    `lower` runs as the streaming query in output mode `mode`. Its rows are identified by the columns `keys`: None means
    rows are only added, `()` that there is one row for ever, ALL_COLUMNS that the whole row is its own key. Columns that start
    with `__` are for the engine; a row whose `__keep...` columns are not all true is not there. `upper` is evaluated over `KEPT`, or over
    the view `base`; `stable` are the kept columns whose value never changes within a row's life (None: all of them).
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

    @property
    def adds_only(self) -> bool:
        """True where rows are only ever added to the view, never changed or taken back."""
        return self.strategy in (Strategy.STATELESS, Strategy.INCREMENTAL) and self.mode == "append"


ALL_COLUMNS = ("*",)


def cut(view: View, declared: Mapping[str, Declaration]) -> Cut:
    """Decide how `view` is maintained."""
    return _Cutter(scoped(view, declared)).decide(view)


def inlined(node: Node, declared: Mapping[str, Declaration], stop: Callable[[View], bool] = lambda view: False) -> Node:
    """The plan with the views it reads replaced by their own plans, down to streams and tables (or where `stop` says)."""

    def expand(part: Node) -> Node:
        if isinstance(part, Scan):
            target = declared.get(part.name)
            if isinstance(target, View) and not stop(target):
                return Alias(meaning(target, declared, stop), part.name, where=part.where)
            return part
        if isinstance(part, Alias) and isinstance(part.input, Scan):
            inner = expand(part.input)
            return replace(part, input=inner.input if isinstance(inner, Alias) else inner)
        if isinstance(part, Opaque):
            views = [entry for name in part.names if isinstance(entry := declared.get(name), View) and not stop(entry)]
            return with_views(part, {view.name: meaning(view, declared, stop) for view in views})
        return rebuild(part, expand)

    return expand(node)


def meaning(view: View, declared: Mapping[str, Declaration], stop: Callable[[View], bool] = lambda view: False) -> Node:
    """The view as a plan over streams and tables: what `batch` runs."""
    declared = scoped(view, declared)
    plan = inlined(view.query, declared, stop)
    if view.emit is Emit.ON_CLOSE:
        return only_closed(plan, {name: entry for name, entry in declared.items() if isinstance(entry, Stream)})
    return plan


class _Cutter:
    def __init__(self, declared: Mapping[str, Declaration]) -> None:
        self._declared = declared
        self._shapes = Shapes(lambda name: isinstance(declared.get(name), Stream))

    def decide(self, view: View) -> Cut:
        attached = self._base_of(view)
        if attached is not None:
            reason = f"it reads only the view `{attached}`, whose rows are kept"
            key = result_key(inlined(view.query, self._declared))
            return Cut(Strategy.ON_VIEW, reason, Scan(attached), upper=view.query, base=attached, visible_key=key)
        plan = inlined(view.query, self._declared)
        found = self._on_close(view, plan) if view.emit is Emit.ON_CLOSE else self._changes(plan)
        if found.visible_key is None:
            found = replace(found, visible_key=result_key(plan))
        streams = tuple(name for name in names_read(found.lower) if isinstance(self._declared.get(name), Stream))
        return replace(found, streams=streams, watermarked=found.strategy is not Strategy.RECOMPUTE and self._needs_watermark(found.lower))

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
        rewritten = rewrite(plan)
        fused = self._fused(rewritten, on_close=False)
        if fused is not None:
            return fused
        if self._shapes.distinct(rewritten):
            return Cut(Strategy.INCREMENTAL, "Spark keeps the distinct rows", rewritten, "update", ALL_COLUMNS)
        return self._kept(plan, rewritten, on_close=False)

    def _on_close(self, view: View, plan: Node) -> Cut:
        rewritten = rewrite(plan)
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
        names = tuple(item.name or "" for item in hidden_keys(aggregate))
        return Cut(Strategy.INCREMENTAL, "Spark keeps the aggregate", _flagged(plan, aggregate), mode, names)

    def _row_wise_over(self, node: Node, on_close: bool) -> Aggregate | None:
        match node:
            case Aggregate():
                return node if self._shapes.aggregate(node, on_close=on_close) else None
            case Alias(columns=()):
                return self._row_wise_over(node.input, on_close)
            case Filter(subs=()):
                return self._row_wise_over(node.input, on_close)
            case Project(subs=(), input=input_) if input_ is not None:
                plain = not any(scalar.has_window_function(item.text) or terms.gives_many_rows(item.text) for item in node.items)
                return self._row_wise_over(input_, on_close) if plain else None
            case _:
                return None

    def _kept(self, plan: Node, rewritten: Node, *, on_close: bool) -> Cut:
        lowers = list(dict.fromkeys(self._lowers(rewritten, on_close)))
        if len(lowers) != 1 or self._shapes.stateless(lowers[0]):
            reason = "its parts cannot be kept together" if len(lowers) > 1 else "it needs all rows of the stream at once"
            return Cut(Strategy.RECOMPUTE, reason, plan)
        lower = lowers[0]
        if lower not in self._lowers(rewritten, on_close, within_expressions=False):
            return Cut(Strategy.RECOMPUTE, "a subquery may ask for other rows each time", plan)
        if isinstance(lower, Aggregate):
            return self._kept_aggregate(rewritten, lower, on_close)
        if on_close or not isinstance(lower, Distinct | Project):
            return Cut(Strategy.RECOMPUTE, "its windows are closed by the whole plan" if on_close else "its columns have no names of their own", plan)
        upper = _above(rewritten, lower, ())
        if isinstance(lower, Distinct):
            return Cut(Strategy.KEPT, "cut above the distinct rows", lower, "update", ALL_COLUMNS, upper)
        return Cut(Strategy.KEPT, "cut above the rows of the join", lower, "append", None, upper)

    def _kept_aggregate(self, plan: Node, lower: Aggregate, on_close: bool) -> Cut:
        order = _order_items(plan, lower)
        wide = replace(lower, items=(*lower.items, *order))
        if on_close:
            return Cut(Strategy.KEPT, "cut above the aggregate, whose closed windows are kept", wide, upper=_above(plan, lower, order))
        keys = hidden_keys(lower)
        flag = () if lower.having is None else (Item("", f"{KEEP}0"),)
        return Cut(
            Strategy.KEPT,
            "cut above the aggregate, whose rows are kept",
            _flagged(wide, lower),
            "update",
            tuple(item.name or "" for item in keys),
            _above(plan, lower, (*order, *keys, *flag)),
            stable=_group_names(lower),
        )

    def _lowers(self, node: Node, on_close: bool, within_expressions: bool = True) -> list[Node]:
        """The highest parts that Spark maintains, in the order of the text; also those of subqueries, which may be correlated."""
        if not self._shapes.reads_stream(node):
            return []
        if self._shapes.aggregate(node, on_close=on_close) or self._shapes.distinct(node) or self._shapes.appends(node):
            return [node]
        inner = [plan for plan in children(node) if within_expressions or plan not in getattr(node, "subs", ())]
        if isinstance(node, Join) and node.lateral and not within_expressions:
            inner = [node.left]
        return [found for child in inner for found in self._lowers(child, on_close, within_expressions)]

    def _needs_watermark(self, lower: Node) -> bool:
        """Only what closes windows or bounds a join by time; elsewhere a watermark would only drop rows."""
        for part in walk(lower):
            if isinstance(part, Aggregate) and window_of(part) is not None and self._shapes.reads_stream(part.input):
                return True
            if self._shapes.stream_join(part) and self._bounded_by_time(part):
                return True
        return False

    def _bounded_by_time(self, join: Node) -> bool:
        times = {entry.event_time.lower() for entry in self._declared.values() if isinstance(entry, Stream) and entry.event_time}
        conditions = [part.on for part in walk(join) if isinstance(part, Join) and part.on]
        conditions += [part.condition for part in walk(join) if isinstance(part, Filter)]
        return any(terms.bounds_time(text, times) for condition in conditions for text in terms.conjuncts(condition))


def hidden_keys(node: Aggregate) -> tuple[Item, ...]:
    """The groups as engine columns `__k0`...; grouping sets are told apart by their grouping id."""
    texts = terms.grouping_expressions(node)
    keys = tuple(Item(text, f"__k{index}") for index, text in enumerate(texts))
    sets = node.grouping is not None and not terms.is_group_by_all(node)
    return (*keys, Item("grouping_id()", f"__k{len(keys)}")) if sets else keys


def _group_names(node: Aggregate) -> tuple[str, ...]:
    """The output columns that are groups."""
    groups = terms.grouping_expressions(node) if node.grouping is None or terms.is_group_by_all(node) else ()
    named = [(terms.item_name(item), item.text) for item in node.items]
    return tuple(name for name, text in named if name and any(terms.is_group(text, group) for group in groups))


def _flagged(node: Node, aggregate: Aggregate) -> Node:
    """Row-wise work above an aggregate, with the keys carried along and every filter turned into a flag."""
    keys = hidden_keys(aggregate)

    def build(part: Node, depth: int) -> tuple[Node, tuple[str, ...]]:
        match part:
            case Aggregate():
                names = tuple(item.name or "" for item in keys)
                flag = () if part.having is None else (Item(f"coalesce({terms.unaliased(part.having, part.items)}, false)", f"{KEEP}0"),)
                return replace(part, items=(*part.items, *keys, *flag), having=None), (*names, *(item.name or "" for item in flag))
            case Alias():
                inner, carried = build(part.input, depth)
                return replace(part, input=inner), carried
            case Filter():
                inner, carried = build(part.input, depth + 1)
                name = f"{KEEP}{depth}"
                flagged: Node = Project(inner, (Item("*"), Item(f"coalesce({part.condition}, false)", name)), where=part.where)
                called = _called(part.input)
                return Alias(flagged, called) if called else flagged, (*carried, name)
            case Project(input=input_) if input_ is not None:
                inner, carried = build(input_, depth + 1)
                given = [star for item in part.items if (star := terms.star(item)) is not None and star.qualifier in (None, _called(input_, True))]
                extra = () if given else tuple(Item(name, name) for name in carried)
                return replace(part, input=inner, items=(*part.items, *extra)), carried
            case _:
                raise AssertionError(f"not row-wise: {type(part).__name__}")

    return build(node, 1)[0]


def _called(node: Node, lower: bool = False) -> str | None:
    """The name by which the columns of a relation may be qualified."""
    while isinstance(node, Filter):
        node = node.input
    name = node.name if isinstance(node, Alias | Scan) else None
    return name.lower() if name and lower else name


def result_key(plan: Node) -> tuple[str, ...] | None:
    """The columns of the result that identify its rows: the groups of an aggregate, where all of them reach the result."""
    part: Node | None = plan
    while isinstance(part, Filter | Project | Order) or (isinstance(part, Alias) and not part.columns):
        if isinstance(part, Project) and any(terms.gives_many_rows(item.text) for item in part.items):
            return None
        part = part.input
    if isinstance(part, Distinct) and part is plan:
        return ALL_COLUMNS
    if not isinstance(part, Aggregate) or (part.grouping is not None and not terms.is_group_by_all(part)):
        return None
    if any(terms.gives_many_rows(item.text) for item in part.items):
        return None
    names = _passed_names(plan, part)
    found: list[str] = []
    for group in terms.grouping_expressions(part):
        exact = [name for name, text in names.items() if scalar.same(text, group)]
        near = [name for name, text in names.items() if terms.is_group(text, group)]
        if not near:
            return None
        found.append((exact or near)[0])
    return tuple(found) if len(set(found)) == len(found) else None


def _passed_names(node: Node, aggregate: Aggregate) -> dict[str, str]:
    """Output name -> text in the aggregate's block, for columns that pass unchanged through the work above."""
    match node:
        case Aggregate():
            return {terms.item_name(item): item.text for item in aggregate.items if terms.item_name(item)}
        case Alias() | Filter() | Order():
            return _passed_names(node.input, aggregate)
        case Project(input=input_) if input_ is not None:
            below = _passed_names(input_, aggregate)
            passed: dict[str, str] = {}
            for item in node.items:
                star = terms.star(item)
                if star is not None and star.qualifier in (None, _called(input_, True)):
                    passed.update({name: text for name, text in below.items() if name.lower() not in star.left_out})
                plain = scalar.output_name(item.text)
                match_ = next((name for name in below if plain and name.lower() == plain.lower()), None)
                if match_ is not None:
                    passed[item.name or match_] = below[match_]
            return passed
        case _:
            return {}


def _order_items(plan: Node, lower: Aggregate) -> tuple[Item, ...]:
    """Sort keys of an ORDER BY directly above the aggregate, as columns, where they are not output columns."""
    for part in walk(plan):
        if isinstance(part, Order) and part.input == lower:
            return tuple(Item(terms.unaliased(text, lower.items), name) for text, name in _order_columns(part, lower))
    return ()


def _order_columns(order: Order, lower: Aggregate) -> list[tuple[str, str]]:
    names = {terms.item_name(item).lower() for item in lower.items if terms.item_name(item)}
    columns = []
    for index, key in enumerate(order.keys):
        text, _ = terms.sort_direction(key)
        plain = scalar.output_name(text)
        if not text.isdigit() and (plain is None or plain.lower() not in names):
            columns.append((text, f"__o{index}"))
    return columns


def _above(plan: Node, lower: Node, hidden: tuple[Item, ...]) -> Node:
    """The plan with the part below the cut replaced by the kept rows, the engine's `hidden` columns left out."""
    left_out = f" EXCEPT ({', '.join(item.name or '' for item in hidden)})" if hidden else ""

    def swap(part: Node) -> Node:
        if part == lower:
            return Project(Scan(KEPT), (Item(f"*{left_out}"),))
        if isinstance(part, Order) and part.input == lower and isinstance(lower, Aggregate):
            moved = dict(_order_columns(part, lower))
            keys = []
            for key in part.keys:
                text, direction = terms.sort_direction(key)
                shown = moved.get(text) or (quoted(scalar.output_name(text) or "") if scalar.output_name(text) else text)
                keys.append(f"{shown} {direction}".strip())
            return replace(part, input=swap(part.input), keys=tuple(keys))
        return rebuild(part, swap)

    return swap(plan)

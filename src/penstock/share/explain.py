"""What `penstock explain` says of a view: the same cut and job that `run` uses, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from penstock.plan.cut.decide import Cut, Strategy
from penstock.plan.cut.follow import Way, way
from penstock.plan.cut.shape import Shapes, window_of
from penstock.plan.cut.steps import Step
from penstock.plan.cut.times import closes, times_grouped
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import Declaration, Declared, Stream
from penstock.plan.model.matching import kept_for, taken_apart
from penstock.plan.model.names import schemas
from penstock.plan.model.nodes import Aggregate, Operate, Order, Project, names_read, walk
from penstock.plan.model.pattern import Pattern
from penstock.plan.model.pattern_shape import way as way_of
from penstock.plan.model.terms import grouping_expressions
from penstock.plan.model.text import sql
from penstock.plan.model.watermarks import scoped
from penstock.share.jobs import Job, Member, jobs, outputs
from penstock.sink.options import delivery_of

_ENGINE_NAME = re.compile(r"`?\b(\w*__\w+)\b`?")
_COSTS = {
    Strategy.STATELESS: "one pass over new rows; no state",
    Strategy.INCREMENTAL: "one update of state per new row and window",
    Strategy.GATHERED: "each epoch costs the rows of the groups that it touches, not the history",
    Strategy.RECOMPUTE: "each epoch reads the whole history again: the cost grows with the stream",
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """All that is known about one view before it runs."""

    view: str
    job: str
    strategy: str
    reason: str
    cut: str
    above: str
    key: tuple[str, ...] | None
    output: str
    stages: tuple[str, ...]
    state: str
    cost: str
    guarantee: str
    warnings: tuple[str, ...]
    patterns: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f'<pre style="white-space:pre-wrap">{escape(str(self))}</pre>'

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        key = "none" if self.key is None else ", ".join(self.key) or "one row"
        facts = (
            ("strategy", f"{self.strategy}: {self.reason}"),
            ("job", self.job),
            ("output", self.output),
            ("key", key),
            ("stages", " -> ".join(self.stages)),
            ("state", self.state),
            ("cost", self.cost),
            ("delivery", self.guarantee),
            *(("warning", text) for text in self.warnings),
        )
        lines = [f"view {self.view}", *(f"  {name:<10} {text}" for name, text in facts)]
        lines.append("  below the cut (Spark keeps it)" if self.above else "  runs as")
        lines += [f"    {line}" for line in self.cut.splitlines()]
        for pattern in self.patterns:
            how, *steps = pattern.splitlines()
            lines += [f"  the pattern runs {how}; its automaton", *(f"    {line}" for line in steps)]
        if self.above:
            lines += ["  above the cut (evaluated each epoch)", *(f"    {line}" for line in self.above.splitlines())]
        return "\n".join(lines)


def explain(declared: Declared, view: str | None = None) -> list[Explanation]:
    """Explanations of one view, or of all in order of declaration."""
    found = {member.name: _explain(member, job, declared) for job in jobs(declared) for member in job.members}
    return [found[name] for name in declared.views if view is None or name == view]


def _explain(member: Member, job: Job, declared: Declared) -> Explanation:
    cut = member.cut
    key = cut.visible_key
    warnings = []
    once = cut.base is None and not cut.streams
    if cut.strategy is Strategy.RECOMPUTE and not once:
        names = ", ".join(cut.streams)
        warnings.append(f"every epoch reads all rows of {names} again; a GROUP BY below the part that needs them lets Penstock keep its rows instead")
    return Explanation(
        member.name,
        job.name,
        cut.strategy.value,
        "it reads tables alone" if once else cut.reason,
        sql(cut.lower),
        "\n".join(map(sql, cut.above)),
        key,
        outputs(member),
        _stages(member, job),
        _state(member, declared),
        "one pass over the tables, whenever the app starts" if once else _cost(cut, declared),
        _guarantee(member),
        tuple(warnings),
        tuple(_pattern(part.pattern) for part in walk(member.view.query) if isinstance(part, Operate) and part.pattern is not None),
    )


def _pattern(pattern: Pattern) -> str:
    """How a pattern runs, and below it the steps of its program."""
    matching = taken_apart(pattern)
    return f"{way_of(matching)}\n{matching.program}"


def _cost(cut: Cut, declared: Declared) -> str:
    """What an epoch costs, in rows that it looks at; the engine's own names of groups and columns in the words of the query."""
    found = _cost_in_engine_names(cut, declared)
    blocks = (part for plan in (cut.lower, *cut.above) for part in walk(plan) if isinstance(part, Project | Aggregate))
    meant = {item.name: item.text.replace("`", "") for part in blocks for item in part.items if item.name is not None and "__" in item.name}
    return _ENGINE_NAME.sub(lambda name: meant.get(name[1], name[1]), found)


def _cost_in_engine_names(cut: Cut, declared: Declared) -> str:
    if cut.strategy is Strategy.STAGED:
        called = {step.name: f"step {number}" for number, step in enumerate(cut.steps, start=1)}
        return "; ".join(f"{called[step.name]}: {_cost_of_step(step, called)}" for step in cut.steps)
    if cut.strategy not in (Strategy.KEPT, Strategy.ON_VIEW):
        return _COSTS[cut.strategy]
    return _cost_of(way(cut, schemas(declared.declarations)), f"rows of {cut.base}" if cut.base is not None else "kept rows")


def _cost_of_step(step: Step, called: Mapping[str, str]) -> str:
    below = dict.fromkeys(called.get(table, "kept rows") for name, table in step.inputs if name not in step.single)
    what = " and ".join("kept rows" if name == "kept rows" else f"rows of {name}" for name in below)
    single = " and ".join(called[table] for name, table in step.inputs if name in step.single)
    return _cost_of(step.way, what) + (f"; at all of them when the row of {single} changes" if single else "")


def _cost_of(found: Way, what: str) -> str:
    if found.groups is not None:
        of = f"({', '.join(found.groups)})" if found.groups else "all rows"
        return f"the {what} that an epoch changes are added to stored partial results of each group of {of}: it costs what changed"
    if found.first is not None:
        return f"an epoch places the {what} that it changes among {found.first} candidates and some more, and looks at all when too few are left"
    if found.parts:
        return f"an epoch looks at the {what} that have the same ({', '.join(found.parts)}) as one that it changes"
    return f"an epoch looks at all {what}: the plan needs them at once"


def _stages(member: Member, job: Job) -> tuple[str, ...]:
    if not job.streams:
        read = f"table({', '.join(names_read(job.cut.lower))})"
        return (read, "plan", "store", *(f"sink({sink.name})" for sink in member.sinks))
    read = ", ".join(job.streams)
    above = {
        Strategy.KEPT: "kept rows -> upper plan",
        Strategy.STAGED: " -> ".join(["kept rows", *(f"step {number}" for number, _ in enumerate(member.cut.steps, start=1))]),
        Strategy.GATHERED: "touched groups -> upper plan",
        Strategy.ON_VIEW: f"rows of {member.cut.base} -> upper plan",
        Strategy.RECOMPUTE: "history -> plan",
    }
    found = [f"source({read})", "decode", "eventtime" if job.cut.watermarked else "", "spark", above.get(member.cut.strategy, ""), "store"]
    found += [f"sink({sink.name})" for sink in member.sinks]
    return tuple(stage for stage in found if stage)


def _state(member: Member, declared: Declared) -> str:
    cut = member.cut
    if cut.strategy is Strategy.STATELESS:
        return "none"
    if cut.strategy is Strategy.RECOMPUTE:
        return "none: read again from the source" if cut.streams else "none"
    if cut.strategy is Strategy.ON_VIEW:
        return f"the rows of {cut.base}, in the results store"
    if cut.strategy is Strategy.STAGED:
        steps = "and what each step gives, " if len(cut.steps) > 1 else ""
        return f"{_columns_kept(cut)} of every row, {steps}in the results store, never dropped: it grows with the stream"
    if cut.strategy is Strategy.GATHERED:
        return f"{_columns_kept(cut)} of every row, by group, never dropped: a group grows with its rows"
    keyed = next((part for part in walk(cut.lower) if isinstance(part, Operate) and part.is_keyed), None)
    return _kept_by_spark(cut, scoped(member.view, declared.declarations)) if keyed is None else _kept_by_key(keyed, cut)


def _columns_kept(cut: Cut) -> str:
    """The columns of each kind of rows that the plan above the cut needs."""
    items = (item for part in walk(cut.lower) if isinstance(part, Project) for item in part.items)
    calls = (parsed(item.text).calls[0] for item in items if item.text.startswith("named_struct("))
    kinds = dict.fromkeys(f"({', '.join(parsed(name).tokens[0].value for name in call.args[::2])})" for call in calls)
    return " and ".join(kinds)


def _kept_by_spark(cut: Cut, entries: Mapping[str, Declaration]) -> str:
    shapes = Shapes(lambda name: isinstance(entries.get(name), Stream))
    grouped = [part for part in walk(cut.lower) if isinstance(part, Aggregate) and shapes.reads_stream(part)]
    windows = {part: window for part in grouped if (window := window_of(part)) is not None}
    lateness = [getattr(entries[name], "lateness", None) for name in cut.streams]
    late = ", ".join(map(str, lateness))
    if windows and cut.watermarked and all([*lateness, *(closes(part, entries) for part in windows)]):
        size = next(iter(windows.values())).size or "the session's gap"
        return f"bounded: open windows of {size} plus lateness of {late}"
    if windows:
        return "one row per group and window, never dropped: no watermark passes these windows"
    if any(shapes.stream_join(part) for part in walk(cut.lower)):
        if not cut.watermarked:
            return "every row of both streams, never dropped: no bound on time both ways says which can still be joined"
        more = "; and one row per distinct key, never dropped" if _is_keyed(grouped) and not times_grouped(grouped[0], entries) else ""
        return f"bounded: rows that can still be joined, plus lateness of {late}{more}"
    if isinstance(cut.lower, Order):
        return "bounded: a count of the rows up to the limit"
    if grouped and not _is_keyed(grouped):
        return "bounded: one row"
    return "one row per distinct key, never dropped: it grows with the number of keys"


def _kept_by_key(node: Operate, cut: Cut) -> str:
    waiting = "; and rows until the watermark has passed them" if cut.watermarked else ""
    if node.pattern is not None:
        return kept_for(node.pattern) + waiting
    lasting = node.option("ttl")
    bound = "for as long as it keeps it" if lasting is None else f"until {lasting} after the last row of the key"
    return f"what {node.function} keeps of each ({', '.join(node.keys)}), {bound}{waiting}"


def _is_keyed(grouped: Sequence[Aggregate]) -> bool:
    return bool(grouped and grouping_expressions(grouped[0]))


def _guarantee(member: Member) -> str:
    store = "results store exactly-once" if member.stored else "no results store"
    return "; ".join([store, *(f"{sink.name} {delivery_of(sink.options)}" for sink in member.sinks)])

"""What `penstock explain` says of a view: the same cut and job that `run` uses, in words."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.cut import Strategy
from penstock.plan.declare import Declared, Stream
from penstock.plan.nodes import Aggregate, Order, names_read, walk
from penstock.plan.shape import Shapes, window_of
from penstock.plan.terms import grouping_expressions
from penstock.plan.text import sql
from penstock.plan.times import closes, times_grouped
from penstock.plan.watermarks import scoped
from penstock.share.jobs import Job, Member, jobs, outputs
from penstock.sink.options import delivery_of

_COSTS = {
    Strategy.STATELESS: "one pass over new rows; no state",
    Strategy.INCREMENTAL: "one update of state per new row and window",
    Strategy.KEPT: "as incremental below the cut; above it, each epoch costs the size of the kept rows, not of the history",
    Strategy.ON_VIEW: "each epoch costs the size of the view it reads, not of the history",
    Strategy.RECOMPUTE: "each epoch reads the whole history again: the cost grows with the stream",
}


@dataclass(frozen=True)
class Explanation:
    """All that can be told about one view before it runs."""

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
        warnings.append(f"every epoch reads all of {names} again; a GROUP BY below the part that needs all rows would let Penstock keep that instead")
    return Explanation(
        member.name,
        job.name,
        cut.strategy.value,
        "it reads tables alone" if once else cut.reason,
        sql(cut.lower),
        sql(cut.upper) if cut.upper else "",
        key,
        outputs(member),
        _stages(member, job),
        _state(member, declared),
        "one pass over the tables, whenever the app starts" if once else _COSTS[cut.strategy],
        _guarantee(member),
        tuple(warnings),
    )


def _stages(member: Member, job: Job) -> tuple[str, ...]:
    if not job.streams:
        read = f"table({', '.join(names_read(job.cut.lower))})"
        return (read, "plan", "store", *(f"sink({sink.name})" for sink in member.sinks))
    read = ", ".join(job.streams)
    above = {
        Strategy.KEPT: "kept rows -> upper plan",
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
    entries = scoped(member.view, declared.declarations)
    seen = {name: entry for name, entry in entries.items() if isinstance(entry, Stream)}
    shapes = Shapes(lambda name: name in seen)
    windowed = [part for part in walk(cut.lower) if isinstance(part, Aggregate) and window_of(part) is not None and shapes.reads_stream(part)]
    streams = [seen[name] for name in cut.streams]
    if windowed and cut.watermarked and all(stream.lateness for stream in streams) and all(closes(part, entries) for part in windowed):
        size = next(window.size or "the session's gap" for window in map(window_of, windowed) if window is not None)
        return f"bounded: open windows of {size} plus lateness of {', '.join(str(stream.lateness) for stream in streams)}"
    if windowed:
        return "one row per group and window, never dropped: no watermark passes these windows"
    groups = next((part for part in walk(cut.lower) if isinstance(part, Aggregate) and shapes.reads_stream(part)), None)
    if any(shapes.stream_join(part) for part in walk(cut.lower)):
        if not cut.watermarked:
            return "every row of both streams, never dropped: no bound on time both ways says which can still be joined"
        lateness = ", ".join(str(stream.lateness) for stream in streams)
        grown = groups is not None and grouping_expressions(groups) and not times_grouped(groups, entries)
        more = "; and one row per distinct key, never dropped" if grown else ""
        return f"bounded: rows that can still be joined, plus lateness of {lateness}{more}"
    if isinstance(cut.lower, Order):
        return "bounded: a count of the rows up to the limit"
    if groups is not None and not grouping_expressions(groups):
        return "bounded: one row"
    return "one row per distinct key, never dropped: it grows with the number of keys"


def _guarantee(member: Member) -> str:
    store = "results store exactly-once" if member.stored else "no results store"
    return "; ".join([store, *(f"{sink.name} {delivery_of(sink.options)}" for sink in member.sinks)])

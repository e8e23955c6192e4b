"""Views that read views, as one plan over streams and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from penstock.plan.cut.closed import only_closed
from penstock.plan.model.declare import Declaration, Emit, Stream, View
from penstock.plan.model.nodes import Alias, Node, Opaque, Scan, rebuild
from penstock.plan.model.opaque import with_views
from penstock.plan.model.watermarks import scoped


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

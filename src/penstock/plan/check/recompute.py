"""Finds views that are computed again from the whole history in every epoch: right, and dearer with every row."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.plan.cut.decide import Strategy, cut
from penstock.plan.model.declare import Declared, View
from penstock.plan.model.findings import WARNING, Finding, Spot, placed

_HINT = "an epoch costs more the longer the history is; a GROUP BY below that part lets Penstock keep its rows instead (penstock explain)"


def recompute_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """A warning for a view of which nothing can be kept, with what it reads and why."""
    found = cut(view, declared.declarations)
    if found.strategy is Strategy.RECOMPUTE and found.streams:
        read = " and ".join(f"`{name}`" for name in found.streams)
        where, _ = placed(view, Spot(view.query.where))
        yield Finding(WARNING, "PlanFault", f"view `{view.name}` reads all rows of {read} again in every epoch: {found.reason}", where, hint=_HINT)

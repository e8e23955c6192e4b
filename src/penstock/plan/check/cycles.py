"""Finds views that read each other, or themselves: such a plan has no end, so it is found before any plan is put together."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.model.declare import Declared
from penstock.plan.model.findings import ERROR, Finding
from penstock.plan.model.nodes import names_read


@dataclass(frozen=True)
class Circles:
    """The finding for each circle, and the names of all views that lead to one."""

    findings: tuple[Finding, ...]
    leading: frozenset[str]


def circles(declared: Declared) -> Circles:
    """The circles among the views of an app, each found once."""
    views = {name.lower(): view for name, view in declared.views.items()}
    findings: list[Finding] = []
    leads: dict[str, bool] = {}

    def follow(name: str, path: tuple[str, ...]) -> bool:
        if name in path:
            round_trip = " -> ".join((*path[path.index(name) :], name))
            hint = "let one of them read the stream itself"
            findings.append(Finding(ERROR, "PlanFault", f"views that read each other: {round_trip}", views[name].where, hint=hint))
            return True
        if name in views and name not in leads:
            found = [follow(read.lower(), (*path, name)) for read in names_read(views[name].query)]
            leads[name] = any(found)
        return leads.get(name, False)

    leading = frozenset(view.name for name, view in views.items() if follow(name, ()))
    return Circles(tuple(findings), leading)

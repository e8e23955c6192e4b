"""Finds views that read each other, or themselves: such a plan has no end, so it is found before any plan is put together."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.declare import Declared
from penstock.plan.findings import ERROR, Finding
from penstock.plan.nodes import names_read


@dataclass(frozen=True)
class Circles:
    """What is said of each circle, and the names of all views from which one is reached."""

    findings: tuple[Finding, ...]
    reached: frozenset[str]


def circles(declared: Declared) -> Circles:
    """The circles among the views of an app, each found once."""
    views = {name.lower(): view for name, view in declared.views.items()}
    findings: list[Finding] = []
    reaches: dict[str, bool] = {}

    def follow(name: str, path: tuple[str, ...]) -> bool:
        if name in path:
            round_trip = " -> ".join((*path[path.index(name) :], name))
            hint = "let one of them read the stream itself"
            findings.append(Finding(ERROR, "PlanFault", f"views that read each other: {round_trip}", views[name].where, hint=hint))
            return True
        if name in views and name not in reaches:
            found = [follow(read.lower(), (*path, name)) for read in names_read(views[name].query)]
            reaches[name] = any(found)
        return reaches.get(name, False)

    reached = frozenset(view.name for name, view in views.items() if follow(name, ()))
    return Circles(tuple(findings), reached)

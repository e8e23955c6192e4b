"""Finds what is wrong with `FROM STREAM t WATERMARK c DELAY OF i`: it is held to what WATERMARK FOR is held to in CREATE STREAM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.plan.check.sources import event_time_findings
from penstock.plan.model.declare import Declared, Stream, View
from penstock.plan.model.findings import ERROR, Finding, Spot, placed


def watermark_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """Watermarks on what is no stream, or on a column that cannot be an event time."""
    entries = {name.lower(): entry for name, entry in declared.declarations.items()}
    for name, (column, delay) in view.watermarks.items():
        entry = entries.get(name.lower())
        if isinstance(entry, Stream):
            where, excerpt = placed(view, Spot(view.query.where, column, 0, len(column)))
            for finding in event_time_findings(replace(entry, event_time=column, lateness=delay)):
                yield replace(finding, where=where, excerpt=excerpt)
        elif entry is not None:
            where, excerpt = placed(view, Spot(view.query.where, name, 0, len(name)))
            kind, hint = type(entry).__name__.lower(), "declare it where the view reads the stream itself"
            yield Finding(ERROR, "PlanFault", f"`{name}` is a {kind}, and only a stream has a watermark", where, excerpt, hint)

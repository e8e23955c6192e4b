"""`FROM STREAM t WATERMARK c DELAY OF i`: event time and lateness that hold for one view instead of the stream's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.model.declare import Declaration, Stream, View


def scoped(view: View, declared: Mapping[str, Declaration]) -> Mapping[str, Declaration]:
    """The declarations as this view sees them."""
    found = dict(declared)
    for name, (column, delay) in view.watermarks.items():
        known = next((entry for key, entry in declared.items() if key.lower() == name.lower()), None)
        if isinstance(known, Stream):
            found[known.name] = replace(known, event_time=column, lateness=delay)
    return found

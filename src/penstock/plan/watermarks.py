"""`FROM STREAM t WATERMARK c DELAY OF i`: event time and lateness that hold for one view instead of the stream's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from penstock.plan.declare import Declaration, Stream, View

OPTION = "__watermark"


def own_watermarks(view: View) -> dict[str, tuple[str, str]]:
    """What the view's own FROM declares: relation -> (column, lateness)."""
    own = view.options.get(OPTION)
    return {} if own is None else {name: (column, delay) for name, (column, delay) in json.loads(str(own)).items()}


def scoped(view: View, declared: Mapping[str, Declaration]) -> Mapping[str, Declaration]:
    """The declarations as this view sees them."""
    own = own_watermarks(view)
    if not own:
        return declared
    found = dict(declared)
    for name, (column, delay) in own.items():
        known = next((entry for key, entry in declared.items() if key.lower() == name.lower()), None)
        if isinstance(known, Stream):
            found[known.name] = replace(known, event_time=column, lateness=delay)
    return found

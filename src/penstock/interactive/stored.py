"""Stored rows of a view, read from the results store: no Spark, unless a condition is to be judged."""

from __future__ import annotations

from penstock.engine import Engine
from penstock.errors import OptionFault, StateError
from penstock.interactive.result import Result
from penstock.schema import columns
from penstock.subscribe.epochs import PublicEpochs


def stored_rows(engine: Engine, view: str, where: str | None, limit: int | None) -> Result:
    """The view as of its newest epoch; StateError where it never ran."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise OptionFault(f"`limit` is a number of rows, not {limit!r}")
    name = engine.view_name(view)
    store = engine.results()
    known = store.schema(name)
    if known is None:
        raise StateError(f"view `{name}` has not run, so it holds no rows", hint="app.run(drain=True).wait() runs it; app.batch() computes it once")
    found = store.snapshot(name)
    epoch = PublicEpochs(store).public(name, found.generation, found.epoch)
    lines = [change.row for change in found.changes]
    if where is not None:
        lines = list(engine.filtered(name, lines, where).lines)
    return Result(columns(known[0]), lines if limit is None else lines[:limit], epoch=epoch if epoch >= 0 else None)

"""What a view can be told in its WITH (...)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import UserError
from penstock.eventtime import interval
from penstock.plan.cut import cut
from penstock.plan.declare import Declared, View
from penstock.plan.findings import ERROR, Finding
from penstock.plan.resolve import closest

ONCE = "once"
VIEW_OPTIONS = {
    "trigger": "how often the view looks for rows: `10 seconds`, or `once`; absent: as the setting `trigger` says",
    "store": "`false`: keep no rows in the results store, only deliver them; for views that only add rows",
}


def option_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """Options that no view has, values that mean nothing, and a view without a store whose rows would have to be taken back."""
    for name, value in view.options.items():
        if name.startswith("__"):  # the engine's own notes
            continue
        if name not in VIEW_OPTIONS:
            near = closest(name, VIEW_OPTIONS)
            hint = f"did you mean `{near}`?" if near else f"a view has: {', '.join(VIEW_OPTIONS)}"
            yield Finding(ERROR, "OptionFault", f"view `{view.name}` has no option `{name}`", view.where, hint=hint)
        elif not _means_something(name, str(value)):
            yield Finding(ERROR, "OptionFault", f"view `{view.name}`: `{name}` cannot be '{value}'", view.where, hint=VIEW_OPTIONS[name])
    if not view.stored:
        yield from _unstored(view, declared)


def _means_something(name: str, value: str) -> bool:
    if name == "store":
        return value.lower() in ("true", "false")
    try:
        return value == ONCE or interval(value) >= 0
    except UserError:
        return False


def _unstored(view: View, declared: Declared) -> Iterator[Finding]:
    if not cut(view, declared.declarations).adds_only:
        message = f"view `{view.name}` keeps no store, but its rows change, which only a store can tell"
        yield Finding(ERROR, "PlanFault", message, view.where, hint="leave `store` away; or emit on window close, so that rows are only added")

"""The options of a view in its WITH (...)."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import UserError
from penstock.eventtime import interval
from penstock.plan.cut.decide import cut
from penstock.plan.model.declare import ON_ERROR, Declared, Emit, Sink, View
from penstock.plan.model.findings import ERROR, Finding
from penstock.plan.model.resolve import closest

ONCE = "once"
VIEW_OPTIONS = {
    "trigger": "how often the view looks for rows: `10 seconds`, or `once`; absent: as the setting `trigger` says",
    "on_error": "what a row does for which a Python function raises: `dead` (it goes to the dead letters) or `stop` (the view stops); absent: `dead`",
    "alert": "`true`: its rows are alerts, which the console shows until they are acknowledged",
    "store": "`false`: keep no rows in the results store, only deliver them; for views that only add rows",
}


# Triggers of Spark under which an epoch has no fixed range of input until it is over, and why that rules exactly-once out.
_LOOSE = {
    "real-time": "Spark logs what an epoch read only at its end, so after a crash the same epoch may hold other rows",
    "continuous": "Spark does not say which rows belong to an epoch before they are delivered",
    "async": "Spark logs progress behind the epochs, so after a crash the same epoch may hold other rows",
}


def option_findings(view: View, declared: Declared, trigger: str = "") -> Iterator[Finding]:
    """Options that no view has, values that mean nothing, and a view without a store whose rows would have to be taken back.

    `trigger` is the setting, which holds for views that say nothing of their own.
    """
    own = str(view.options.get("trigger") or "")
    yield from _broken_promises(own or trigger, view, declared)
    for name, value in view.options.items():
        if name not in VIEW_OPTIONS:
            near = closest(name, VIEW_OPTIONS)
            hint = f"did you mean `{near}`?" if near else f"a view has: {', '.join(VIEW_OPTIONS)}"
            yield Finding(ERROR, "OptionFault", f"view `{view.name}` has no option `{name}`", view.where, hint=hint)
        elif not _means_something(name, str(value)):
            yield Finding(ERROR, "OptionFault", f"view `{view.name}`: `{name}` cannot be '{value}'", view.where, hint=VIEW_OPTIONS[name])
    if not view.stored:
        yield from _unstored(view, declared)
        if view.alerts:
            hint = "leave `store` away"
            yield Finding(ERROR, "OptionFault", f"view `{view.name}` keeps no store, so its alerts could not be shown", view.where, hint=hint)


def setting_findings(trigger: str) -> Iterator[Finding]:
    """A setting `trigger` that means nothing."""
    if trigger and not _means_something("trigger", trigger):
        yield Finding(ERROR, "OptionFault", f"the setting `trigger` cannot be '{trigger}'", None, hint=VIEW_OPTIONS["trigger"].split(";")[0])


def _broken_promises(trigger: str, view: View, declared: Declared) -> Iterator[Finding]:
    """Sinks of a view that cannot be exactly-once under its trigger."""
    why = next((why for name, why in _LOOSE.items() if trigger.strip().lower().startswith(name)), None)
    for sink in declared.sinks.values() if why is not None else ():
        if sink.view.lower() == view.name.lower() and _exact(sink):
            message = f"sink `{sink.name}` cannot be exactly-once with trigger = '{trigger}': {why}"
            yield Finding(ERROR, "PromiseFault", message, sink.where, hint="let the view have trigger = '1 second', or none: as soon as possible")


def _exact(sink: Sink) -> bool:
    """Whether the sink promises exactly-once: because it says so, or by its connector's default."""
    by_default = "exactly-once" if sink.options.get("connector") in ("postgres", "files", "sqlite") else None
    return sink.options.get("delivery", by_default) == "exactly-once"


def _means_something(name: str, value: str) -> bool:
    if name in ("store", "alert"):
        return value.lower() in ("true", "false")
    if name == "on_error":
        return value.lower() in ON_ERROR
    try:
        return value == ONCE or interval(value) >= 0
    except UserError:
        return False


def _unstored(view: View, declared: Declared) -> Iterator[Finding]:
    if view.emit is Emit.COMPLETE or not cut(view, declared.declarations).adds_only:
        message = f"view `{view.name}` keeps no store, but its rows change, which only a store can track"
        yield Finding(ERROR, "PlanFault", message, view.where, hint="leave `store` away; or emit on window close, so that rows are only added")

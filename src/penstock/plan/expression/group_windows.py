"""Group windows of Flink's older SQL: TUMBLE_START(at, INTERVAL '1' HOUR) and the like, rewritten with Spark's window()."""

from __future__ import annotations

from penstock.errors import TypeFault
from penstock.eventtime import format_interval, interval
from penstock.plan.expression.calls import Call

_FIELDS = {"start": ".start", "end": ".end", "rowtime": ".end - INTERVAL 1 MILLISECOND", "": ""}
_KINDS = ("tumble", "hop", "session")


def spark_window(call: Call) -> str | None:
    """What to write instead of a group window function, with the user's own arguments; None where the call is none."""
    kind, _, field = call.name.lower().partition("_")
    if kind not in _KINDS or field not in _FIELDS or len(call.args) < (3 if kind == "hop" else 2):
        return None
    spans = [_span(text) for text in call.args[1:]]
    if kind == "hop":  # Flink gives the slide first
        spans[0], spans[1] = spans[1], spans[0]
    function = "session_window" if kind == "session" else "window"
    return f"{function}({call.args[0]}, {', '.join(spans)}){_FIELDS[field]}"


def _span(text: str) -> str:
    try:
        return f"'{format_interval(interval(text))}'"
    except TypeFault:
        return text

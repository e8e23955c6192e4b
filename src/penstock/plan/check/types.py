"""Finds types that cannot match. Only what is certain is an error: where a type is not known, nothing is reported."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import TypeFault
from penstock.eventtime import interval
from penstock.plan.expression.infer import type_of
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.tokens import tokens
from penstock.plan.expression.types import UNKNOWN, comparable
from penstock.plan.model.declare import View
from penstock.plan.model.findings import ERROR, WARNING, Finding, Spot, placed
from penstock.plan.model.names import Names, mismatch
from penstock.plan.model.nodes import Join, Node, SetOperation, Union
from penstock.plan.model.scopes import Placed
from penstock.schema import family

_NO_TIME = ("number", "boolean", "binary", "interval")
_NO_CONDITION = ("number", "time", "nested", "binary", "interval")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_ORDER = ("<", ">", "<=", ">=", "<>", "!=")
_NO_ARITHMETIC = ("boolean", "array", "map", "struct")
_NO_SUM = ("boolean", "time", "nested", "binary")


def impossible_equalities(view: View, expression: Placed) -> Iterator[Finding]:
    """`a = b` where Spark can never compare the two."""
    if expression.role not in ("where", "on", "having"):
        return
    for conjunct in parsed(expression.text).conjuncts:
        sides = parsed(conjunct).equality
        if sides is None or not all(sides):
            continue
        left, right = (type_of(side, expression.scope.look) for side in sides)
        if not comparable(left, right):
            start = expression.text.find(conjunct)
            spot = expression.spot.part(start, start + len(conjunct))
            yield _found(view, spot, f"{left.upper()} cannot be compared with {right.upper()}", "cast one side to the type of the other")


def impossible_sums(view: View, expression: Placed) -> Iterator[Finding]:
    """sum() and avg() of what is not a number."""
    for call in parsed(expression.text).calls:
        if call.name not in ("sum", "avg", "mean") or len(call.args) != 1:
            continue
        kind = type_of(call.args[0], expression.scope.look)
        if kind in (UNKNOWN, "variant"):
            continue
        spot = expression.spot.part(call.start, call.end)
        if family(kind) in _NO_SUM and kind != "timestamp":  # which Spark sums as seconds since 1970
            hint = "count_if(...) counts the rows for which it is true" if kind == "boolean" else f"{call.name} wants a number"
            yield _found(view, spot, f"{call.name}() of a {kind.upper()}", hint)
        elif family(kind) == "text":
            yield _found(
                view, spot, f"{call.name}() of a {kind.upper()}: Spark reads it as a number, and fails on text that is none", "cast it", WARNING
            )


def impossible_conditions(view: View, expression: Placed) -> Iterator[Finding]:
    """A condition that is neither true nor false, e.g. `WHERE amount`; in HAVING, Spark takes a number for one."""
    if expression.role not in ("where", "on"):
        return
    for conjunct in parsed(expression.text).conjuncts:
        kind = type_of(conjunct, expression.scope.look)
        if kind not in (UNKNOWN, "variant") and family(kind) in _NO_CONDITION:
            start = expression.text.find(conjunct)
            spot = expression.spot.part(start, start + len(conjunct))
            yield _found(
                view, spot, f"a condition is true or false, and this is {kind.upper()}", "compare it with something: ... > 0, ... IS NOT NULL"
            )


def impossible_arithmetic(view: View, expression: Placed) -> Iterator[Finding]:
    """`amount + ok`: + - * / % between two plain columns or literals of which one is a boolean, an array, a map or a struct."""
    for spot, left, right in _pairs(expression, _ARITHMETIC):
        wrong = next((kind for kind in (left, right) if kind.split("<")[0] in _NO_ARITHMETIC), None)
        if wrong is not None:
            yield _found(view, spot, f"there is no arithmetic with a {wrong.upper()}", "cast it to a number, or take a part of it")


def impossible_orders(view: View, expression: Placed) -> Iterator[Finding]:
    """`at > 5`: < > <= >= <> between two plain columns or literals that Spark can never compare; `=` has a rule of its own."""
    for spot, left, right in _pairs(expression, _ORDER, alone=True):
        if not comparable(left, right):
            yield _found(view, spot, f"{left.upper()} cannot be compared with {right.upper()}", "cast one side to the type of the other")


def _pairs(expression: Placed, marks: tuple[str, ...], *, alone: bool = False) -> Iterator[tuple[Spot, str, str]]:
    """Where a mark stands between two plain operands, and their types; `alone`: and nothing is calculated around them."""
    operands = {start: (end, kind) for start, end, kind in _plain_operands(expression)}
    begins = {end: start for start, (end, _) in operands.items()}
    found = tokens(expression.text)
    for index, mark in enumerate(found[1:-1], 1):
        left, right = begins.get(found[index - 1].end), found[index + 1].start
        if mark.kind != "op" or mark.text not in marks or left is None or right not in operands:
            continue
        end = operands[right][0]
        before = next((token for token in reversed(found) if token.end <= left), None)
        after = next((token for token in found if token.start >= end), None)
        if not alone or all(token is None or token.kind != "op" or token.text in ("(", ")", ",") for token in (before, after)):
            yield expression.spot.part(left, end), operands[left][1], operands[right][1]


def _plain_operands(expression: Placed) -> Iterator[tuple[int, int, str]]:
    """Start, end and type of columns and literals that nothing is done to before an operator sees them."""
    found = tokens(expression.text)
    after = {token.end: found[index + 1].text for index, token in enumerate(found[:-1])}
    for ref in parsed(expression.text).columns:
        if after.get(ref.end) not in ("[", "::", ":", ".", "("):
            yield ref.start, ref.end, expression.scope.look(ref.parts)
    for token in found:
        if (token.kind == "number" or token.is_word("true", "false")) and after.get(token.end) != "::":
            yield token.start, token.end, "boolean" if token.kind == "word" else "int" if token.text.isdigit() else "decimal"


def wrong_windows(view: View, expression: Placed) -> Iterator[Finding]:
    """window() and session_window() over what is no time, or with what is no duration."""
    window = parsed(expression.text).window
    if window is None:
        return
    spot = expression.spot.part(window.start, window.end)
    kind = type_of(window.time, expression.scope.look)
    if kind != UNKNOWN and family(kind) in _NO_TIME:
        yield _found(
            view,
            spot,
            f"a window needs a time, and `{window.time}` is {kind.upper()}",
            "cast it: timestamp_millis(x), timestamp_seconds(x), to_timestamp(x)",
        )
    if _has_literal_interval(expression.text[window.start : window.end]):
        yield _found(view, spot, "window() takes its durations as text, not as INTERVAL", "write them in quotes: window(at, '1 hour')")
        return
    lengths = []
    for text in (window.size, window.slide):
        if text is None:
            continue
        try:
            lengths.append(interval(text))
        except TypeFault as fault:
            yield _found(view, spot, fault.message, fault.hint)
            return
    if any(length <= 0 for length in lengths):
        yield _found(view, spot, "a window must be longer than nothing", "write a duration such as '10 minutes'")
    elif len(lengths) == 2 and lengths[1] > lengths[0]:
        yield _found(view, spot, "the step of a window is longer than the window: rows between would be lost", "make the step at most the size")


def _has_literal_interval(call: str) -> bool:
    return any(tokens(arg)[0].is_word("interval") for arg in parsed(call).calls[0].args[1:] if tokens(arg))


def wrong_sides(view: View, node: Node, names: Names) -> Iterator[Finding]:
    """Set operations whose sides do not fit, and USING columns that cannot be equal."""
    if isinstance(node, Join):
        left, right = names.visible(node.left), names.visible(node.right)
        for name in node.using:
            one, other = left.look((name,)), right.look((name,))
            if not comparable(one, other):
                spot = Spot(node.where, name, 0, len(name))
                yield _found(view, spot, f"`{name}` is {one.upper()} on one side and {other.upper()} on the other", "join ON ... with a cast")
    elif isinstance(node, Union | SetOperation):
        sides = node.inputs if isinstance(node, Union) else (node.left, node.right)
        first = names.output(sides[0])
        for side in sides[1:]:
            output = names.output(side)
            if first.open or output.open:
                continue
            if len(output.columns) != len(first.columns):
                message = f"one side has {len(first.columns)} columns and the other {len(output.columns)}"
                yield _found(view, Spot(side.where), message, "select the same columns on both sides")
            elif pair := mismatch(first, output):
                message = f"`{pair[0].name}` is {pair[0].type.upper()} and `{pair[1].name}` is {pair[1].type.upper()}"
                yield _found(view, Spot(side.where), message, "put the columns in the same order, or cast one side")


def _found(view: View, spot: Spot, message: str, hint: str | None, severity: str = ERROR) -> Finding:
    where, excerpt = placed(view, spot)
    return Finding(severity, "TypeFault", message, where, excerpt, hint)

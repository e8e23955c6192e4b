"""Finds names that mean nothing: columns, qualifiers, fields and functions, each in the scope where it stands."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from penstock.plan.expression import functions
from penstock.plan.expression.calls import Call
from penstock.plan.expression.group_windows import spark_window
from penstock.plan.expression.parsed import parsed
from penstock.plan.model.declare import View
from penstock.plan.model.findings import ERROR, Finding, Spot, placed
from penstock.plan.model.names import Names
from penstock.plan.model.nodes import Join, Node
from penstock.plan.model.resolve import Scope, closest
from penstock.plan.model.scopes import Placed

_WITH_SETS = re.compile(r"\s+with\s+(rollup|cube)\s*$", re.IGNORECASE)
ARGUMENTS_HINT = "Spark's own documentation of the function shows what each argument is"
_TIME_ZONE = re.compile(r"\bat\s+time\s+zone\b", re.IGNORECASE)


def unknown_columns(view: View, expression: Placed) -> Iterator[Finding]:
    """Columns, qualifiers and struct fields that do not exist, and names that mean two columns at once."""
    zoned = _TIME_ZONE.search(expression.text) is not None
    for ref in parsed(expression.text).columns:
        if zoned and ref.name.lower() in ("time", "zone", "at"):
            continue  # `at AT TIME ZONE 'UTC'`
        spot = expression.spot.part(ref.start, ref.end)
        written = ".".join(ref.parts)
        if expression.scope.resolve(ref.parts) is None:
            if any(not part.replace("_", "a").isalnum() for part in ref.parts) and expression.scope.unnamed:
                continue  # a name in backticks may be one that only Spark gives, e.g. `count(1)`
            near = expression.scope.near(ref.parts)
            hint = f"did you mean `{near}`?" if near else _known(expression.scope)
            yield _named(view, spot, f"there is no column `{written}` here", hint)
        elif len(ref.parts) == 1 and expression.role != "order":
            owners = expression.scope.owners(ref.name)
            if len(owners) > 1:
                yield _named(
                    view, spot, f"`{written}` may be {' or '.join(f'`{owner}.{written}`' for owner in owners)}", f"write `{owners[0]}.{written}`"
                )


def unknown_functions(view: View, expression: Placed, own: Collection[str] = ()) -> Iterator[Finding]:
    """Functions that neither Spark nor the app has; `own` are those of the app, in lower case."""
    for call in parsed(expression.text).calls:
        written = expression.text[call.start : call.end].split("(")[0].strip()
        instead = spark_window(call)
        known = functions.known(call.name) and not (functions.is_flink_window(call.name) and instead)
        if known or call.name.lower() in own or "." in written or "`" in written:
            continue
        near = closest(call.name, own) or functions.near(call.name)
        hint = f"write {instead}" if instead else f"did you mean `{near}`?" if near else "every function of Spark SQL may be used"
        yield _named(view, expression.spot.part(call.start, call.start + len(written)), f"there is no function `{written}`", hint)


def wrong_counts(view: View, expression: Placed) -> Iterator[Finding]:
    """Functions that are given more or fewer arguments than they take."""
    for call in parsed(expression.text).calls:
        takes = miscount(call)
        if takes is not None:
            where, excerpt = placed(view, expression.spot.part(call.start, call.end))
            yield Finding(ERROR, "TypeFault", takes, where, excerpt, ARGUMENTS_HINT)


def miscount(call: Call) -> str | None:
    """What is wrong with the number of a call's arguments; None where a star may stand for any number, or a name says which one it is."""
    if any(arg.endswith("*") or "=>" in arg for arg in call.args):
        return None
    takes = functions.miscounted(call.name, len(call.args))
    return f"`{call.name}` takes {takes}, not {len(call.args)}" if takes is not None else None


def unknown_shared(view: View, node: Node, names: Names) -> Iterator[Finding]:
    """Columns of USING that a side does not have."""
    if not isinstance(node, Join):
        return
    for name in node.using:
        for side in (node.left, node.right):
            scope = names.visible(side)
            if scope.resolve((name,)) is None:
                near = scope.near((name,))
                which = "left" if side is node.left else "right"
                hint = f"did you mean `{near}`?" if near else _known(scope)
                yield _named(view, replace(Spot(node.where), text=name, end=len(name)), f"the {which} side of the join has no column `{name}`", hint)


def _known(scope: Scope) -> str | None:
    every = [column.name for relation in scope.relations for column in relation.columns if column.name]
    shown = ", ".join(every[:12])
    return f"the columns here are {shown}{', ...' if len(every) > 12 else ''}" if every else None


def _named(view: View, spot: Spot, message: str, hint: str | None) -> Finding:
    where, excerpt = placed(view, spot)
    return Finding(ERROR, "NameFault", message, where, excerpt, hint)

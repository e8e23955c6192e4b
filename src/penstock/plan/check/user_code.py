"""Functions of the app's own Python files that are not there or cannot be called so; their files are read, not run."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from penstock.errors import Where
from penstock.plan.check.callbacks import missing_function
from penstock.plan.expression import functions
from penstock.plan.expression.parsed import parsed
from penstock.plan.expression.types import type_fault
from penstock.plan.model.declare import Declared, Function, View
from penstock.plan.model.findings import ERROR, Finding, Spot, placed
from penstock.plan.model.nodes import Operate, walk
from penstock.plan.model.scopes import Placed
from penstock.plan.model.user_code import MAIN, takes


def function_findings(entry: Function, declared: Declared) -> Iterator[Finding]:
    """What is wrong with one CREATE FUNCTION or @ps.function."""
    if not entry.name.isidentifier():
        yield Finding(ERROR, "NameFault", f"`{entry.name}` cannot be the name of a function", entry.where, hint="letters, digits and `_`")
    elif functions.known(entry.name):
        message = f"`{entry.name}` is a function of Spark's already"
        yield Finding(ERROR, "NameFault", message, entry.where, hint=f"name it otherwise, e.g. my_{entry.name}")
    yield from _missing(f"function `{entry.name}`", entry.target, declared, entry.where, "value")
    wrong = type_fault(entry.returns)
    if wrong is not None:
        yield Finding(ERROR, "TypeFault", f"what function `{entry.name}` returns: {wrong[0]}", entry.where, hint=wrong[1])
    counts = takes(declared.folder, entry.target)
    if counts is not None and counts[1] == 0:
        hint = "a function of expressions is given columns; a constant needs none"
        yield Finding(ERROR, "TypeFault", f"function `{entry.name}` takes no argument", entry.where, hint=hint)


def operator_findings(view: View, declared: Declared) -> Iterator[Finding]:
    """Operators of a view whose function is not there."""
    for node in walk(view.query):
        if isinstance(node, Operate) and node.pattern is None:
            where, excerpt = placed(view, Spot(node.where, node.function, 0, len(node.function)))
            for found in _missing(f"view `{view.name}`", node.function, declared, where, "row, state" if node.keys else "batch"):
                yield Finding(found.severity, found.code, found.message, found.where, excerpt, found.hint)


def _missing(what: str, target: str, declared: Declared, where: Where | None, argument: str) -> Iterator[Finding]:
    module, _, name = target.partition(":")
    if module != MAIN:
        yield from missing_function(what, declared.folder, target, where, f"def {name}({argument}): ...")
    elif not hasattr(sys.modules.get(MAIN), name):
        yield Finding(ERROR, "AppFault", f"{what}: the script has no function `{name}`", where, hint=f"def {name}({argument}): ...")


def miscalled(view: View, expression: Placed, declared: Declared) -> Iterator[Finding]:
    """Calls of the app's own functions with more or fewer arguments than they take."""
    own = {name.lower(): entry for name, entry in declared.functions.items()}
    for call in parsed(expression.text).calls:
        entry = own.get(call.name.lower())
        counts = None if entry is None else takes(declared.folder, entry.target)
        if entry is None or counts is None or any(arg.endswith("*") or "=>" in arg for arg in call.args):
            continue
        low, high = counts
        if len(call.args) < low or (high is not None and len(call.args) > high):
            wanted = str(low) if low == high else f"at least {low}" if high is None else f"{low} to {high}"
            where, excerpt = placed(view, expression.spot.part(call.start, call.end))
            message = f"`{call.name}` takes {wanted} argument{'s' if wanted != '1' else ''}, not {len(call.args)}"
            yield Finding(ERROR, "TypeFault", message, where, excerpt, f"it is {entry.target}, at {entry.where}")

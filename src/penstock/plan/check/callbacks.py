"""Python functions of the app that are not there: found by reading their file, which is not run for this."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import Where
from penstock.plan.model.declare import Declared
from penstock.plan.model.findings import ERROR, Finding
from penstock.plan.model.resolve import closest
from penstock.plan.model.user_code import file_of, is_target


def callback_findings(declared: Declared) -> Iterator[Finding]:
    """An error for each callback whose file or function does not exist."""
    for sink in declared.sinks.values():
        given = sink.options.get("callback")
        if sink.options.get("connector") == "callback" and isinstance(given, str) and given.count(":") == 1:
            yield from missing_function(
                f"sink `{sink.name}`", declared.folder, given, sink.where, "def {}(changes, epoch): ...".format(given.split(":")[1])
            )


def missing_function(what: str, folder: Path, target: str, where: Where | None, example: str) -> Iterator[Finding]:
    """An error where `target`, `module:function`, is not in the app's files; `what` needs it, and `example` shows how it is written."""
    function = target.partition(":")[2]
    path = file_of(folder, target) if is_target(target) else None
    if path is None:
        yield Finding(ERROR, "AppFault", f"{what}: `{target}` is not the name of a function", where, hint="write 'module:function'")
        return
    try:
        names = _names(ast.parse(path.read_text(encoding="utf-8-sig")).body)
    except SyntaxError as error:
        message = f"{what}: {path.name} is not Python: {error.msg}"
        yield Finding(ERROR, "AppFault", message, Where(str(path), error.lineno or 1, error.offset or 1))
    except (OSError, ValueError):
        yield Finding(ERROR, "AppFault", f"{what}: there is no file {path.name} for the function `{target}`", where, hint=f"write {path}")
    else:
        if function not in names and not names & {"*", "__getattr__"}:  # else it may come from anywhere
            near = closest(function, names)
            hint = f"did you mean `{near}`?" if near else example
            yield Finding(ERROR, "AppFault", f"{what}: {path.name} has no function `{function}`", where, hint=hint)


def _names(body: list[ast.stmt]) -> set[str]:
    """What the statements of a module bind, also those under `if`, `try` and `with`; `*` where another module says what."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).split(".")[0] for alias in statement.names)
        else:
            found.update(node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            if any(isinstance(node, ast.Name) and node.id in ("globals", "setattr", "exec") for node in ast.walk(statement)):
                found.add("*")
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, []) if not hasattr(statement, "name") else []
            found |= _names([entry for entry in inner if isinstance(entry, ast.stmt)])
        for handler in getattr(statement, "handlers", []):
            found |= _names(handler.body)
    return found

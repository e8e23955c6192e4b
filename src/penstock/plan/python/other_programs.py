"""Python files that are programs of another kind: recognised by their text, before a line of them runs.

A pasted PySpark program would start a JVM and wait for its stream; so a file is looked at first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import AppFault, Where, underline

_SESSIONS = frozenset(("SparkSession", "SparkContext", "SQLContext", "HiveContext", "StreamingContext", "DatabricksSession"))
_MAKERS = frozenset(("builder", "getOrCreate", "active", "getActiveSession"))
_INSTEAD = "declare what it reads with app.stream(...) and what it computes with app.view(...), or in SQL: CREATE STREAM, CREATE MATERIALIZED VIEW"


def refuse_other_programs(file: Path, text: str, folder: Path, alone: bool) -> None:
    """AppFault for a file that would start Spark itself, and for one that is the whole app and does not use Penstock."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return  # running it says where
    imported = set(_imports(tree))
    uses_penstock = "penstock" in imported or "penstock" in text or any(_is_local(name, folder) for name in imported)
    session = _session(tree)
    if alone and not uses_penstock and session is None:  # a program that starts Spark under `if __name__ == "__main__"` is one too
        session = next((node for node in ast.walk(tree) if isinstance(node, ast.expr) and _makes_session(node)), None)
    if session is not None and not uses_penstock:
        hint = f"nothing of it was run; {_INSTEAD}. As it is, it runs with spark-submit"
        raise AppFault(f"{file.name} is a PySpark program, not a Penstock app", where=_place(file, session), excerpt=_shown(text, session), hint=hint)
    if session is not None:
        hint = f"Penstock starts Spark when a verb needs it, so leave the session out; {_INSTEAD}"
        raise AppFault(f"{file.name} starts a Spark session of its own", where=_place(file, session), excerpt=_shown(text, session), hint=hint)
    if alone and not uses_penstock:
        message = f"{file.name} uses PySpark and holds no Penstock app" if "pyspark" in imported else f"{file.name} holds no app"
        hint = _INSTEAD if "pyspark" in imported else 'make an app: app = penstock.App("name")'
        raise AppFault(message, where=Where(str(file), 1), hint=f"it does not import penstock, so nothing of it was run; {hint}")


def _place(file: Path, node: ast.expr) -> Where:
    return Where(str(file), node.lineno, node.col_offset + 1)


def _shown(text: str, node: ast.expr) -> str:
    segment = ast.get_source_segment(text, node) or ""
    start = sum(len(line) for line in text.splitlines(keepends=True)[: node.lineno - 1]) + node.col_offset
    return underline(text, start, start + max(1, len(segment)))


def _imports(tree: ast.AST) -> Iterator[str]:
    """The first names of the modules that a file imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def _is_local(name: str, folder: Path) -> bool:
    """Whether a module is one of the app's own, which may hold the App."""
    return bool(name) and ((folder / f"{name}.py").exists() or (folder / name).is_dir())


def _session(tree: ast.Module) -> ast.expr | None:
    """Where the file would ask for a Spark session as it is run: outside functions, or in one that is called there."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    waiting: list[ast.stmt] = [node for node in tree.body if not _is_main_guard(node)]
    called: set[str] = set()
    for statement in waiting:  # grows by the bodies of functions that are called
        for node in _executed(statement):
            if isinstance(node, ast.expr) and _makes_session(node):
                return node
            name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if name in functions and name not in called:
                called.add(name)
                waiting.extend(functions[name].body)
    return None


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what runs with it: not the bodies of functions."""
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _executed(child)


def _makes_session(node: ast.expr) -> bool:
    """`SparkSession.builder`, `SparkContext(...)`, `sql.SparkSession.builder`."""
    if isinstance(node, ast.Attribute):
        return node.attr in _MAKERS and _last_name(node.value) in _SESSIONS
    return isinstance(node, ast.Call) and _last_name(node.func) in _SESSIONS - {"SparkSession", "DatabricksSession"}


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_main_guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which does not hold for an app."""
    return isinstance(node, ast.If) and any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))

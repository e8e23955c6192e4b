"""Functions of the app's own Python files, known by `module:name`: where they stand, what they take, whether they changed.

Their files are read here, never run. `__main__` is the script or notebook that declares the app.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import PlanFault, Where

MAIN = "__main__"
OWN_NAME = "__penstock_module__"  # in the names of an app's file that Penstock runs: how its neighbours would import it


def is_target(text: str) -> bool:
    """Whether a text has the form `module:name`."""
    module, colon, name = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), name))


def target_of(function: Callable[..., object], place: Where, *, classes: bool = False) -> str:
    """The `module:name` of a function object (or class); PlanFault for one that another process could not find by name."""
    name = getattr(function, "__name__", "")
    is_class = classes and inspect.isclass(function)
    if not (inspect.isfunction(function) or is_class) or name == "<lambda>" or function.__qualname__ != name:
        hint = "define it with def at the top level of its file" + (", or give a class" if classes else "")
        raise PlanFault(f"`{name or function!r}` is not a function with a name of its own", where=place, hint=hint)
    known = vars(sys.modules.get(function.__module__, sys)) if is_class else function.__globals__
    return f"{_own_name(function, known)}:{name}"


def _own_name(function: Callable[..., object], names: Mapping[str, object]) -> object:
    """How neighbours of the file would import it; a class knows its file by its methods alone."""
    methods = [value for value in vars(function).values() if inspect.isfunction(value)] if inspect.isclass(function) else []
    found = next((method.__globals__[OWN_NAME] for method in methods if OWN_NAME in method.__globals__), None)
    return found or names.get(OWN_NAME, function.__module__)


def file_of(folder: Path, target: str) -> Path | None:
    """The file that holds the function; None in a notebook, which has none."""
    module = target.partition(":")[0]
    if module == MAIN:
        file = getattr(sys.modules.get(MAIN), "__file__", None)
        return Path(file) if file else None
    parts = module.split(".")
    package = folder.joinpath(*parts, "__init__.py")
    return package if package.is_file() else folder.joinpath(*parts).with_suffix(".py")


def takes(folder: Path, target: str) -> tuple[int, int | None] | None:
    """How many arguments the function takes at least and at most (None: any number); None where its file does not show it."""
    found = _definitions(folder, target).get(target.partition(":")[2])
    if not isinstance(found, ast.FunctionDef):
        return None
    given = [*found.args.posonlyargs, *found.args.args]
    return len(given) - len(found.args.defaults), None if found.args.vararg else len(given)


def digest(folder: Path, target: str) -> str:
    """Changes with the function and with what it uses of its own file; comments, layout and other functions do not count."""
    definitions = _definitions(folder, target)
    wanted, seen = [target.partition(":")[2]], set[str]()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in definitions:
            continue
        seen.add(name)
        wanted += [node.id for node in ast.walk(definitions[name]) if isinstance(node, ast.Name)]
    texts = [ast.dump(definitions[name]) for name in sorted(seen)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _definitions(folder: Path, target: str) -> dict[str, ast.stmt]:
    """What the file binds at its top level, by name; empty where it cannot be read."""
    file = file_of(folder, target)
    try:
        body = ast.parse(file.read_text(encoding="utf-8-sig")).body if file is not None else []
    except (OSError, ValueError, SyntaxError):
        return {}
    found: dict[str, ast.stmt] = {}
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            found |= {node.id: statement for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found

"""The app's Python functions, loaded by `module:name` in the driver, whole with their files for the executors."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import cloudpickle

from penstock.errors import AppFault, Where
from penstock.plan.model.user_code import MAIN, OWN_NAME, file_of
from penstock.plan.python.file import run_file


class Registered:
    """Which functions each session knows already."""

    def __init__(self) -> None:
        self._names: WeakKeyDictionary[object, set[str]] = WeakKeyDictionary()

    def add(self, session: object, name: str) -> bool:
        """Whether the name is new to the session."""
        known = self._names.setdefault(session, set())
        new = name not in known
        known.add(name)
        return new


def load_function(folder: Path, target: str) -> Callable[..., Any]:
    """The function itself; AppFault where its file has none. The app's own modules travel to executors by their contents."""
    module_name, _, name = target.partition(":")
    path = file_of(folder, target)
    if module_name == MAIN:
        found = getattr(sys.modules.get(MAIN), name, None)
    elif path is None or not path.is_file():
        raise AppFault(f"there is no file for the function `{target}`", hint=f"write {path}")
    else:
        found = getattr(_module(folder, path), name, None)
    if not callable(found):
        raise AppFault(f"there is no function `{target}`", where=None if path is None else Where(str(path), 1), hint=f"def {name}(...): ...")
    _travel_by_value(folder)
    return found  # type: ignore[no-any-return]


def _module(folder: Path, path: Path) -> Any:
    """The file as the app ran it; else it is run now."""
    own = (module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == str(path) and OWN_NAME in vars(module))
    found = next(own, None)
    return found if found is not None else run_file(path, path.read_text(encoding="utf-8-sig"), folder)


def _travel_by_value(folder: Path) -> None:
    """Executors cannot import the app's files: what a function uses of them goes with it."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and module.__name__ != MAIN and Path(file).is_relative_to(folder) and "site-packages" not in file:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def style_of(function: Callable[..., Any]) -> str:
    """`pandas` for a function of columns whose arguments are annotated as pandas.Series, else `arrow`."""
    kinds = [str(parameter.annotation) for parameter in inspect.signature(function).parameters.values()]
    return "pandas" if any("Series" in kind for kind in kinds) else "arrow"

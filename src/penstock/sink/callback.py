"""Calls a function of the app: `function(changes, epoch)` with one dict per change (`op`, `key`, `row`).

The function runs in the driver, one call per epoch that has changes, in order. At-least-once: when it
raises, the epoch comes again. At-most-once: it does not.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.change import Change, Epoch
from penstock.errors import AppFault, SinkError, Where
from penstock.sink.options import AT_MOST_ONCE, delivery_of
from penstock.sink.spec import SinkSpec

Callback = Callable[[list[dict[str, Any]], int], object]


class CallbackSink:
    """A Python function as a sink."""

    ledger = ""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._call = _load(spec)

    def position(self, generation: str) -> int | None:
        return None

    def deliver(self, epoch: Epoch) -> None:
        if epoch.changes:
            self._give(epoch.changes, epoch.epoch)

    def deliver_complete(self, epoch: Epoch, rows: Sequence[str]) -> None:
        self._give([Change("+", None, row) for row in rows], epoch.epoch)

    def close(self) -> None:
        pass

    def _give(self, changes: Sequence[Change], epoch: int) -> None:
        decoded = [
            {"op": change.op, "key": None if change.key is None else json.loads(change.key), "row": json.loads(change.row)} for change in changes
        ]
        try:
            self._call(decoded, epoch)
        except Exception as error:
            raise SinkError(
                f"sink `{self._spec.name}`: {self._spec.options['callback']} raised {type(error).__name__}: {error}",
                where=_place(error, self._spec.folder),
                hint=f"the changes of epoch {epoch} will be given to it again" if delivery_of(self._spec.options) != AT_MOST_ONCE else None,
            ) from error


def _load(spec: SinkSpec) -> Callback:
    module_name, function_name = spec.options["callback"].split(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), function_name)):
        raise AppFault(
            f"sink `{spec.name}`: `{module_name}:{function_name}` is not the name of a function", hint="write callback = 'module:function'"
        )
    path = spec.folder.joinpath(*module_name.split(".")).with_suffix(".py")
    if not path.is_file():
        raise AppFault(f"sink `{spec.name}`: there is no file {path.name} for the callback `{module_name}:{function_name}`", hint=f"write {path}")
    function = getattr(_module(spec, path), function_name, None)
    if not callable(function):
        raise AppFault(
            f"sink `{spec.name}`: {path.name} has no function `{function_name}`",
            where=Where(str(path), 1),
            hint=f"def {function_name}(changes, epoch): ...",
        )
    return function  # type: ignore[no-any-return]


def _module(spec: SinkSpec, path: Path) -> ModuleType:
    """The app's file as a module of its own; it may import its neighbours."""
    found = importlib.util.spec_from_file_location(f"penstock_callback_{spec.name}", path)
    if found is None or found.loader is None:
        raise AppFault(f"sink `{spec.name}`: {path} cannot be imported")
    module = importlib.util.module_from_spec(found)
    folder = str(spec.folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise AppFault(
            f"sink `{spec.name}`: {path.name} cannot be imported: {type(error).__name__}: {error}", where=_place(error, spec.folder)
        ) from error
    return module


def _place(error: BaseException, folder: Path) -> Where | None:
    """The innermost line of the user's own code that was on the way."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(folder)]
    return Where(own[-1].filename, own[-1].lineno or 1) if own else None

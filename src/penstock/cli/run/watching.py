"""`--watch`: the app's files are looked at while it runs; what is edited takes effect, or its error is shown and the app goes on as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli import trouble
from penstock.errors import PenstockError
from penstock.plan.load import files_of

if TYPE_CHECKING:
    from penstock.engine import Engine

_LOOK_EVERY_S = 0.5
_Signature = dict[Path, tuple[int, int]]


@contextmanager
def watching(engine: Engine, app: Path, say: Callable[[str], None], reload: Callable[[], int] | None = None) -> Iterator[None]:
    """Look at the files of `app` inside. `say` gets what was applied; errors go to stderr with file, line and excerpt."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(app, say, reload or engine.reload, over), name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_LOOK_EVERY_S)


def _watch(app: Path, say: Callable[[str], None], reload: Callable[[], int], over: threading.Event) -> None:
    applied = before = _signature(app)
    while not over.wait(_LOOK_EVERY_S):
        now = _signature(app)
        if now == before != applied:  # and not while it is still being written
            applied = now
            _apply(say, reload)
        before = now


def _apply(say: Callable[[str], None], reload: Callable[[], int]) -> None:
    try:
        epoch = reload()
        say(f"the app's files have changed and are applied{f' as of epoch {epoch}' if epoch >= 0 else ''}")
    except PenstockError as error:
        trouble.show(error)
        say("the app's files have an error; everything goes on as before")


def _signature(app: Path) -> _Signature:
    """When the app's files were changed last, and how long they are; a file that just goes away counts as gone."""
    found: _Signature = {}
    try:
        for file in files_of(app):
            about = file.stat()
            found[file] = (about.st_mtime_ns, about.st_size)
    except OSError:
        pass
    return found

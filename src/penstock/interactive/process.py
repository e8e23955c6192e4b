"""What a process holds for its apps, and how it ends: runs stop, stores close, Spark and its JVM go, temporary folders are removed."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from weakref import WeakSet


class Closes(Protocol):
    """An app that was used here."""

    @property
    def running(self) -> bool: ...

    def close(self) -> None: ...


_apps: WeakSet[Closes] = WeakSet()
_folder: Path | None = None


def to_be_closed(app: Closes) -> None:
    """Close the app when the process ends, if nobody did before."""
    _apps.add(app)


def is_running() -> bool:
    """Whether an app runs in the background of this process."""
    return any(app.running for app in list(_apps))


def temporary_folder(name: str) -> Path:
    """A new folder that is gone when the process ends."""
    global _folder
    if _folder is None:
        _folder = Path(tempfile.mkdtemp(prefix="penstock-"))
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_folder))


@atexit.register
def end() -> None:
    """Leave nothing behind: in this order, for each needs the next."""
    global _folder
    for app in list(_apps):
        with suppress(Exception):  # the others are closed all the same, and nobody is left to report it to
            app.close()
    warm = sys.modules.get("penstock.spark.session.warm")
    if warm is not None:
        with suppress(Exception):
            warm.end_warm_session()
    if _folder is not None:
        shutil.rmtree(_folder, ignore_errors=True)
        _folder = None

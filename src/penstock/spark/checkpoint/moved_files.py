"""Files that stand elsewhere than they were read: Spark knows a file by its whole path, and would read all of them once more."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from penstock.errors import StateError
from penstock.plan.model.declare import Stream
from penstock.source.files.log import entry_of, files_between
from penstock.source.files.source import is_local, located, urlparse_path
from penstock.spark.checkpoint.offset_log import last_epoch, log_of, read_epoch, source_order
from penstock.spark.compile.frames import AppContext

_GLOB = re.compile(r"[*?{\[]")


def check_not_moved(app: AppContext, occurrences: Sequence[str], checkpoint: Path) -> None:
    """StateError where the newest files that a stream has read are not below the path that it has now."""
    planned = last_epoch(checkpoint / "offsets")
    ends = read_epoch(checkpoint, planned).ends if planned >= 0 else ()
    names = source_order(list(occurrences), len(ends)) if ends else []
    for place, (name, end) in enumerate(zip(names, ends, strict=False)):
        root = _root(app.declared.streams[name], app.declared.folder)
        entry = entry_of(end) if root is not None and end is not None and "logOffset" in end else None
        taken = [] if entry is None else files_between(log_of(checkpoint, names, place), entry - 1, entry)
        elsewhere = next((file for file in map(urlparse_path, filter(is_local, taken)) if root is not None and not file.startswith(root)), None)
        if elsewhere is not None:
            raise StateError(
                f"stream `{name}`: its files were read from {Path(elsewhere).parent}, and are now looked for at {root}",
                hint="Spark knows a file by its whole path and would read all of them once more: put the folder back where it was, or remove"
                f" {checkpoint} to rebuild the view from the files at their new place",
            )


def _root(stream: Stream, folder: Path) -> str | None:
    """What the paths of a stream's files begin with; None where files are not what it reads as a whole."""
    if stream.options.get("connector") != "files" or stream.options.get("tail") == "true":
        return None
    path = located(folder, str(stream.options["path"]))
    return os.path.normpath(_GLOB.split(urlparse_path(path))[0]) if is_local(path) else None

"""A file that appears as a whole, and never in place of another.

A driver that was frozen may wake up after a second one has taken over its streams: what that one landed must stay as it is.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def land(file: Path, content: bytes, *, synced: bool = False) -> bool:
    """Make `file` with this content; False where there is one already. `synced`: it is on the disk then, even if the power fails."""
    fresh = file.with_name(f".{uuid.uuid4().hex}.tmp")  # hidden from readers, and shared with no other driver
    try:
        with fresh.open("wb") as written:
            written.write(content)
            if synced:
                written.flush()
                os.fsync(written.fileno())
        os.link(fresh, file)  # unlike a rename it does not replace what another driver has landed meanwhile
        if synced:
            _sync_folder(file.parent)
    except FileExistsError:
        return False
    finally:
        fresh.unlink(missing_ok=True)
    return True


def _sync_folder(folder: Path) -> None:
    """So that the name of a new file is on the disk too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

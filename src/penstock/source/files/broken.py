"""Files that cannot be read to their end: which are known, and how they differ from files that only cannot be had just now.

Spark reads on silently past a file that fails, or not at all. So nothing is read that way unless its files were read once more by themselves
and those that fail are known: they alone may lose rows, and each is named.
"""

from __future__ import annotations

import os
import re

SKIPPING = "spark.sql.files.ignoreCorruptFiles"
"""The setting of a session by which its streaming queries read on past files that fail."""
_FAILED = "FAILED_READ_FILE"
# In the lines of a Java trace that name a cause.
_ELSEWHERE = re.compile(
    r"^(?::|Caused by:).*(?:java\.net\.|FileNotFound|Timeout|Connect|Access(?:Control|Denied)|BlockMissing|SdkClient|RemoteException|Too many open)",
    re.MULTILINE,
)


def failed_to_read(error: BaseException) -> bool:
    """Whether Spark failed for a file that it could not read."""
    return _FAILED in str(error)


def is_out_of_reach(error: BaseException) -> bool:
    """Whether the trouble is on the way to a file, and not in what it holds: it may be sound when it is asked for again."""
    return _ELSEWHERE.search(str(error)) is not None


class BrokenFiles:
    """The files known to be broken, each with the reason; one that was rewritten since is not known any more."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, str]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def names(self) -> set[str]:
        return set(self._found)

    def add(self, name: str, reason: str) -> None:
        self._found[name] = _written_ns(name), reason

    def reason(self, name: str) -> str | None:
        written, reason = self._found.get(name, (None, None))
        return reason if written is not None and written == _written_ns(name) else None


def _written_ns(name: str) -> int:
    """When a local file was written last; 0 for one that is elsewhere."""
    try:
        return os.stat(name).st_mtime_ns
    except OSError:
        return 0

"""How a job can end, decided in one place by a table of causes: done, a mistake of the user's, an outage, or a bug.

An **outage** is an outside system that is unavailable, or a disk that is full: nothing is wrong with the app, so a live run waits and tries again. A
**mistake** would be found again by every restart: the job stops, with the message. What is in no table is a **bug**, of Penstock, of Spark or
of a user's callback: it is tried again a few times. Errors that parts of Penstock raise say by their class what they are; here is also what
the system, SQLite and Java say, in the words of people.
"""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Mapping
from enum import Enum

from penstock.errors import FencedError, GapError, LoginError, OutageError, PenstockError, RefusalError, SourceError, StateError, UserError
from penstock.plan.model.declare import View
from penstock.source.files.broken import failed_to_read, is_out_of_reach
from penstock.spark.run.faults.spark_errors import in_users_words


class End(Enum):
    """Why a job ended before it was done."""

    OUTAGE = "outage"
    MISTAKE = "mistake"
    BUG = "bug"


_BY_CLASS: tuple[tuple[type[PenstockError], End], ...] = (
    (OutageError, End.OUTAGE),
    (LoginError, End.MISTAKE),
    (UserError, End.MISTAKE),
    (FencedError, End.MISTAKE),
    (RefusalError, End.MISTAKE),
    (GapError, End.MISTAKE),
    (StateError, End.MISTAKE),
    (PenstockError, End.BUG),
)
_ROOM = "make room on the disk; the job then goes on by itself"
_RIGHTS = "give the user that runs Penstock the rights to it; the job then goes on by itself"
_BACK = "when it is back, the job goes on by itself"
_SYSTEM: Mapping[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("the disk quota is used up", _ROOM),
    errno.EROFS: ("the disk can only be read", _BACK),
    errno.EACCES: ("the rights are missing", _RIGHTS),
    errno.EPERM: ("the rights are missing", _RIGHTS),
    errno.ENOENT: ("it is not there", _BACK),
    errno.ENOTDIR: ("it is not there", _BACK),
    errno.EIO: ("the disk cannot be read or written", _BACK),
    errno.ESTALE: ("the network drive is away", _BACK),
    errno.ENODEV: ("the drive is away", _BACK),
    errno.ENOTCONN: ("the network drive is away", _BACK),
    errno.EHOSTDOWN: ("the other machine is away", _BACK),
    errno.EHOSTUNREACH: ("the other machine cannot be reached", _BACK),
    errno.ENETUNREACH: ("the network cannot be reached", _BACK),
    errno.ECONNREFUSED: ("nobody answers there", _BACK),
    errno.ECONNRESET: ("the connection broke", _BACK),
    errno.ECONNABORTED: ("the connection broke", _BACK),
    errno.EPIPE: ("the connection broke", _BACK),
    errno.ETIMEDOUT: ("it does not answer in time", _BACK),
    errno.EMFILE: ("too many files are open", _BACK),
    errno.ENFILE: ("too many files are open", _BACK),
}
_SQLITE: Mapping[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: ("the disk is full", _ROOM),
    sqlite3.SQLITE_IOERR: ("the disk cannot be read or written", _BACK),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", _BACK),
    sqlite3.SQLITE_READONLY: ("it can only be read", _BACK),
    sqlite3.SQLITE_BUSY: ("another process writes to it", _BACK),
    sqlite3.SQLITE_LOCKED: ("another process writes to it", _BACK),
}
_BROKER = "is the broker running, and does the topic exist? `penstock broker status`"
# In what Java says of a cause; the first that fits.
_JAVA: tuple[tuple[str, str, str], ...] = (
    (r"No space left on device|not enough space on the disk", "the disk is full", _ROOM),
    (r"[Dd]isk quota exceeded", "the disk quota is used up", _ROOM),
    (r"Read-only file system", "the disk can only be read", _BACK),
    (r"Permission denied|AccessControlException|AccessDeniedException", "the rights to a file or folder are missing", _RIGHTS),
    (r"Stale file handle|Transport endpoint is not connected|Host is down", "a network drive is away", _BACK),
    (r"Input/output error", "a disk cannot be read or written", _BACK),
    (r"kafka[\w.$]*\.(?:\w*Timeout|Disconnect|Network|BrokerNotAvailable|LeaderNotAvailable)Exception", "Kafka does not answer", _BROKER),
    (r"kafka[\w.$]*\.(?:Coordinator\w*|NotLeaderOrFollower)Exception|No resolvable bootstrap urls", "Kafka does not answer", _BROKER),
    (r"Cannot fetch record for offset .* in \d+ milliseconds|Timeout of \d+ms expired", "Kafka does not answer", _BROKER),
    (r"java\.net\.(?:Connect|NoRouteToHost|UnknownHost|SocketTimeout|Socket)Exception", "a server does not answer", _BACK),
)
_FILE = re.compile(r"(?:file:)?(/[^\s:'\"()]+)")


def end_of(error: PenstockError) -> End:
    """What kind of end an error makes of a job."""
    return next(end for kind, end in _BY_CLASS if isinstance(error, kind))


def explained(error: Exception, view: View | None) -> PenstockError:
    """`error` as one of ours, by the tables above; what is in none of them in Spark's or the user's own words."""
    if isinstance(error, PenstockError):
        return error
    if isinstance(error, OSError) and (known := _SYSTEM.get(error.errno or 0)) is not None:
        return _outage(str(error.filename or ""), *known)
    if isinstance(error, sqlite3.Error):
        known = _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if known is not None:
            return _outage("the state folder's catalogue", *known)
    found = in_users_words(error, view)
    if isinstance(found, UserError):
        return found
    text = str(error)[:40_000]
    for pattern, words, hint in _JAVA:
        place = re.search(pattern, text)
        if place is not None:
            return _outage(_file_near(text, place.start()), words, hint)
    if isinstance(found, SourceError) and failed_to_read(error) and is_out_of_reach(error):
        return OutageError(found.message, hint=found.hint)
    return found


def _outage(what: str, words: str, hint: str) -> OutageError:
    return OutageError(f"{what}: {words}" if what else words, hint=hint)


def _file_near(text: str, at: int) -> str:
    """The file that the same line names, if any."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    named = _FILE.findall(line)
    return named[-1] if named else ""

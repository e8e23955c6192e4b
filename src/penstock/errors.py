"""Every error that Penstock raises on purpose.

    PenstockError                 anything below; `except PenstockError` catches them all
    |-- UserError                 the app, the data or the command line is wrong: exit code 2
    |   |-- SyntaxFault           a statement does not parse
    |   |-- NameFault             a stream, table, view, column, function or option does not exist
    |   |-- InUseFault            what is to be dropped is read by others
    |   |-- TypeFault             types that cannot match
    |   |-- PlanFault             a query that cannot be a view, e.g. one without event time
    |   |-- ForbiddenFault        SQL that reaches outside the app
    |   |-- OptionFault           a connector option or a setting is missing, unknown or malformed
    |   |-- PromiseFault          a sink is asked for more than it can promise
    |   |-- DataFault             not one record of a stream or table fits its declaration
    |   `-- AppFault              the app's folder, files or Python code cannot be loaded
    |-- SourceError               a source cannot be reached or read: exit code 3
    |   `-- GapError              records are gone that a view has not read; going on needs the user's word
    |-- SinkError                 a sink cannot be reached or written: exit code 3
    |   |-- RefusalError          what a sink holds does not fit the view; a restart would find the same
    |   `-- FencedError           another driver has taken over this view: exit code 4
    |-- OutageError               an outside system is unavailable: source, table, store or sink; a live run waits for it; exit code 3
    |-- LoginError                a server refuses the login, as a source, table, store or sink: exit code 3
    |-- StateError                the state folder disagrees with itself or is in use: exit code 4
    |-- EngineError               Spark failed for a reason that is not the user's: exit code 5
    `-- ToolError                 Java, Maven, a jar or another program is missing: exit code 6

An error says what is wrong, where (file, line, the SQL underlined) and what to do next.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent)

# A password that is written where secret('name') should stand: in an option, also as Python writes it, or in an address.
_WRITTEN = re.compile(
    r"""(?i)(?P<head>\b\w*(?:password|passwd|passwrd|secret|token)\w*['"]?\s*[=:]\s*[a-z]{0,2}(?P<mark>['"]))(?P<value>.*?)(?P<tail>(?P=mark)|$)"""
)
_IN_ADDRESS = re.compile(r"(?P<head>://[^\s:/@'\"]*:)(?P<value>\S*)(?P<tail>@)")
_IN_QUERY = re.compile(r"(?i)(?P<head>[?&]\w*(?:password|passwd|token)\w*=)(?P<value>[^\s&]*)(?P<tail>)")


@dataclass(frozen=True)
class Where:
    """A place in a user's file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class PenstockError(Exception):
    """An error with a place, an optional excerpt of the user's own text, and a hint; `others` were found with it, in the same statement."""

    exit_code = 5
    others: tuple[PenstockError, ...] = ()

    def __init__(self, message: str, *, where: Where | None = None, excerpt: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.excerpt = excerpt
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.message}" if self.where else self.message]
        if self.excerpt:
            lines.append(self.excerpt)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of the way through Penstock: the user's own line that went into it, and the text."""
        frames = list(takewhile(lambda frame: not frame.filename.startswith(_PACKAGE), traceback.extract_tb(self.__traceback__)))
        own = [f"line {frames[-1].lineno}: {frames[-1].line}"] if frames and frames[-1].line else []
        return [*own, *(f"{type(one).__name__}: {one}" for one in (self, *self.others))]


class UserError(PenstockError):
    """The user can fix it; never shown with a stack trace."""

    exit_code = 2


class SyntaxFault(UserError):
    """A statement does not parse."""


class NameFault(UserError):
    """A name does not exist; the hint suggests near ones."""


class InUseFault(UserError):
    """What is to be dropped is read by others, which are named."""


class TypeFault(UserError):
    """Types that cannot match."""


class PlanFault(UserError):
    """The query parses, but cannot be kept as a view."""


class ForbiddenFault(UserError):
    """The SQL would reach outside the app: files, classes, commands, settings."""


class OptionFault(UserError):
    """An option or setting is missing, unknown or malformed."""


class PromiseFault(UserError):
    """A sink cannot promise the delivery that is asked of it."""


class DataFault(UserError):
    """Not one record of a stream or table can be read as it is declared."""


class AppFault(UserError):
    """The app's folder, files or Python code cannot be loaded."""


class SourceError(PenstockError):
    """A source cannot be reached or read."""

    exit_code = 3


class GapError(SourceError):
    """Records were deleted before a view read them; going on without them needs the user's word."""


class SinkError(PenstockError):
    """A sink cannot be reached or written."""

    exit_code = 3


class RefusalError(SinkError):
    """What the sink holds does not fit the view; nothing changes until the user does something."""


class FencedError(SinkError):
    """Another driver has taken over this view; this one must stop."""

    exit_code = 4


class OutageError(SourceError, SinkError):
    """An outside system is unavailable, or a disk is full: nothing is wrong with the app, and a live run waits until it is back."""


class LoginError(SourceError, SinkError):
    """A server answers and refuses the login; a restart would find the same."""


class StateError(PenstockError):
    """The state folder disagrees with itself, or another process uses it."""

    exit_code = 4


class EngineError(PenstockError):
    """Spark failed for a reason that is not the user's."""

    exit_code = 5


class ToolError(PenstockError):
    """A program or jar that Penstock needs is missing."""

    exit_code = 6


_NO = "the answer is no: `verify` found a difference or nothing to compare, `chaos` a fault, `status` a failed view, `check --strict` a warning"
EXIT_CODES: tuple[tuple[int, str], ...] = (
    (0, "done"),
    (1, f"{_NO}, `doctor` something missing"),
    (2, "the app, the data or the command line is wrong"),
    (3, "a source or a sink cannot be reached"),
    (4, "the state folder is in use, or disagrees with itself"),
    (5, "Spark failed for a reason that is not yours"),
    (6, "Java, Maven, a jar or another program is missing"),
    (7, "`status`: a run was killed, and none has gone on since"),
    (130, "stopped at once by a second Ctrl-C"),
)


def masked(text: str) -> str:
    """`text` with every password in it as stars, as many as it has letters."""
    for pattern in (_WRITTEN, _IN_ADDRESS, _IN_QUERY):
        text = pattern.sub(lambda found: found["head"] + "*" * len(found["value"]) + found["tail"], text)
    return text


def underline(text: str, start: int, end: int, first_line: int = 1) -> str:
    """The line of `text` that holds `start`, with its number, and carets under start..end; passwords are masked."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    line = text[begin : stop if stop >= 0 else len(text)]
    number = first_line + text.count("\n", 0, start)
    prefix = f"{number:>5} | "
    width = max(1, min(end, begin + len(line)) - start)
    return f"{prefix}{masked(line)}\n{' ' * (len(prefix) + start - begin)}{'^' * width}"

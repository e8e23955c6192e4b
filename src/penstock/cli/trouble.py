"""What a person sees when something goes wrong: what, where, the excerpt underlined, a hint; never a stack trace."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from penstock.errors import PenstockError, Where

if TYPE_CHECKING:
    from rich.text import Text


def show(error: PenstockError) -> None:
    """Prints an error on stderr, coloured on a terminal."""
    show_finding("error", error.message, error.where, error.excerpt, error.hint)


def show_finding(severity: str, message: str, where: Where | None, excerpt: str | None, hint: str | None, to: TextIO | None = None) -> None:
    """One error or warning: its place and text, the user's own line with carets, and the hint. To stderr unless asked otherwise."""
    out = to or sys.stderr
    if not out.isatty():
        place = f"{where}: " if where else ""
        lines = [f"{severity}: {place}{message}", *([excerpt] if excerpt else []), *([f"hint: {hint}"] if hint else [])]
        out.write("\n".join(lines) + "\n")
        return
    from rich.console import Console

    Console(file=out, highlight=False, soft_wrap=True).print(_painted(severity, message, where, excerpt, hint))


def _painted(severity: str, message: str, where: Where | None, excerpt: str | None, hint: str | None) -> Text:
    from rich.text import Text

    colour = "red" if severity == "error" else "yellow"
    text = Text()
    text.append(f"{severity}: ", style=f"bold {colour}")
    if where:
        text.append(f"{where}: ", style="bold")
    text.append(message)
    for line in (excerpt or "").splitlines():
        text.append("\n" + line, style=colour if set(line.strip()) == {"^"} else "dim" if "|" not in line else "")
    if hint:
        text.append("\nhint: ", style="bold cyan")
        text.append(hint)
    return text


def show_internal(error: BaseException) -> None:
    """One line for an error that is Penstock's own; the trace is in a log, whose path is printed."""
    notes = getattr(error, "__notes__", None)
    place = notes[-1] if notes else f"the trace is in {_trace_file(error)}"
    first = (str(error).strip().splitlines() or [""])[0]
    sys.stderr.write(f"internal error: {type(error).__name__}: {first} ({place})\n")


def record(error: BaseException, log: Path) -> None:
    """Writes the trace to the app's log and notes in the error where it is."""
    logging.getLogger("penstock.cli").critical("internal error", exc_info=error)
    error.add_note(f"the trace is in {log}")


def _trace_file(error: BaseException) -> str:
    handle, name = tempfile.mkstemp(prefix="penstock-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("".join(traceback.format_exception(error)))
    return name

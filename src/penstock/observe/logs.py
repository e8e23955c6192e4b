"""Structured logs with the standard library: a person's lines or JSON on stderr, and always the full log as JSON lines in the state folder.

A record's stage is one of the eight words of an event's way. It is taken from `extra={"stage": ...}` or else from the logger's name
(`penstock.source.kafka.source` -> source); `extra={"job": ..., "view": ...}` say whose record it is.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from penstock.errors import StateError
from penstock.settings import make_state

STAGES = ("source", "decode", "eventtime", "plan", "share", "spark", "sink", "subscribe")
_NEAREST = {"settings": "plan", "schema": "plan", "catalog": "plan", "change": "sink"}
_FILE_BYTES_MAX = 10_000_000
_FILES_KEPT = 3


def to_stderr(as_json: bool, verbose: bool) -> None:
    """Sends Penstock's records to stderr: WARNING and above, with `verbose` INFO and above."""
    logging.raiseExceptions = False  # a log that cannot be written, say on a full disk, is no reason for traces on the terminal
    root = logging.getLogger("penstock")
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    root.propagate = False
    root.setLevel(logging.DEBUG)
    terminal = StderrHandler(logging.INFO if verbose else logging.WARNING)
    terminal.setFormatter(JsonLines() if as_json else HumanLines())
    root.addHandler(terminal)


def to_folder(state: Path, level: str) -> Path:
    """Keeps the log in the state folder too, bounded in size; gives the file's path."""
    path = state / "logs" / "penstock.log"
    make_state(state)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise StateError(f"cannot write to the state folder {state}: {error.strerror}", hint="choose another with --state DIR") from error
    file = RotatingFileHandler(path, maxBytes=_FILE_BYTES_MAX, backupCount=_FILES_KEPT, encoding="utf-8", delay=True)
    file.setLevel(level.upper())
    file.setFormatter(JsonLines())
    logging.getLogger("penstock").addHandler(file)
    return path


class StderrHandler(logging.Handler):
    """Writes to whatever stderr is now, so that a live display may put itself in between."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "penstock.cli" and record.exc_info:  # the command prints it in its own words
            return
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            self.handleError(record)


class JsonLines(logging.Formatter):
    """One JSON object per record: time (ISO 8601, UTC), level, stage, job and view where known, message, trace."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "stage": stage_of(record),
        }
        line |= {name: getattr(record, name) for name in ("job", "view") if hasattr(record, name)}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class HumanLines(logging.Formatter):
    """`12:00:01 warning spark orders: message`."""

    def format(self, record: logging.LogRecord) -> str:
        clock = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        whose = getattr(record, "view", None) or getattr(record, "job", None)
        place = f"{stage_of(record)} {whose}" if whose else stage_of(record)
        return f"{clock} {record.levelname.lower()} {place}: {record.getMessage()}"


def stage_of(record: logging.LogRecord) -> str:
    """The stage that a record belongs to; what belongs to none counts for the stage that runs the others."""
    given = getattr(record, "stage", None)
    if given in STAGES:
        return str(given)
    parts = record.name.split(".")
    word = parts[1] if len(parts) > 1 else ""
    return word if word in STAGES else _NEAREST.get(word, "spark")

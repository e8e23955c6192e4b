"""What is printed arrives, or a message and the exit code report that it does not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from penstock.cli import trouble
from penstock.errors import SinkError


@contextmanager
def checked() -> Iterator[None]:
    """Inside, stdout raises SinkError where it cannot be written, say on a full disk; what is left in its buffer is written at the end.

    A reader that closed its pipe has what it wanted: that is left to the verbs.
    """
    given = sys.stdout
    sys.stdout = cast(TextIO, _Checked(given))
    try:
        yield
    except SystemExit as end:
        raise SystemExit(_ended(given, end.code)) from None
    finally:
        sys.stdout = given


class _Checked:
    """A stream that reports in our words that it cannot be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _failures_reported():
            return self._stream.write(text)

    def flush(self) -> None:
        with _failures_reported():
            self._stream.flush()


@contextmanager
def _failures_reported() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SinkError(f"the output cannot be written: {error.strerror}") from error


def _ended(stream: TextIO, code: str | int | None) -> str | int | None:
    """The exit code, once the buffer is empty. Python would try the rest once more at its end, and fail in its own way."""
    try:
        with _failures_reported():
            stream.flush()
    except (SinkError, BrokenPipeError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, SinkError):
            trouble.show(error)
            return code or error.exit_code
    return code

"""Paths with marks in them, as Spark reads them: `*`, `?`, `[ab]`, and `{a,b}`, which Python's own glob does not know."""

from __future__ import annotations

import glob
from collections.abc import Iterator

MARKS = frozenset("*?[]{}\\")
"""What makes a pattern of a name, to Spark also where a file is called so."""


def matches(pattern: str) -> list[str]:
    """The local files and folders that a pattern means now, each once, sorted."""
    return sorted({name for plain in expanded(pattern) for name in glob.glob(plain)})


def expanded(pattern: str) -> Iterator[str]:
    """The pattern without braces: one for each choice that they leave. A brace that is never closed means itself."""
    opening = pattern.find("{")
    choices, end = _choices(pattern, opening)
    if not choices:
        yield pattern
        return
    for choice in choices:
        yield from expanded(pattern[:opening] + choice + pattern[end:])


def _choices(pattern: str, opening: int) -> tuple[list[str], int]:
    """What stands between the commas of the brace at `opening`, and the index after the brace; nothing where it is not closed."""
    depth, begin = 0, opening + 1
    found: list[str] = []
    for index in range(opening, len(pattern)) if opening >= 0 else ():
        mark = pattern[index]
        depth += (mark == "{") - (mark == "}")
        if depth == 0 or (depth == 1 and mark == ","):
            found.append(pattern[begin:index])
            begin = index + 1
        if depth == 0:
            return found, begin
    return [], len(pattern)

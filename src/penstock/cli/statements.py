"""Where a SQL statement ends: the semicolons that are not inside quotes or comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

# A quoted text ends at its quote; an escape or a doubled quote does not end it. What is never closed runs to the end.
_PIECES = re.compile(
    r"""--[^\n]*
      | /\*.*?(?:\*/|\Z)
      | '(?:[^'\\]|\\.|'')*(?:'|\Z)
      | "(?:[^"\\]|\\.|"")*(?:"|\Z)
      | `(?:[^`]|``)*(?:`|\Z)
      | ;
      | [^-/'"`;]+
      | .""",
    re.DOTALL | re.VERBOSE,
)


def split(text: str) -> Iterator[str]:
    """The statements of a script without their semicolons; empty ones and lone comments are left out."""
    parts: list[str] = []
    for piece in [*_PIECES.findall(text), ";"]:
        if piece != ";":
            parts.append(piece)
            continue
        if first_word("".join(parts)):
            yield "".join(parts).strip()
        parts = []


def complete(text: str) -> bool:
    """True when the text ends with a semicolon that ends a statement."""
    pieces = [piece for piece in _PIECES.findall(text) if piece.strip() and not piece.startswith(("--", "/*"))]
    return bool(pieces) and pieces[-1] == ";"


def first_word(text: str) -> str:
    """The first word in capitals, after comments and brackets; empty if there is none."""
    for piece in _PIECES.findall(text):
        if piece.strip() and not piece.startswith(("--", "/*")):
            found = re.match(r"[\s(]*(\S*?)(?:[\s(;]|\Z)", piece)
            return found.group(1).upper() if found else piece
    return ""

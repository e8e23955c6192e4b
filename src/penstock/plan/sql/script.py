"""Where a SQL statement ends: the semicolons that are tokens of their own. The tokens are the grammar's, so that nobody disagrees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.errors import SyntaxFault
from penstock.plan.expression.tokens import tokens

_WORD = re.compile(r"[\s(]*(\w*)")


def split(text: str) -> Iterator[str]:
    """The statements of a script without their semicolons; empty ones and lone comments are left out.

    A script with a string or comment that does not end is one statement: whoever reads it says where the fault is.
    """
    begin, empty = 0, True
    try:
        found = tokens(text)
    except SyntaxFault:
        yield text.strip()
        return
    for token in found:
        if token.text != ";":
            empty = False
            continue
        if not empty:
            yield text[begin : token.start].strip()
        begin, empty = token.end, True
    if not empty:
        yield text[begin:].strip()


def complete(text: str) -> bool:
    """True when the text ends with a semicolon that ends a statement."""
    try:
        found = tokens(text)
    except SyntaxFault:
        return False
    return bool(found) and found[-1].text == ";"


def first_word(text: str) -> str:
    """The first word in capitals, after comments and brackets; empty if there is none."""
    try:
        found = [token for token in tokens(text) if token.text != "("]
    except SyntaxFault:
        match = _WORD.match(text)
        return match[1].upper() if match else ""
    return found[0].text.upper() if found else ""

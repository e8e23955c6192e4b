"""Where a text stands in the Python file that holds it: the line of the call is not that of its argument."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from penstock.errors import Where

_CONTINUED = ('"""\\', "'''\\")


def text_place(text: str, call: Where) -> Where:
    """The place of the literal that is `text`: the first one from the call on, else the last one before it, else the call."""
    lines = sorted(_lines_of(text, call.file)) if text.strip() else []
    after = [line for line in lines if line >= call.line]
    return Where(call.file, after[0] if after else lines[-1] if lines else call.line)


def argument_place(expression: str, call: Where) -> Where:
    """The place of the argument that begins with an expression, in a call whose name stands on the line of `call`; else the call."""
    calls = [node for node in _nodes(call.file) if isinstance(node, ast.Call) and node.func.end_lineno == call.line]
    given = [value for node in calls for value in (*node.args, *(keyword.value for keyword in node.keywords))]
    texts = [value for value in given if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    found = next((value for value in texts if _bare(str(value.value)).startswith(_bare(expression))), None)
    return call if found is None else Where(call.file, found.lineno)


def _nodes(file: str) -> Iterator[ast.AST]:
    """Everything in a Python file; nothing where it cannot be read as one."""
    try:
        return ast.walk(ast.parse("".join(_source(file))))
    except (SyntaxError, ValueError):
        return iter(())


def _source(file: str) -> list[str]:
    """The file's lines as they are now."""
    linecache.checkcache(file)
    return linecache.getlines(file)


def _lines_of(text: str, file: str) -> Iterator[int]:
    """The line on which the text begins, for each literal in the file that says the same but for spaces around its lines."""
    source = _source(file)
    wanted = _bare(text)
    for node in _nodes(file):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _bare(node.value) == wanted:
            continued = source[node.lineno - 1].rstrip("\n").endswith(_CONTINUED)
            yield node.lineno + continued + _blank_lines(node.value) - _blank_lines(text)


def _bare(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def _blank_lines(text: str) -> int:
    """How many lines are empty before the first word."""
    return text[: len(text) - len(text.lstrip())].count("\n")

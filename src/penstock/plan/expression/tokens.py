"""The tokens of Spark SQL with their places, as Spark's own lexer reads them (nested comments, a comment continued by a backslash, doubled
quotes, raw strings): what Penstock takes for a string Spark must not take for code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from penstock.errors import SyntaxFault, Where, underline


@dataclass(frozen=True)
class Token:
    """`kind` is word, quoted, string, number or op; `text` as written, `value` without quotes; `end` is exclusive."""

    kind: str
    text: str
    value: str
    start: int
    end: int
    line: int

    def is_word(self, *words: str) -> bool:
        """Whether this is one of the unquoted `words`, which are given in lower case."""
        return self.kind == "word" and self.text.lower() in words

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")


_SPACE = " \t\n\f\r\v\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000"
_LEXER = re.compile(
    rf"""
      (?P<space>   [{_SPACE}]+ )
    | (?P<comment> --(?:\\\n|[^\r\n])*(?:\r?\n)? )
    | (?P<hint>    /\*\+[\w\s,().=]*\*/ )
    | (?P<block>   /\* )
    | (?P<string>  [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" )
    | (?P<quoted>  `(?:[^`]|``)*` )
    | (?P<number>  (?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[fFdD]|[bB][dD])?(?!\w) | \d+(?:[eE][+-]?\d+)?(?:[fFdDlLsSyY]|[bB][dD])?(?!\w) )
    | (?P<word>    \w+ )
    | (?P<op>      <=> | >>> | \|\| | \|> | -> | => | :: | == | <> | != | <= | >= | !< | !> | << | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK_MARK = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": r"\%", "_": r"\_"}


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of `text` without comments; SyntaxFault for a string, name or comment that does not end."""
    found: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _LEXER.match(text, at)
        assert match is not None  # the last alternative takes any character
        kind, end = str(match.lastgroup), match.end()
        if kind == "block" and text.startswith("/*+", at):
            # Spark reads words inside a hint; one that is not plain could make it end elsewhere than here
            raise fault_at(
                "this hint is not understood", text, at, at + 3, "hints hold names, numbers, commas and brackets; a comment begins with /*"
            )
        if kind == "block":
            end = _end_of_comment(text, at)
        elif kind == "op" and match.group() in "'\"`":
            what = "name in backticks" if match.group() == "`" else "string"
            raise fault_at(f"a {what} that does not end", text, at, at + 1, f"close it with {match.group()}")
        elif kind not in ("space", "comment", "hint"):
            written = match.group()
            found.append(Token(kind, written, _value(kind, written), at, end, line))
        line += text.count("\n", at, end)
        at = end
    return tuple(found)


def _end_of_comment(text: str, start: int) -> int:
    depth = 0
    for mark in _BLOCK_MARK.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    raise fault_at("a comment that does not end", text, start, start + 2, "close it with */; comments nest in Spark")


def _value(kind: str, written: str) -> str:
    if kind == "quoted":
        return written[1:-1].replace("``", "`")
    if kind != "string":
        return written
    if written[0] in "rR":
        return written[2:-1]
    mark = written[0]
    return _ESCAPE.sub(_unescape, written[1:-1].replace(mark * 2, mark))


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 3:
        return chr(int(code, 8))
    if len(code) > 3:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def matching(found: tuple[Token, ...], opening: int) -> int:
    """The index of the bracket that closes the one at `opening`; -1 where there is none."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opens, closes = found[opening].text, pairs[found[opening].text]
    depth = 0
    for index in range(opening, len(found)):
        if found[index].kind == "op":
            depth += (found[index].text == opens) - (found[index].text == closes)
            if depth == 0:
                return index
    return -1


def split(found: tuple[Token, ...], low: int, high: int) -> list[tuple[int, int]]:
    """The ranges of tokens between commas outside brackets; an empty one where nothing stands between two."""
    ranges, begin, depth = [], low, 0
    for index in range(low, high):
        if found[index].kind != "op":
            continue
        depth += (found[index].text in ("(", "[", "{")) - (found[index].text in (")", "]", "}"))
        if depth == 0 and found[index].text == ",":
            ranges.append((begin, index))
            begin = index + 1
    return [*ranges, (begin, high)]


def fault_at(message: str, text: str, start: int, end: int, hint: str | None, file: str = "", first_line: int = 1) -> SyntaxFault:
    """A fault that underlines text[start:end]."""
    where = Where(file or "SQL", first_line + text.count("\n", 0, start), start - text.rfind("\n", 0, start))
    return SyntaxFault(message, where=where, excerpt=underline(text, start, end, first_line), hint=hint)

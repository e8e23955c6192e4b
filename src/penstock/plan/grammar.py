"""The words of Spark SQL: tokens with their places, and the question whether a whole SELECT is well formed.

The tokens follow Spark's own lexer (nested comments, a comment continued by a backslash, doubled quotes, raw strings),
because what Penstock takes for a string Spark must not take for code. This is the one module that imports sqlglot.
It is asked for a verdict only: nothing it prints ever reaches Spark, since it rewrites some functions as it prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp, parse
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from penstock.errors import SyntaxFault, Where, underline
from penstock.plan.words import NEVER_KEYWORDS, OWN_GRAMMAR


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
            raise _fault("this hint is not understood", text, at, at + 3, "hints hold names, numbers, commas and brackets; a comment begins with /*")
        if kind == "block":
            end = _end_of_comment(text, at)
        elif kind == "op" and match.group() in "'\"`":
            what = "name in backticks" if match.group() == "`" else "string"
            raise _fault(f"a {what} that does not end", text, at, at + 1, f"close it with {match.group()}")
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
    raise _fault("a comment that does not end", text, start, start + 2, "close it with */; comments nest in Spark")


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


def _fault(message: str, text: str, start: int, end: int, hint: str | None, file: str = "", first_line: int = 1) -> SyntaxFault:
    where = Where(file or "SQL", first_line + text.count("\n", 0, start), start - text.rfind("\n", 0, start))
    return SyntaxFault(message, where=where, excerpt=underline(text, start, end, first_line), hint=hint)


def validate_select(text: str, file: str = "SQL", first_line: int = 1, shown: str | None = None) -> tuple[tuple[str, ...], ...]:
    """The relations that `text` reads, each as the parts of its name.

    SyntaxFault, with the place underlined in `shown` (of the same offsets), unless it is one well-formed SELECT.
    """
    shown = text if shown is None else shown
    found = tokens(text)
    for token in found:
        if token.kind == "word" and not token.text.isascii():
            raise _fault(
                f"`{token.text}` holds a letter outside a-z", shown, token.start, token.end, "put such a name in backticks", file, first_line
            )
    masked = _masked(text, found)
    try:
        statements = parse(masked, dialect="spark", error_level=ErrorLevel.IMMEDIATE)
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        start, end = _place(masked, detail.get("line"), detail.get("col"), str(detail.get("highlight") or ""))
        said = _said(str(detail.get("description") or error))
        raise _fault(f"this is not a SELECT that Spark understands: {said}", shown, start, end, _near(text, start), file, first_line) from None
    except TokenError:
        raise _fault("this is not a SELECT that Spark understands", shown, 0, 6, None, file, first_line) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query | exp.Values | exp.Subquery | exp.Table):
        end = found[0].end if found else 0
        raise _fault("a query begins with SELECT or WITH", shown, 0, end, None, file, first_line)
    return _relations(statements, found)


def tables(text: str) -> tuple[tuple[str, ...], ...]:
    """The same relations; none if the query does not parse."""
    found = tokens(text)
    try:
        trees = parse(_masked(text, found), dialect="spark", error_level=ErrorLevel.IMMEDIATE)
    except (ParseError, TokenError):
        return ()
    return _relations(trees, found)


def _relations(trees: list[exp.Expr | None], found: tuple[Token, ...]) -> tuple[tuple[str, ...], ...]:
    starts = {token.start: token for token in found}
    names: dict[tuple[str, ...], None] = {}
    for tree in trees:
        if tree is None:
            continue
        for table in tree.find_all(exp.Table):
            parts = tuple(_original(part, starts) for part in table.parts if isinstance(part, exp.Identifier))
            if parts and not (len(parts) == 1 and parts[0].lower() in _ctes_around(table)):
                names.setdefault(parts)
    return tuple(names)


def _ctes_around(table: exp.Table) -> set[str]:
    """The WITH entries that a relation may mean: those of the queries around it, of its own WITH only the ones before its entry."""
    names: set[str] = set()
    inner: exp.Expr = table
    while inner.parent is not None:
        outer = inner.parent
        if isinstance(outer, exp.With):
            entries = outer.expressions[: inner.index]
        else:
            entries = [entry for value in outer.args.values() if isinstance(value, exp.With) and value is not inner for entry in value.expressions]
        names.update(entry.alias.lower() for entry in entries)
        inner = outer
    return names


def _original(part: exp.Identifier, starts: dict[int, Token]) -> str:
    token = starts.get(int(part.meta.get("start", -1)))
    return token.value if token is not None else str(part.name)


def _masked(text: str, found: tuple[Token, ...]) -> str:
    """The text with the same offsets, but plain: no comments, harmless strings, ordinary functions without their names."""
    letters = [mark if mark == "\n" else " " for mark in text]
    typed = _inside_types(found)
    for index, token in enumerate(found):
        written = token.text
        following = found[index + 1].text if index + 1 < len(found) else ""
        if token.kind == "string":
            raw = written[0] in "rR"
            inner = re.sub(r"[^\w \n:.+-]", "_", written[2 if raw else 1 : -1])
            written = (" '" if raw else "'") + inner + "'"
        elif token.kind == "quoted":
            written = "`" + re.sub(r"[^\w\n]", "_", written[1:-1]) + "`"
        elif token.kind == "number" and written[-1].isalpha():
            written = re.sub(r"[a-zA-Z]", "0", written)
        elif token.kind == "word" and following == "(" and written.lower() not in OWN_GRAMMAR:
            written = "f" + "_" * (len(written) - 1)
        elif token.kind == "word" and _is_plain(found, index):
            written = "c" + "_" * (len(written) - 1)
        elif token.is_word("x") and index + 1 < len(found) and found[index + 1].kind == "string":
            written = " "
        elif written in (">>>", "!<", "!>"):
            written = "+".ljust(len(written))
        elif written == ":" and index and following not in ("[", ""):
            written = " " if index in typed else "."  # a field of a STRUCT; or a path into a variant, which sqlglot takes after a column only
        letters[token.start : token.end] = written
    return "".join(letters)


def _inside_types(found: tuple[Token, ...]) -> frozenset[int]:
    """The indexes of tokens between the angle brackets of ARRAY<...>, MAP<...> and STRUCT<...>."""
    inside, depth = set(), 0
    for index, token in enumerate(found):
        if token.text == "<" and index and found[index - 1].is_word("array", "map", "struct"):
            depth += 1
        elif depth and token.kind == "op":
            depth -= token.text.count(">")
        if depth > 0:
            inside.add(index)
    return frozenset(inside)


def _is_plain(found: tuple[Token, ...], index: int) -> bool:
    """Whether a word is a name here for Spark, which reserves hardly any, though sqlglot would take it for a keyword."""
    word = found[index].text.lower()
    after = found[index + 1] if index + 1 < len(found) else None
    if word in NEVER_KEYWORDS:
        return True
    if word == "window":
        return not (index + 2 < len(found) and found[index + 1].is_name and found[index + 2].is_word("as"))
    if word in ("cube", "rollup", "if", "any"):
        return not found[index - 1].is_word("with")
    begins = after is not None and (after.kind in ("number", "string") or after.text == "(" or after.is_word("all", "cast"))
    return word in ("values", "limit", "offset") and not begins


def _place(masked: str, line: object, column: object, highlight: str) -> tuple[int, int]:
    """Where sqlglot stopped: it gives the line, and the column of the last character of the token."""
    if not isinstance(line, int) or not isinstance(column, int):
        return 0, 1
    begin = 0
    for _ in range(line - 1):
        begin = masked.find("\n", begin) + 1
    end = begin + column
    return max(begin, end - max(1, len(highlight))), end


def _said(description: str) -> str:
    """sqlglot's words without its class names and token dumps."""
    if "<" in description:
        return "something is missing here"
    return description.rstrip(".").replace("Invalid expression / Unexpected token", "this word is not expected here").lower()


def _near(text: str, start: int) -> str:
    before = text[:start].rstrip()
    if before.endswith(","):
        return "is there a comma too many before it?"
    return "look at the marked word and at the one before it"

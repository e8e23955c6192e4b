"""Whether a whole SELECT is well formed, and which relations it reads.

sqlglot is asked for a verdict only: nothing it prints ever gets to Spark, since it rewrites some functions as it prints.
"""

from __future__ import annotations

import re

from sqlglot import exp, parse
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from penstock.plan.expression.tokens import Token, fault_at, tokens
from penstock.plan.expression.words import NEVER_KEYWORDS, OWN_GRAMMAR


def validate_select(text: str, file: str = "SQL", first_line: int = 1, shown: str | None = None) -> tuple[tuple[str, ...], ...]:
    """The relations that `text` reads, each as the parts of its name.

    SyntaxFault, with the place underlined in `shown` (of the same offsets), unless it is one well-formed SELECT.
    """
    shown = text if shown is None else shown
    found = tokens(text)
    for token in found:
        if token.kind == "word" and not token.text.isascii():
            raise fault_at(
                f"`{token.text}` holds a letter outside a-z", shown, token.start, token.end, "put such a name in backticks", file, first_line
            )
    masked = _masked(text, found)
    try:
        statements = parse(masked, dialect="spark", error_level=ErrorLevel.IMMEDIATE)
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        start, end = _place(masked, detail.get("line"), detail.get("col"), str(detail.get("highlight") or ""))
        message = _message(str(detail.get("description") or error))
        raise fault_at(f"this is not a SELECT that Spark understands: {message}", shown, start, end, _near(text, start), file, first_line) from None
    except TokenError:
        raise fault_at("this is not a SELECT that Spark understands", shown, 0, 6, None, file, first_line) from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query | exp.Values | exp.Subquery | exp.Table):
        end = found[0].end if found else 0
        raise fault_at("a query begins with SELECT or WITH", shown, 0, end, None, file, first_line)
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
        if token.kind == "word":
            written = _masked_word(found, index, following)
        elif token.kind != "op":
            written = _masked_value(token)
        elif written in (">>>", "!<", "!>"):
            written = "+".ljust(len(written))
        elif written == ":" and index and following not in ("[", ""):
            written = " " if index in typed else "."  # a field of a STRUCT; or a path into a variant, which sqlglot takes after a column only
        letters[token.start : token.end] = written
    return "".join(letters)


def _masked_word(found: tuple[Token, ...], index: int, following: str) -> str:
    word = found[index].text
    if following == "(" and word.lower() not in OWN_GRAMMAR:
        return "f" + "_" * (len(word) - 1)
    if _is_plain(found, index):
        return "c" + "_" * (len(word) - 1)
    return " " if word.lower() == "x" and index + 1 < len(found) and found[index + 1].kind == "string" else word


def _masked_value(token: Token) -> str:
    written = token.text
    if token.kind == "string":
        raw = written[0] in "rR"
        return (" '" if raw else "'") + re.sub(r"[^\w \n:.+-]", "_", written[2 if raw else 1 : -1]) + "'"
    if token.kind == "quoted":
        return "`" + re.sub(r"[^\w\n]", "_", written[1:-1]) + "`"
    return re.sub(r"[a-zA-Z]", "0", written) if written[-1].isalpha() else written


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


def _message(description: str) -> str:
    """sqlglot's words without its class names and token dumps."""
    if "<" in description:
        return "something is missing here"
    return description.rstrip(".").replace("Invalid expression / Unexpected token", "this word is not expected here").lower()


def _near(text: str, start: int) -> str:
    before = text[:start].rstrip()
    if before.endswith(","):
        return "is there a comma too many before it?"
    return "look at the marked word and at the one before it"
